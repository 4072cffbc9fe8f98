"""p values: exact sign flips of shift means, and their adjustment over all the contrasts that a report declares."""

from collections.abc import Sequence

import numpy as np

EXACT_UP_TO = 16  # shifts: 2**16 patterns of signs are enumerated
DRAWN_FLIPS = 99_999  # patterns drawn above that
HELD = 4_000_000  # signs held at once


def sign_flip_p(means: np.ndarray, seed: int = 0) -> tuple[float, str]:
    """Return the two-sided p value of the mean against sign flips of the cluster means, and how it was found.

    The hypothesis is that each cluster's difference is as likely with either sign. Up to 16 clusters every pattern of
    signs is enumerated and p is exact; above, 99,999 patterns are drawn and p is (1 + as extreme) / 100,000, so that it
    is valid and at least 1e-5. Patterns are drawn in blocks, which changes none of them. scipy's permutation_test gives the
    same numbers at a hundred times the cost.
    """
    count = len(means)
    observed = abs(np.sum(means)) - 1e-9 * np.abs(means).sum()  # equal sums differ by rounding
    if count <= EXACT_UP_TO:
        signs = np.arange(2**count)[:, None] >> np.arange(count) & 1
        return float(np.mean(np.abs((2.0 * signs - 1) @ means) >= observed)), "exact sign flip"
    rng, extreme = np.random.default_rng(seed), 0
    rows = max(4, HELD // count // 4 * 4)  # whole words of the generator, four signs each, so that blocks join up
    for start in range(0, DRAWN_FLIPS, rows):
        signs = rng.integers(0, 2, (min(rows, DRAWN_FLIPS - start), count), dtype=np.int8)
        extreme += int(np.sum(np.abs((2.0 * signs - 1) @ means) >= observed))
    return (extreme + 1) / (DRAWN_FLIPS + 1), f"{DRAWN_FLIPS} sign flips, seed {seed}"


def p_text(p: float, method: str, adjusted: float | None = None) -> str:
    """Return a p value (or what it was adjusted to) in words, ``p <=`` where it is the smallest that drawn flips give."""
    smallest = method.startswith(str(DRAWN_FLIPS)) and p * (DRAWN_FLIPS + 1) < 1.5
    return f"p {'≤' if smallest else '='} {p if adjusted is None else adjusted:.2g}"


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p values adjusted by Holm's step-down method (Holm 1979), in the order given.

    A declared contrast without a p value stays None and still counts in the family.
    """
    return in_order(p_values, ["all"] * len(p_values), [True] * len(p_values))


def in_order(p_values: Sequence[float | None], agents: Sequence[str], primary: Sequence[bool]) -> list[float | None]:
    """Return p values adjusted so that any false alarm among all of them has the chance of the level, primary ones first.

    The level is split evenly over agents. An agent's part goes to its primary contrasts; where these are all rejected it
    goes on to the agent's other contrasts, and where those are, to the other agents. Without other contrasts this is Holm's
    method over agents. A contrast without a p value stays None, keeps its part and is never rejected.

    Source: the sequentially rejective graphical procedure of Bretz, Maurer, Brannath and Posch, A graphical approach to
    sequentially rejective multiple test procedures, Statistics in Medicine (2009), algorithm 1.
    """
    stages = _stages(agents, primary)
    share = {name: 1 / len(stages) for name in stages}
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    while any(share.values()):
        ratios = {
            at: p * len(open_) / share[name]
            for name, (open_, *_) in stages.items() if share[name]
            for at in open_ if (p := p_values[at]) is not None
        }  # fmt: skip
        if not ratios:
            break
        at = min(ratios, key=lambda which: ratios[which])
        largest = max(largest, min(1.0, ratios[at]))
        adjusted[at] = largest
        _reject(at, stages, share)
    return [1.0 if p is not None and new is None else new for p, new in zip(p_values, adjusted, strict=True)]


def _stages(agents: Sequence[str], primary: Sequence[bool]) -> dict[str, list[list[int]]]:
    """Return for each agent the positions of its contrasts: the stage that is open, then those that wait for it."""
    stages: dict[str, list[list[int]]] = {}
    for at, (agent, first) in enumerate(zip(agents, primary, strict=True)):
        stages.setdefault(agent, [[], []])[0 if first else 1].append(at)
    return {agent: [stage for stage in both if stage] for agent, both in stages.items()}


def _reject(at: int, stages: dict[str, list[list[int]]], share: dict[str, float]) -> None:
    """Strike a contrast off, open its agent's next stage, or hand an agent's part to those that have some left."""
    name = next(agent for agent, waiting in stages.items() if waiting and at in waiting[0])
    stages[name][0].remove(at)
    if stages[name][0]:
        return
    del stages[name][0]
    if not stages[name]:
        heirs = [agent for agent, waiting in stages.items() if waiting]
        for heir in heirs:
            share[heir] += share[name] / len(heirs)
        share[name] = 0.0
        del stages[name]
