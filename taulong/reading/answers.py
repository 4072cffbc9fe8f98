"""What a notebook or a report answers: sentences with their numbers, drawn from its results, that a colleague can quote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from taulong.reading.markup import LINES, Markup, Shown, element, visible, wrapped
from taulong.reading.words import interval, listed, number, of, p_phrase, signed

if TYPE_CHECKING:
    import pandas as pd

    from taulong.value.statistics.estimates import Estimate


@dataclass(frozen=True, repr=False, eq=False)
class Answer(Shown):
    """An answer in two or three sentences, and what it does not show.

    Attributes:
        sentences: with numbers, each to be quoted alone.
        beyond: what the results do not show.
    """

    sentences: tuple[str, ...]
    beyond: str

    def _html(self) -> Markup:
        said = element("div", element("b", "Answer. "), " ".join(self.sentences), style=LINES)
        return element(
            "div", said, element("div", element("b", "Not shown. "), self.beyond, style=LINES), kind=" answer"
        )

    @property
    def text(self) -> str:
        """The answer as wrapped lines."""
        parts = (("Answer. ", " ".join(self.sentences)), ("Not shown. ", self.beyond))
        return "\n".join(visible(line) for start, text in parts for line in wrapped(start, text, 110))


def tour_answer(metrics: Mapping[str, Any]) -> Answer:
    """Return what the tour shows, from its metrics (``00_tour.metrics.json``)."""
    accuracy, reward = metrics["testing_accuracy"], metrics["shift_reward"]
    return Answer(
        (
            f"On the masked testing cases the learner solved {_share(accuracy['none'])} without memory, "
            f"{_share(accuracy['notebook'])} with a notebook of its own and {_share(accuracy['oracle'])} with the right fix in hand.",
            f"Its shift of customers earned {number(reward['none'])}, {number(reward['notebook'])} and {number(reward['oracle'])}.",
            f"One forbidden write added to a solved case left the official reward at {metrics['meddled_official_reward']:.1f}; "
            f"the gated reward of the same case is {metrics['meddled_gated_reward']:.1f}.",
        ),
        "Agent and customer are scripts whose truth is known, on few shifts: this shows how the instrument works and nothing of a model.",
    )


def shifts_answer(metrics: Mapping[str, Any]) -> Answer:
    """Return what a set of shifts holds and whether it gives its causes away, from the metrics of ``10_generate_shifts``."""
    populations, leaks = metrics["populations"], metrics["leaks"]
    told = {name: found for name, found in leaks.items() if found}
    clean = f"none of the {number(metrics['cases'])} cases shows any of {listed(leaks)}"
    return Answer(
        (
            f"{number(metrics['shifts'])} shifts with {number(metrics['cases'])} customers: "
            f"{listed(f'{number(count)} {name}' for name, count in populations.items())}; the recurring causes are "
            f"{listed(f'{cause} ({number(count)})' for cause, count in metrics['recurring_causes'].items())}.",
            f"All customers complain in {_counted(metrics['different_complaints'], 'text')}, and "
            + (
                f"before the evidence {clean}."
                if not told
                else f"{listed(f'{number(count)} cases show their {name}' for name, count in told.items())}: the cause is given away."
            ),
        ),
        "Whether a model could tell causes apart by something that is not text shown before the evidence, such as the order of answers.",
    )


def runs_answer(metrics: Mapping[str, Any]) -> Answer:
    """Return what a run came to, from the metrics of ``20_execute_runs``."""
    endings = sorted(metrics["endings"].items(), key=lambda item: (-item[1], item[0]))
    paid = metrics["official_1_gated_0"]
    owed = metrics["planned"] - metrics["scored"]
    return Answer(
        (
            f"{of(metrics['scored'], metrics['planned'])} planned cases are scored"
            + (f"; the other {number(owed)} have no score and count as nothing, not as zero." if owed else "."),
            f"Of all cases {listed(f'{number(count)} ended by {_plain(name)}' for name, count in endings)}.",
            f"In {of(sum(paid.values()), metrics['solved'])} solved cases the official reward is 1 and the gated one 0"
            + (
                f" ({listed(f'{agent}: {number(count)}' for agent, count in paid.items() if count)})."
                if any(paid.values())
                else "."
            ),
            f"{_counted(metrics['cases_nobody_solved'], 'case')} nobody solved.",
        ),
        "How sure these shares are: intervals and paired differences are in 40_memory_value.",
    )


def audit_answer(metrics: Mapping[str, Any]) -> Answer:
    """Return what the reward sees, from the metrics of an audit."""
    failed, runs, rejected = metrics["failed"], metrics["runs"], metrics["reference_rejected_by"]
    return Answer(
        (
            f"Of {number(runs['unlicensed'])} correct runs with one write added that the policy does not license, tau2's official reward "
            f"fails {number(failed['official, unlicensed'])}; the scope gate fails {number(failed['scope_gate, unlicensed'])} and the "
            f"policy check {number(failed['policy_check, unlicensed'])}.",
            f"Comparing databases strictly is no way out: stock gold rejects {of(rejected['stock gold'], rejected['tasks'])} correct runs, "
            f"gold that is kept in step rejects {number(rejected['synced gold'])}.",
            f"Of {number(runs['benign'])} variations that no grader should fail the scope gate fails {number(failed['scope_gate, benign'])}.",
        ),
        f"How often real agents do such a thing: these are mutations of references, over {number(metrics['mutated_tasks'])} tasks. A "
        f"gate on end states cannot see what is undone again ({number(runs['undone'])} runs), nor a wrong value in a field the task changes.",
    )


def regrade_answer(counts: Mapping[str, int]) -> Answer:
    """Return what finished runs hold that the reward did not see, from the counts of a regraded table."""
    return Answer(
        (
            f"Of {_counted(counts['reward_1'], 'run')} with official reward 1 the scope gate fails {number(counts['scope_gate_fails'])}: "
            f"{number(counts['out_of_scope'])} changed records out of scope, {number(counts['forbidden'])} did what the policy forbids; "
            f"{number(counts['excused'])} changed more than the reference and are excused by the policy.",
            f"The policy check fails {number(counts['policy_check_fails'])} of them, "
            f"{number(counts['policy_check_fails_on_conduct_alone'])} for how a message was sent alone.",
            f"{of(counts['graded'], counts['rows'])} runs could be graded, and {number(counts['official_as_recorded'])} have the reward "
            "that was recorded.",
        ),
        "Runs that tau2 did not solve: a gate only takes away. Which of these writes did harm is for a reader of the conversations to say.",
    )


def memory_answer(table: "pd.DataFrame", contrasts: Sequence["Estimate"], rewarded: Sequence["Estimate"]) -> Answer:
    """Return what memory was worth in a run, how sure that is, and what the reward missed.

    Args:
        table: of a run, as :func:`taulong.value.metrics.read_table`.
        contrasts: as :func:`taulong.value.statistics.questions.memory_contrasts`.
        rewarded: as :func:`taulong.value.statistics.questions.reward_contrasts`.
    """
    mode = "notebook" if any(_is(found, "notebook", "testing") for found in contrasts) else None
    testing = [found for found in contrasts if mode and _is(found, mode, "testing")]
    sentences = [
        _worth(testing)
        if testing
        else "No agent ran both with a notebook and without memory, so there is no memory value."
    ]
    cost = [found for found in contrasts if mode and _is(found, mode, "lookalike") and found.value is not None]
    if cost:
        sentences.append(_cost(cost))
    sentences.append(_missed(table, rewarded))
    return Answer(tuple(sentences), _beyond(table, testing))


def _is(found: "Estimate", mode: str, population: str) -> bool:
    return found.population == population and found.name.endswith(f": {mode} - none")


def _agent(found: "Estimate") -> str:
    return found.name.rsplit(": ", 1)[0]


def _worth(found: Sequence["Estimate"]) -> str:
    """Return by how much the notebook raised accuracy, agent by agent, and where nothing can be said."""
    known = [one for one in found if one.value is not None]
    sure = [one for one in known if one.low is not None and one.high is not None and one.low * one.high > 0]
    agreed = [one for one in known if one not in sure and "shifts agree" in one.note and abs(one.value or 0) > 1e-9]
    none = [one for one in known if one not in sure and one not in agreed]
    refused = [one for one in found if one.value is None]
    parts = []
    if sure:
        level = f"{100 * sure[0].level:g} % interval over {_counted(sure[0].shifts, 'shift')}"
        parts.append(
            f"With a notebook, accuracy on testing cases changed against no memory by "
            f"{listed(f'{interval(one.value, one.low, one.high, True)} for {_agent(one)} ({_p(one)})' for one in sure)} ({level}; "
            "p by sign flips of shifts)"
        )
    if agreed:
        parts.append(
            f"it changed in every shift alike for {listed(f'{_agent(one)}, by {signed(one.value or 0.0)}' for one in agreed)}"
        )
    if none:
        told = listed(f"{_agent(one)} ({interval(one.value, one.low, one.high, True)})" for one in none)
        parts.append(f"no difference is shown for {told}")
    if refused:
        parts.append(f"no number can be given for {listed(f'{_agent(one)} ({one.note})' for one in refused)}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "."


def _p(found: "Estimate") -> str:
    return p_phrase(found.p) if found.p is not None else "no test"


def _cost(found: Sequence["Estimate"]) -> str:
    lost = [one for one in found if (one.value or 0) < -1e-9]
    if not lost:
        return "On lookalikes, where the note misleads, it cost no agent anything."
    told = listed(f"{interval(one.value, one.low, one.high, True)} for {_agent(one)}" for one in lost)
    return f"On lookalikes, where the note misleads, it changed accuracy by {told}."


def _missed(table: "pd.DataFrame", rewarded: Sequence["Estimate"]) -> str:
    """Return how many solved cases the gated reward does not grant, whose they are, and what of the memory value remains."""
    scored = table[table["outcome"] == "scored"]
    official, gated = scored["official_reward"].astype(float), scored["gated_reward"].astype(float)
    paid = scored[(official >= 1) & (gated <= 0)]
    if paid.empty:
        return f"The official reward missed nothing that a gate objects to: all {number(int((official >= 1).sum()))} solved cases keep their reward."
    by_agent = paid["agent"].value_counts(sort=False)
    text = (
        f"The official reward is 1 and the gated one 0 in {of(len(paid), int((official >= 1).sum()))} solved cases "
        f"({listed(f'{agent}: {number(int(count))}' for agent, count in by_agent.items())}): a write there is one no rule of the policy licenses"
    )
    differ = [
        one for one in rewarded if one.metric == "official - gated" and one.value is not None and abs(one.value) > 1e-9
    ]
    values = {(_agent(one), one.metric): one.value for one in rewarded if one.value is not None}
    told = [
        f"{_agent(one)}'s {signed(values[_agent(one), 'official_reward'])} under the official reward is "
        f"{signed(values[_agent(one), 'gated_reward'])} under the gated one"
        for one in differ
        if {(_agent(one), "official_reward"), (_agent(one), "gated_reward")} <= set(values)
    ]
    return f"{text}; {listed(told)}." if told else f"{text}."


def _beyond(table: "pd.DataFrame", testing: Iterable["Estimate"]) -> str:
    from taulong.value.metrics import AGENTS

    said = []
    if set(table["agent"]) <= set(AGENTS):
        said.append(
            "These agents are scripts whose truth is known: the numbers check the instrument and say nothing of a model."
        )
    if any(one.descriptive for one in testing):
        said.append("There are too few shifts for a test: look, do not conclude.")
    if owed := int((table["outcome"] != "scored").sum()):
        said.append(f"{of(owed, len(table))} planned cases have no score.")
    said.append(
        "Intervals are over shifts of this benchmark and not adjusted for several agents; other domains, tools and customers are not covered."
    )
    return " ".join(said)


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _plain(name: str) -> str:
    return str(name).replace("_", " ")


def _counted(count: int, noun: str) -> str:
    return f"{number(int(count))} {noun}{'' if count == 1 else 's'}"
