"""The official result, part by part: what counts, and what is computed and does not."""

from dataclasses import dataclass

from taulong.backend import RewardInfo, RewardType, Task
from taulong.graders.reference import Reference


@dataclass(frozen=True)
class Component:
    """One part of the official result.

    Attributes:
        name: ``DB``, ``ACTION`` with the gold action's name, or the assertion's name.
        met: whether the check succeeded.
        scored: whether the task's reward basis has it.
        vacuous: an assertion that held before the run and that no call could have broken.
    """

    name: str
    met: bool
    scored: bool
    vacuous: bool = False

    def __str__(self) -> str:
        words = ("match" if self.met else "mismatch") if self.name == "DB" else ("met" if self.met else "not met")
        notes = [note for note, applies in (("vacuous", self.vacuous), ("not in basis", not self.scored)) if applies]
        return f"{self.name}: {words}" + (f" ({', '.join(notes)})" if notes else "")


def is_vacuous(assertion, reference: Reference) -> bool:
    """Return whether an assertion held before the run and no call could have broken it.

    Of tau2's telecom assertions only ``assert_no_overdue_bill`` can be so: it holds where the bill does not exist, and
    no tool creates a bill under a given id. Every other one reads a state that some tool changes.
    """
    return (
        assertion.func_name == "assert_no_overdue_bill"
        and assertion.assert_value
        and assertion.arguments.get("overdue_bill_id") not in reference.known
    )


def components(official: RewardInfo, task: Task, reference: Reference) -> tuple[Component, ...]:
    """Return the parts of an official result, each with whether it counts: an unscored check is labelled so."""
    basis = task.evaluation_criteria.reward_basis
    parts = []
    if official.db_check is not None:
        parts.append(Component("DB", official.db_check.db_match, RewardType.DB in basis))
    for check in official.env_assertions or ():
        parts.append(
            Component(
                check.env_assertion.func_name,
                check.met,
                RewardType.ENV_ASSERTION in basis,
                is_vacuous(check.env_assertion, reference),
            )
        )
    for check in official.action_checks or ():
        parts.append(Component(f"ACTION {check.action.name}", check.action_match, RewardType.ACTION in basis))
    return tuple(parts)
