"""The record of a case: one flat row, and what each of its columns means.

The row that is written, the one that is read back and the table in the documentation all come from :class:`CaseRecord`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

SIDES = ("agent", "user", "memory")
"""Who calls models in a case, and so has tokens and a cost of its own."""
_VERDICT = "`pass`, `fail` or `not_evaluated`: "


def _column(means: str, **options) -> Any:
    return field(metadata={"means": means}, **options)


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """One row a case; a column's meaning stands with it, as in :func:`columns_table`."""

    shift_id: str = _column("the shift, `<split>-<seed>`")
    case_id: str = _column("the case, `<shift>/<position>`")
    split: str = _column("`train` or `eval`")
    seed: int = _column("seed of the shift")
    trial: int = _column("number of the trial, from 0: other draws of the agent, other seeds of a model")
    position: int = _column("place of the case in its shift, from 1")
    population: str = _column("`teaching`, `testing` or `lookalike`")
    cause: str = _column("what is broken on this customer's phone")
    recurring_cause: str = _column("what is broken on the phones of the incidents, at this place and in this fleet")
    fleet: int = _column("number of the fleet of incidents that it belongs to, or as a lookalike could be taken for")
    regime: int = _column("how often the recurring cause has changed before")
    teaching_seen: int = _column("teaching cases before this one that show its recurring cause")
    teaching_distance: int | None = _column("how many cases ago the last of them was")
    memory_mode: str = _column("how the agent's memory works")
    agent: str = _column("an agent on board, a class, or a model")
    user: str = _column("`scripted`, or the model that plays the customer")
    held_out: bool = _column("a second pass with customers that the shift did not have")
    official_reward: float | None = _column(
        "reward of tau2's `EnvironmentEvaluator`: what the final state says; summed over a shift", default=None
    )
    simulation_reward: float | None = _column(
        "reading of tau2's `evaluate_simulation`: 0 where neither customer nor agent ended the conversation (`steps`, "
        "`errors`, `agent_error`, `memory_overflow`); not summed",
        default=None,
    )
    assertion_error: str | None = _column(
        "why an assertion of the reward could not be asked of the state that the run left: it counts as not met",
        default=None,
    )
    strict_stock: str | None = _column(_VERDICT + "the final databases equal tau2's gold", default=None)
    strict_synced: str | None = _column(_VERDICT + "they equal the gold kept in step", default=None)
    record_gate: str | None = _column(_VERDICT + "nothing changed outside the reference's records", default=None)
    field_gate: str | None = _column(_VERDICT + "nothing changed outside the reference's fields", default=None)
    policy_check: str | None = _column(_VERDICT + "the policy permits every write", default=None)
    scope_gate: str | None = _column(_VERDICT + "the field gate, licensed writes excused", default=None)
    transient_gate: str | None = _column(
        _VERDICT + "the scope gate, and no forbidden write that no end state shows", default=None
    )
    gated_reward: float | None = _column("official reward, 0 where a gate fails", default=None)
    transferred: bool = _column("the customer was handed to a human agent")
    ending: str = _column(
        "how the conversation ended: `customer_stop`, `agent_stop`, `transfer`, `patience`, `steps`, `errors`, `agent_error`, "
        "`memory_overflow` (the memory was too long for the model), `user_error`, `infrastructure`"
    )
    ended_on_consent: bool = _column("the customer said yes and hung up in one message, so the agent never acted on it")
    utterances: int = _column("what the agent said to the customer, the greeting not counted")
    steps: int = _column("steps of tau2's orchestrator")
    tool_errors: int = _column("calls of the agent that failed, but for those of the next column")
    ownership_errors: int = _column("calls of the agent for tools that are the customer's")
    commitment: str | None = _column("the corrective tool that a masked phone has carried out")
    stale: bool | None = _column(
        "the commitment is the fix that an earlier regime of the shift had, and not this one's; none before any change"
    )
    evidence_shown: bool = _column("the phone has shown its cause to the agent, or that the fix works")
    fix_in_notebook: bool | None = _column(
        "what the memory shows tells the fix of the recurring cause and no other, by its tool or in words; none "
        "without memory"
    )
    notebook_length_before: int = _column("characters that the memory shows the agent")
    notebook_length_after: int = _column("characters of all that it holds after the case")
    notebook_writes: int = _column("times a tool of the memory has written (the notebook was replaced)")
    notebook_refusals: int = _column("times a text was refused because it is over the cap")
    memory_items: int = _column("items that the memory holds after the case: entries of a list, lines of a text")
    agent_tokens: int = _column("tokens of the agent's model, prompts and answers")
    user_tokens: int = _column("tokens of the customer's model")
    memory_tokens: int = _column("tokens of the model that the memory asks")
    agent_cost: float = _column("dollars of the agent's model")
    user_cost: float = _column("dollars of the customer's model")
    memory_cost: float = _column("dollars of the model that the memory asks")
    agent_truncated: int = _column("answers of the agent's model cut at its limit of tokens", default=0)
    user_truncated: int = _column("answers of the customer's model, likewise", default=0)
    memory_truncated: int = _column("answers of the memory's model, likewise", default=0)
    unpriced_calls: int = _column("model calls whose price is not known")
    outcome: str = _column("`scored` or `unscored`")
    reason: str | None = _column("why it is unscored", default=None)
    taulong_version: str = _column("version of the suite")
    grader_version: str = _column("version of its graders")
    tau2_distribution: str = _column("the installed tau2: distribution")
    tau2_version: str = _column("its version")
    tau2_data: str = _column("digest of its telecom data")

    def row(self) -> dict[str, Any]:
        """Return the record as it is written, columns in order."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "CaseRecord":
        """Return the record of a row that was written; a column it does not know is an error (TypeError)."""
        return cls(**row)


def columns_table() -> str:
    """Return what each column of a record means, as a Markdown table."""
    rows = [
        f"| `{column.name}` | {str(getattr(column.type, '__name__', column.type)).replace('|', 'or')} | {column.metadata['means']} |"
        for column in fields(CaseRecord)
    ]
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])
