"""Shifts of telecom customers, each generated from one seed: the unit of replication."""

import json
from dataclasses import replace

from taulong.draws import Draws
from taulong.shifts.configuration import POPULATIONS, SPLITS, ShiftConfig, shift_seeds
from taulong.shifts.stream import Case, Shift


def generate_shifts(
    config: ShiftConfig | None = None, split: str = "eval", num_shifts: int = 1, seed_offset: int = 0
) -> list[Shift]:
    """Return the shifts with seeds ``start of split + seed_offset`` onwards.

    A shift depends on its seed and the config alone: asking for more shifts never changes earlier ones. The recurring
    causes are balanced in blocks of four consecutive seeds, each block in its own drawn order.

    Raises:
        ConfigError: unknown split, or seeds that leave it.
    """
    config = config or ShiftConfig()
    return [generate_shift(config, split, seed) for seed in shift_seeds(split, num_shifts, seed_offset)]


def generate_shift(config: ShiftConfig, split: str, seed: int) -> Shift:
    """Return the shift of one seed.

    The first case is a teaching incident and the rest is placed at random: so a teaching case precedes every testing
    case, and every lookalike comes when there is something to apply to it wrongly. The incidents have one phone model in common
    (the lookalikes have others); it is drawn apart from the cause and tells nothing about it.
    """
    from taulong.shifts.causes import recurring_causes
    from taulong.shifts.identity import mint_customer, phone_models

    causes = list(recurring_causes())
    block, place = divmod(seed - SPLITS[split], len(causes))
    recurring = Draws("recurring cause", split, block).shuffled(causes)[place]
    model = Draws("phone model", split, seed).choice(phone_models())
    rest = [name for name in POPULATIONS for _ in range(config.counts[name] - (name == "teaching"))]
    placement = ["teaching", *Draws("placement", split, seed).shuffled(rest)]
    cases, taken = [], set()
    for position, population in enumerate(placement, start=1):
        cause, case_model = recurring, model
        if population == "lookalike":
            draws = Draws("lookalike", split, seed, position)
            cause = draws.choice([name for name in causes if name != recurring])
            case_model = draws.choice([name for name in phone_models() if name != model])
        customer = mint_customer(split, seed, position, case_model, taken)
        taken.update(customer.ids)
        case_id = f"{split}-{seed}/{position}"
        cases.append(Case(case_id, position, population, cause, customer.records, _task(case_id, cause, customer)))
    return Shift(f"{split}-{seed}", split, seed, recurring, model, config, tuple(cases))


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
            place = shift.config.num_cases + case.position  # no case of the shift has it
            customer = mint_customer(shift.split, shift.seed, place, _phone_model(case), taken)
            taken.update(customer.ids)
            task = _task(case.case_id, case.cause, customer)
            held_out.append(replace(case, records=customer.records, task=task))
    return held_out


def _phone_model(case: Case) -> str:
    """Return the model of the phone that a case's customer calls about."""
    number = case.records["customers"][0]["phone_number"]
    (device_id,) = (line["device_id"] for line in case.records["lines"] if line["phone_number"] == number)
    return next(device["model"] for device in case.records["devices"] if device["device_id"] == device_id)


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
