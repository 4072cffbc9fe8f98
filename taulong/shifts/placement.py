"""The order of a shift: which population, fleet and regime stands where, before any customer is minted."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from taulong.draws import Draws
from taulong.shifts.configuration import POPULATIONS, SPLITS, ShiftConfig


@dataclass(frozen=True)
class Place:
    """What stands at a position: population, number of the fleet, number of changes before."""

    population: str
    fleet: int
    regime: int


def place(config: ShiftConfig, split: str, seed: int) -> list[Place]:
    """Return the places of a shift in order.

    A stretch between two changes begins with a teaching case (the first stretch where ``teaching_first``), and teaches
    every fleet before it tests it; the rest is placed at random. So by default a teaching case precedes every testing
    case, and every lookalike comes when there is something to apply to it wrongly.
    """
    starts = [1, *changed_at(config, split, seed), config.num_cases + 1]
    shares = _shares(config, [end - start for start, end in pairwise(starts)], split, seed)
    draws = Draws("placement", split, seed)
    places = []
    for regime, counts in enumerate(shares):
        opens = counts["teaching"] > 0 and (regime > 0 or config.teaching_first)
        rest = [name for name in POPULATIONS for _ in range(counts[name] - (opens and name == "teaching"))]
        order = ["teaching"] * opens + draws.shuffled(rest)
        fleets = _fleets(config, order, Draws("fleets", split, seed, regime))
        places += [Place(population, fleet, regime) for population, fleet in zip(order, fleets, strict=True)]
    return places


def changed_at(config: ShiftConfig, split: str, seed: int) -> tuple[int, ...]:
    """Return the position of the first case after each change of the recurring cause.

    The changes are spread evenly and each is shifted, within what leaves room to teach and to test on both sides of it. In
    a block of consecutive seeds each shifts by every amount once, in a drawn order: no position tells.
    """
    room = max(1, config.num_cases // config.segments - config.fleets)
    block, at = divmod(seed - SPLITS[split], room)
    return tuple(
        1 + number * config.num_cases // config.segments - (room - 1) // 2
        + Draws("change", split, block, number).shuffled(list(range(room)))[at]
        for number in range(1, config.segments)
    )  # fmt: skip


def _shares(config: ShiftConfig, lengths: list[int], split: str, seed: int) -> list[Counter]:
    """Return how many cases of each population stand in each stretch: what it needs, and a drawn share of the rest."""
    needed = Counter(teaching=min(config.fleets, config.teaching_count), testing=1)
    if len(lengths) == 1:
        return [Counter(config.counts)]
    rest = Counter(config.counts)
    for _ in lengths:
        rest -= needed
    left = iter(Draws("stretches", split, seed).shuffled([name for name in POPULATIONS for _ in range(rest[name])]))
    return [needed + Counter(next(left) for _ in range(length - needed.total())) for length in lengths]


def _fleets(config: ShiftConfig, order: list[str], draws: Draws) -> list[int]:
    """Return the fleet of each case of a stretch: taught before it is tested, and all as often as each other.

    The fleet of a lookalike is the one that it could be taken for.
    """
    given = {name: Counter(dict.fromkeys(draws.shuffled(list(range(config.fleets))), 0)) for name in POPULATIONS}
    teaches, fleets = "teaching" in order, []
    for population in order:
        counts = given[population]
        taught = [fleet for fleet in counts if given["teaching"][fleet] or not teaches]
        options = taught if population == "testing" and taught else list(counts)
        fleets.append(min(options, key=counts.__getitem__))
        counts[fleets[-1]] += 1
    return fleets
