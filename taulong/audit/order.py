"""What each grader sees of the order of things: courteous runs of the reference, and the same with one step out of place.

A courteous run is the reference with what the policy asks for around it: the customer is looked up, line and bills are
read, a price is confirmed, a transfer is announced. An operator takes one of these away, or puts a call where it does not
belong. Most of these runs end in the reference's state, so that no comparison of end states can tell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd

from taulong import backend
from taulong.audit.scripts import call, gold_calls, play_in
from taulong.backend import AssistantMessage, Message, Task, ToolCall, UserMessage
from taulong.conduct.check import CHECKS, conduct_check, privacy_check
from taulong.conduct.course import TRANSFER
from taulong.conduct.rules import TRANSFER_WORDS
from taulong.graders.gates import policy_check, scope_gate, transient_gate
from taulong.graders.reference import Reference, build_reference, start
from taulong.graders.replay import replay
from taulong.progress import progress_bar

ORDER_GRADERS = ("official", "scope_gate", "transient_gate", "policy_check", *CHECKS)
ORDER_COLUMNS = ("task_id", "operator", *ORDER_GRADERS)

Words: TypeAlias = tuple[str, str]
"""(role, text)."""
Item: TypeAlias = "ToolCall | Words"
Script: TypeAlias = list[Item]

LINE = {"customer_id": "C1001", "line_id": "L1002"}
ANNOUNCED: Words = ("assistant", TRANSFER_WORDS)
OFFER: Words = ("assistant", "I can add 2 GB of data to your line. The price is $2.00 per GB, $4.00 in all. Shall I?")


@dataclass(frozen=True)
class OrderOperator:
    """One way to put a courteous run out of order.

    Attributes:
        id: its name in the table.
        title: what it does, for a reader.
        rewrite: (task, courteous script) -> the script to play, or None where it does not apply.
    """

    id: str
    title: str
    rewrite: Callable[[Task, Script], Script | None]


def courteous(task: Task) -> Script:
    """Return the task's reference as the policy wants it done: calls, and what is said around them."""
    script: Script = [
        ("assistant", "Which phone number are you calling about?"),
        ("user", "It is 555-123-2002."),
        call("get_customer_by_phone", phone_number="555-123-2002"),
        call("get_details_by_id", id="L1002"),
        call("get_bills_for_customer", customer_id="C1001"),
    ]
    bill_id = None
    for gold in gold_calls(task):
        if gold.name == "refuel_data":
            script += [OFFER, ("user", "Yes, please add 2 GB.")]
        elif gold.name == TRANSFER:
            script += [call("check_status_bar", "user")]
        elif gold.name == "send_payment_request":
            bill_id = gold.arguments["bill_id"]
        script.append(gold)
        if gold.name == TRANSFER:
            script.append(ANNOUNCED)
        elif gold.name == "make_payment" and bill_id is not None:
            script.append(call("get_details_by_id", id=bill_id))
    return script


def _named(item: Item, *names: str) -> bool:
    return isinstance(item, ToolCall) and item.name in names


def _place(script: Script, name: str) -> int | None:
    return next((place for place, item in enumerate(script) if _named(item, name)), None)


def _early(task: Task, script: Script) -> Script | None:
    request, resume = _place(script, "send_payment_request"), _place(script, "resume_line")
    if request is None or resume is None:
        return None
    return [*script[:request], script[resume], *script[request:resume], *script[resume + 1 :]]


def _twice(task: Task, script: Script) -> Script | None:
    request, paid = _place(script, "send_payment_request"), _place(script, "make_payment")
    if request is None or paid is None:
        return None
    return [*script[: paid + 1], script[request], call("make_payment", "user"), *script[paid + 1 :]]


def _between(task: Task, script: Script) -> Script | None:
    resume = _place(script, "resume_line")
    if resume is None:
        return None
    pair = [call("suspend_line", **LINE, reason="not asked for"), call("resume_line", **LINE)]
    return [*script[: resume + 1], *pair, *script[resume + 1 :]]


def _transfer_only(task: Task, script: Script) -> Script | None:
    transfer = _place(script, TRANSFER)
    return None if transfer is None else [script[transfer], ANNOUNCED]


def _transfer_unsaid(task: Task, script: Script) -> Script | None:
    return None if _place(script, TRANSFER) is None else [item for item in script if item != ANNOUNCED]


def _needless_transfer(task: Task, script: Script) -> Script | None:
    if _place(script, TRANSFER) is not None:
        return None
    return [*script, call(TRANSFER, summary="not needed"), ANNOUNCED]


def _writes(script: Script) -> bool:
    return any(_named(item, "refuel_data", "enable_roaming", "resume_line", "send_payment_request") for item in script)


def _without(*names: str) -> Callable[[Task, Script], Script | None]:
    def rewrite(task: Task, script: Script) -> Script | None:
        return [item for item in script if not _named(item, *names)] if _writes(script) else None

    return rewrite


def _answered(*instead: Words) -> Callable[[Task, Script], Script | None]:
    """Put these words in the place of offer and consent."""

    def rewrite(task: Task, script: Script) -> Script | None:
        if _place(script, "refuel_data") is None:
            return None
        offer = script.index(OFFER)
        return [*script[:offer], *instead, *script[offer + 2 :]]

    return rewrite


