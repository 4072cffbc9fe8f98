"""Shifts of telecom customers, each generated from one seed: the unit of replication."""

import json
from collections import Counter
from dataclasses import replace

from taulong.draws import Draws
from taulong.shifts.configuration import SPLITS, ShiftConfig, shift_seeds
from taulong.shifts.placement import changed_at, place
from taulong.shifts.stream import Case, Shift


def generate_shifts(
    config: ShiftConfig | None = None, split: str = "eval", num_shifts: int = 1, seed_offset: int = 0
) -> list[Shift]:
    """Return the shifts with seeds ``start of split + seed_offset`` onwards.

    A shift depends on its seed and the config alone: asking for more shifts never changes earlier ones. In blocks of four
    consecutive seeds the recurring causes are balanced, each block in its own drawn order, and so are the lookalikes' causes.

    Raises:
        ConfigError: unknown split, or seeds that leave it.
    """
    config = config or ShiftConfig()
    return [generate_shift(config, split, seed) for seed in shift_seeds(split, num_shifts, seed_offset)]


def generate_shift(config: ShiftConfig, split: str, seed: int) -> Shift:
    """Return the shift of one seed.

    Phone models are drawn regardless of population and cause, unless they mark: then the incidents of a fleet have one in
    common and the lookalikes have others. Which mark goes with which cause is drawn apart, so that a mark tells nothing
    before it was taught.
    """
    from taulong.shifts.identity import mint_customer, phone_models

    regimes = _regimes(config, split, seed)
    marks = _marks(config, split, seed) if config.mark == "model" else ()
    unmarked = [model for model in phone_models() if model not in marks]
    cases: list[Case] = []
    taken: set[str] = set()
    looked_alike: Counter[int] = Counter()
    for position, where in enumerate(place(config, split, seed), start=1):
        cause = recurring = regimes[where.regime][where.fleet]
        model = marks[where.fleet] if marks else None
        if where.population == "lookalike":
            number = looked_alike[where.regime]
            looked_alike[where.regime] += 1
            cause, model = _lookalike_cause(split, seed, where.regime, number, recurring), None
        model = model or Draws("customer's phone", split, seed, position).choice(unmarked)
        customer = mint_customer(split, seed, position, model, taken)
        taken.update(customer.ids)
        case_id = f"{split}-{seed}/{position}"
        cases.append(
            Case(
                case_id,
                position,
                where.population,
                cause,
                customer.records,
                _task(case_id, cause, customer),
                config.masks(where.population),
                recurring,
                where.fleet,
                where.regime,
            )
        )
    changes = changed_at(config, split, seed)
    return Shift(f"{split}-{seed}", split, seed, regimes, changes, marks, config, tuple(cases))


def _regimes(config: ShiftConfig, split: str, seed: int) -> tuple[tuple[str, ...], ...]:
    """Return the recurring cause of each fleet, in each regime.

    In a block of as many seeds as there are causes, every fleet has every cause once in every regime; of one regime to the
    next each fleet's changes, and fleets differ as long as there are causes left.
    """
    from taulong.shifts.causes import recurring_causes

    causes = list(recurring_causes())
    block, at = divmod(seed - SPLITS[split], len(causes))
    order = Draws("recurring cause", split, block).shuffled(causes)
    steps = Draws("changing cause", split, block)
    regimes = []
    for _ in range(config.segments):
        regimes.append(tuple(order[(at + fleet) % len(order)] for fleet in range(config.fleets)))
        at += steps.between(1, len(order) - 1)
    return tuple(regimes)


def _marks(config: ShiftConfig, split: str, seed: int) -> tuple[str, ...]:
    from taulong.shifts.identity import phone_models

    return tuple(Draws("phone models", split, seed).shuffled(phone_models())[: config.fleets])


def _lookalike_cause(split: str, seed: int, regime: int, number: int, recurring: str) -> str:
    """Return the cause of the lookalike of a number in its regime: another than the recurring one.

    It stands so many places after the recurring cause in the block's order. Lookalikes of one number stand as many places
    after it in every shift of a block, so that over the block each cause is used once; the next has another distance,
    until all distances are used.
    """
    from taulong.shifts.causes import recurring_causes

    causes = list(recurring_causes())
    block = (seed - SPLITS[split]) // len(causes)
    order = Draws("recurring cause", split, block).shuffled(causes)
    turn, at = divmod(number, len(causes) - 1)
    distance = Draws("lookalikes", split, block, regime, turn).shuffled(list(range(1, len(causes))))[at]
    return order[(order.index(recurring) + distance) % len(order)]


def held_out_cases(shift: Shift) -> list[Case]:
    """Return the testing cases of a shift again, position by position, with customers that the shift does not have.

    Cause, phone model and place are those of the shift's case, whose id they keep so that arms are paired; name, number,
    account and persona are drawn anew.
    """
    from taulong.shifts.identity import ids_of, mint_customer

    taken = {value for case in shift.cases for value in ids_of(case.records)}
    held_out = []
    for case in shift.cases:
        if case.population == "testing":
            at = shift.config.num_cases + case.position  # no case of the shift has it
            customer = mint_customer(shift.split, shift.seed, at, case.phone_model, taken)
            taken.update(customer.ids)
            task = _task(case.case_id, case.cause, customer)
            held_out.append(replace(case, records=customer.records, task=task))
    return held_out


def _task(case_id: str, cause: str, customer) -> dict:
    """Return the pinned task of a cause, retold for a minted customer, as plain data of a tau2 Task.

    The persona, which in the shipped tasks goes with the cause, is the customer's; the rest of the text is tau2's.
    """
    from taulong.shifts.causes import recurring_causes

    task = recurring_causes()[cause].task
    who = next(
        call for call in task.initial_state.initialization_actions if call.func_name == "set_user_info"
    ).arguments
    text = task.model_dump_json(exclude_none=True)
    for old, new in ((who["name"], customer.name), (who["phone_number"], customer.phone_number)):
        text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
    plain = json.loads(text)
    plain["id"] = case_id
    plain["user_scenario"] = {"persona": customer.persona, "instructions": plain["user_scenario"]["instructions"]}
    return plain
