"""What a run has come to: cases, scores, failures, tokens and money, over all of its sessions."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tqdm import tqdm

from taulong.cases.record import SIDES
from taulong.errors import ConfigError


@dataclass(frozen=True)
class Spending:
    """Tokens and dollars; calls without a price are counted, for their cost is unknown and not zero."""

    tokens: int = 0
    cost: float = 0.0
    unpriced_calls: int = 0

    @classmethod
    def of_record(cls, record: dict) -> "Spending":
        """Return what a record says of all sides; records that are older than a side know nothing of it."""
        return cls(
            sum(record.get(f"{side}_tokens", 0) for side in SIDES),
            sum(record.get(f"{side}_cost", 0.0) for side in SIDES),
            record["unpriced_calls"],
        )

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(self.tokens + other.tokens, self.cost + other.cost, self.unpriced_calls + other.unpriced_calls)

    def __sub__(self, other: "Spending") -> "Spending":
        return Spending(self.tokens - other.tokens, self.cost - other.cost, self.unpriced_calls - other.unpriced_calls)

    def __str__(self) -> str:
        unpriced = f" + {self.unpriced_calls:,} unpriced" if self.unpriced_calls else ""
        return f"{self.tokens:,} tokens, ${self.cost:,.2f}{unpriced}"


class Account:
    """The state of a run, case by case; as text it is one line, e.g. ``7 of 8 planned cases scored, ...``.

    Args:
        planned: cases of the plan.
        rows: those that are there already.
        max_cases: see :func:`taulong.runs.execution.execute_runs`.
        max_cost: likewise.
        unsettled: gives what calls have cost that no row counts yet: of cases under way, and of workers that were killed.

    Attributes:
        cases, scored, reward: cases with a row; those with a score; the sum of their official rewards.
        spending: of all calls so far, whether their case has ended or not.
        failures: number of unscored cases by the word that their reason begins with.
        stopped: which limit ended the work early, or None.
    """

    def __init__(
        self,
        planned: int,
        rows: Iterable[dict] = (),
        max_cases: int | None = None,
        max_cost: float | None = None,
        unsettled: Callable[[], Spending] = Spending,
    ):
        check_limits(max_cases, max_cost)
        self.planned, self.max_cases, self.max_cost = planned, max_cases, max_cost
        self.cases = self.scored = self._session = 0
        self.reward = 0.0
        self._spent, self._unsettled = Spending(), unsettled
        self.failures: Counter[str] = Counter()
        self.stopped: str | None = None
        for row in rows:
            self._count(row, +1)
            self._spent += spent(row)
        self._started = time.monotonic()

    def add(self, row: dict, replaced: dict | None = None) -> None:
        """Count a case that has ended.

        Args:
            row: its row; ``spent_before`` in it is what failed attempts at the case have cost.
            replaced: the row of an earlier attempt, which no longer counts, but for what it has cost.
        """
        if replaced is not None:
            self._count(replaced, -1)
            self._spent -= spent(replaced)
        self._count(row, +1)
        self._spent += spent(row)
        self._session += 1

    @property
    def spending(self) -> Spending:
        """See the class."""
        return self._spent + self._unsettled()

    def _count(self, row: dict, sign: int) -> None:
        record = row["record"]
        self.cases += sign
        if record["outcome"] == "scored":
            self.scored += sign
            self.reward += sign * record["official_reward"]
        else:
            self.failures[(record["reason"] or "").split(":")[0]] += sign

    def exhausted(self, under_way: int) -> bool:
        """Return whether a limit forbids to start one more case beside those under way."""
        if self.max_cases is not None and self._session + under_way >= self.max_cases:
            self.stopped = f"max_cases {self.max_cases} reached"
        elif self.max_cost is not None:
            spending = self.spending
            if spending.unpriced_calls:
                self.stopped = (
                    f"max_cost {self.max_cost} cannot be kept: {spending.unpriced_calls} calls have no price; "
                    "go on without it, or give the model of a new run input_cost_per_token and output_cost_per_token"
                )
            elif spending.cost >= self.max_cost:
                self.stopped = f"max_cost {self.max_cost} reached"
        return self.stopped is not None

    @property
    def as_asked(self) -> bool:
        """Whether all is well: every planned case is scored, or a limit was reached and none is unscored."""
        reached = self.stopped is not None and self.stopped.endswith("reached")
        return self.scored == (self.cases if reached else self.planned)

    def time_left(self) -> str:
        """Return how long the rest will take at the pace of this session, e.g. ``01:40 left``."""
        seconds = time.monotonic() - self._started
        return (
            f"{tqdm.format_interval(seconds / self._session * (self.planned - self.cases))} left"
            if self._session
            else "? left"
        )

    def __str__(self) -> str:
        failed = ", ".join(f"{count} {reason}" for reason, count in sorted(self.failures.items()) if count)
        unscored = f"{self.cases - self.scored} unscored ({failed})" if failed else "0 unscored"
        return (
            f"{self.scored} of {self.planned} planned cases scored, {unscored}, {self.planned - self.cases} owed, "
            f"reward {self.reward:g}, {self.spending}"
        )


def check_limits(max_cases: int | None, max_cost: float | None) -> None:
    """Raise ConfigError when a limit is neither None nor a number of at least 0."""
    for limit, value in (("max_cases", max_cases), ("max_cost", max_cost)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
            raise ConfigError(f"{limit}: {value!r} is not a number of at least 0")


def spent(row: dict) -> Spending:
    """Return what all attempts at a case have cost."""
    return Spending.of_record(row["record"]) + Spending(**(row.get("spent_before") or {}))
