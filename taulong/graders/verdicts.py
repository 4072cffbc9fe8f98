"""Everything said of one run: tau2's official reward, and the verdicts beside it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from taulong import backend
from taulong.backend import Environment, Message, RewardInfo, Task
from taulong.graders.delta import observe
from taulong.graders.gates import GRADERS, Finding, Verdict, grade_run
from taulong.graders.reference import Reference, build_reference
from taulong.graders.replay import replay, trim
from taulong.graders.version import graders_version

GRADER_VERSION = graders_version()
"""Digest of the graders' code and rules and of tau2's telecom data: another one means that runs are to be graded again."""


@dataclass(frozen=True)
class Grades:
    """Everything said of one run.

    Attributes:
        official_reward: tau2's reward, or None where it could not be computed.
        official_reason: why it could not.
        official: tau2's own account of the reward.
        strict_stock, strict_synced: whether both final databases equal those of tau2's unsynced gold, of synced gold.
        record_gate, field_gate: whether agent-database records (fields) outside the footprint differ from the gold.
        policy_check: whether every agent write was permitted at the moment of the call, and each tool call made alone.
        scope_gate: the field gate, with fields excused whose every write the policy licenses.
        transient_gate: the scope gate, which also falls to a forbidden write that no end state shows.
        replay_mismatches: number of replayed answers that differ from the recorded ones.
        user_fields: fields of the user database that differ from the reference's: observed, never gated.
    """

    official_reward: float | None
    official_reason: str | None
    official: RewardInfo | None
    strict_stock: Verdict
    strict_synced: Verdict
    record_gate: Verdict
    field_gate: Verdict
    policy_check: Verdict
    scope_gate: Verdict
    transient_gate: Verdict
    replay_mismatches: int = 0
    user_fields: tuple[str, ...] = ()

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by grader name."""
        return {name: getattr(self, name) for name in GRADERS}

    @property
    def gated_reward(self) -> float | None:
        """The official reward if the transient gate passes, 0.0 if it fails, None if either was not evaluated."""
        if self.official_reward is None or self.transient_gate.status == "not_evaluated":
            return None
        return self.official_reward if self.transient_gate.status == "pass" else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of the graders."""
        return tuple(finding for verdict in self.verdicts.values() for finding in verdict.findings)


def grade(
    task: Task,
    messages: Sequence[Message],
    environment_constructor: Callable[..., Environment] = backend.new_environment,
    solo_mode: bool = False,
    policy_type: str = "manual",
    reference: Reference | None = None,
) -> Grades:
    """Return the official reward and every verdict on a trajectory.

    Args:
        task: the task of the run.
        messages: the trajectory; tool calls at its end that were never answered are left out.
        environment_constructor: makes the environment class the run used; called with ``solo_mode``.
        solo_mode: whether the agent worked alone.
        policy_type: ``manual`` or ``workflow``; used with the default constructor.
        reference: the task's reference in that environment class, from :func:`build_reference`; built if not given.
    """
    if environment_constructor is backend.new_environment:
        environment_constructor = backend.environment_maker(policy_type)
    reference = reference or build_reference(task, environment_constructor)
    messages = trim(messages)
    run = replay(task, messages, environment_constructor, solo_mode)
    reward = official = None
    reason = run.void
    if reason is None:
        try:
            official = backend.official_reward(task, list(run.trajectory), environment_constructor, solo_mode)
            reward = official.reward
        except (ValueError, AssertionError) as refused:  # what tau2's set_state raises
            reason = f"tau2's evaluator refuses the run: {str(refused).splitlines()[0]}"
    return Grades(
        reward,
        reason,
        official,
        **grade_run(run, reference),
        replay_mismatches=run.mismatches,
        user_fields=observe(reference.user_final, run.user_final),
    )