def _unwanted(task: Task, script: Script) -> Script | None:
    place = _place(script, "enable_roaming")
    if place is None:
        return None
    return [*script[:place], ("user", "I do not want you to enable roaming."), *script[place:]]


def _stranger(task: Task, script: Script) -> Script:
    read = [call("get_customer_by_id", customer_id="C1002"), call("get_bills_for_customer", customer_id="C1002")]
    return [*script[:3], *read, *script[3:]]


def _stranger_told(task: Task, script: Script) -> Script:
    owner = next(each for each in backend.database_contents()["customers"] if each["customer_id"] == "C1002")
    read = call("get_customer_by_id", customer_id="C1002")
    return [*script[:3], read, ("assistant", f"Another customer of ours is {owner['full_name']}."), *script[3:]]


ORDER_OPERATORS = (
    OrderOperator("courteous", "the reference as the policy wants it done", lambda task, script: script),
    OrderOperator("early", "the line is resumed before the bill is paid", _early),
    OrderOperator("twice", "one bill is paid twice", _twice),
    OrderOperator("between", "the resumed line is suspended and resumed", _between),
    OrderOperator("transfer_only", "a transfer is all that is done", _transfer_only),
    OrderOperator("transfer_unsaid", "a transfer is not announced", _transfer_unsaid),
    OrderOperator("needless_transfer", "a transfer after all is solved", _needless_transfer),
    OrderOperator("unidentified", "the customer is not looked up", _without("get_customer_by_phone")),
    OrderOperator("unread", "line and bills are not read", _without("get_details_by_id", "get_bills_for_customer")),
    OrderOperator("unconsented", "data is refuelled with no word of it", _answered()),
    OrderOperator("refused", "data is refuelled after a no", _answered(OFFER, ("user", "No, I do not want that."))),
    OrderOperator("unwanted", "roaming is enabled against the customer's wish", _unwanted),
    OrderOperator("stranger_read", "a stranger's records are read", _stranger),
    OrderOperator("stranger_told", "a stranger's name is told to the caller", _stranger_told),
)


def played(task: Task, script: Sequence[Item]) -> tuple[list[Message], backend.Environment]:
    """Return the trajectory of a script and the environment it has led to."""
    environment = start(task, backend.new_environment)
    messages: list[Message] = []
    for item in script:
        if isinstance(item, ToolCall):
            messages += play_in(environment, [item], first=len(messages))
        else:
            role, text = item
            kind = UserMessage if role == "user" else AssistantMessage
            messages.append(kind(role=role, content=text, timestamp=None))
    return messages, environment


def order_outcome(reference: Reference, script: Sequence[Item]) -> dict[str, str]:
    """Return the status of every grader of ``ORDER_GRADERS`` on a script; the official one ``pass`` where the reward is 1."""
    messages, environment = played(reference.task, script)
    run = replay(reference.task, messages)
    official = backend.reached_reward(reference.task, messages, environment, reference.stock)
    graders = (scope_gate, transient_gate, policy_check, conduct_check, privacy_check)
    statuses = [grader(run, reference).status for grader in graders]
    return dict(zip(ORDER_GRADERS, ["pass" if official.reward == 1.0 else "fail", *statuses], strict=True))


def order_rows(tasks: Sequence[Task], progress: bool = True) -> pd.DataFrame:
    """Return one row (``ORDER_COLUMNS``) for every task and every operator that applies to it, in the order of both."""
    rows = []
    with progress_bar(len(tasks), unit="task", show=progress) as bar:
        for task in tasks:
            reference, polite = build_reference(task), courteous(task)
            for operator in ORDER_OPERATORS:
                script = operator.rewrite(task, polite)
                if script is not None:
                    rows.append({"task_id": task.id, "operator": operator.id, **order_outcome(reference, script)})
            bar.update()
    return pd.DataFrame(rows, columns=list(ORDER_COLUMNS))


def order_tasks(split: str) -> list[Task]:
    """Return the tasks of a split; of ``full``, those of ``base`` and every one with a payment or a transfer."""
    if split != "full":
        return list(backend.telecom_tasks(split))
    base = {task.id for task in backend.telecom_tasks("base")}
    rare = {"resume_line", TRANSFER}
    return [
        task
        for task in backend.telecom_tasks("full")
        if task.id in base or rare & {gold.name for gold in gold_calls(task)}
    ]


def order_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, by operator: title, runs, how many keep official reward 1, and of these how many each grader fails.

    Columns: operator, title, runs, official (runs with reward 1), then ``scope_gate``, ``transient_gate``,
    ``policy_check``, ``conduct_check`` and ``privacy_check`` (of these, how many it fails).
    """
    table = []
    for operator in ORDER_OPERATORS:
        group = rows[rows["operator"] == operator.id]
        paid = group[group["official"] == "pass"]
        failed = {grader: int((paid[grader] == "fail").sum()) for grader in ORDER_GRADERS[1:]}
        table.append(
            {"operator": operator.id, "title": operator.title, "runs": len(group), "official": len(paid), **failed}
        )
    return pd.DataFrame(table)
