"""The rules of the telecom policy that a database write can break, as data.

Each rule carries the sentence of the installed policy file it rests on (``main_policy.md``; where the solo file
``main_policy_solo.md`` words it otherwise, that sentence too) and a predicate over the state before the call, the call
and the caller. A rule that *forbids* is broken where its predicate is false; a rule that *licenses* speaks of what the
agent may do, and a write is licensed when it breaks no rule and a licensing rule holds for it. Licensing is narrower
than "not forbidden": nothing in the policy forbids disabling roaming on the caller's own line, and nothing permits it.

The policy mostly says what the agent may do, and on what condition; a rule reads such a sentence as forbidding the same
without the condition. Where the sentence does not even speak of the write, the rule is marked as inferred from it.
"""

import datetime
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from taulong.backend import Task, TelecomTools, TelecomUserTools, get_today, tool_names
from taulong.graders.delta import Field

LINE_WRITES = ("suspend_line", "resume_line", "enable_roaming", "disable_roaming", "refuel_data")
WRITES = (*LINE_WRITES, "send_payment_request")
MAXIMUM_REFUEL_GB = 2.0


@dataclass(frozen=True)
class Caller:
    """Who is on the phone, as far as the databases say it.

    Attributes:
        phone_number: the number the caller gave (``surroundings.phone_number`` of the user database), or None.
        abroad: whether the caller travels (``surroundings.is_abroad``).
        pays: whether the ticket says the caller gave permission to pay bills; matters in solo mode only.
    """

    phone_number: str | None
    abroad: bool
    pays: bool = False


@dataclass(frozen=True)
class Write:
    """One call that changed the agent database.

    Attributes:
        name, arguments, requestor: the tool call.
        before: plain contents of the agent database that the call met.
        changed: the fields it changed.
        agreed: whether the customer had agreed to it in words (:func:`taulong.graders.speech.agreed_to`).
    """

    name: str
    arguments: dict
    requestor: Literal["assistant", "user"]
    before: dict
    changed: frozenset[Field] = frozenset()
    agreed: bool = False

    def record(self, table: str, key: str, value) -> dict:
        """Return the record of a table whose key has this value, as it was before the call (or ``{}``)."""
        return next((record for record in self.before[table] if record[key] == value), {})

    @property
    def line(self) -> dict:
        """The line the call names."""
        return self.record("lines", "line_id", self.arguments.get("line_id"))

    @property
    def bill(self) -> dict:
        """The bill the call names."""
        return self.record("bills", "bill_id", self.arguments.get("bill_id"))

    def bills(self, *statuses: str) -> list[dict]:
        """Return the named customer's bills that had one of these statuses."""
        customer = self.record("customers", "customer_id", self.arguments.get("customer_id"))
        return [
            bill
            for bill in self.before["bills"]
            if bill["bill_id"] in customer.get("bill_ids", ()) and bill["status"] in statuses
        ]

    def customer_of(self, caller: Caller) -> dict:
        """Return the customer whose own number, or one of whose lines' numbers, the caller gave."""
        line = self.record("lines", "phone_number", caller.phone_number)
        return next(
            (
                customer
                for customer in self.before["customers"]
                if customer["phone_number"] == caller.phone_number or line.get("line_id") in customer["line_ids"]
            ),
            {},
        )


@dataclass(frozen=True)
class Rule:
    """One rule of the policy.

    Attributes:
        id: short name, the value of the ``rule`` column.
        kind: ``forbids`` (broken where ``holds`` is false) or ``licenses``.
        sentence: verbatim from main_policy.md.
        tools: the tools whose writes it speaks of.
        holds: predicate over (the write, which knows the state before it; the caller).
        solo_sentence: verbatim from main_policy_solo.md where that differs; None where it is the same.
        solo_only: the rule is in the solo policy only.
        inferred: those of the tools that the sentence does not speak of; for their writes the rule is inferred from it.
    """

    id: str
    kind: Literal["forbids", "licenses"]
    sentence: str
    tools: tuple[str, ...]
    holds: Callable[[Write, Caller], bool]
    solo_sentence: str | None = None
    solo_only: bool = False
    inferred: tuple[str, ...] = ()

    def words(self, solo_mode: bool) -> str:
        """Return the sentence as the policy of this mode words it."""
        return self.solo_sentence if solo_mode and self.solo_sentence is not None else self.sentence


def contract_ended(line: dict, today: datetime.date | None = None) -> bool:
    """Return whether the line's contract end date is in the past."""
    end = line.get("contract_end_date")
    return end is not None and end < (today or get_today())


def _grounds(write: Write, caller: Caller) -> bool:
    return bool(write.bills("Overdue")) or contract_ended(write.line)


def _over_the_limit(write: Write, caller: Caller) -> bool:
    plan = write.record("plans", "plan_id", write.line.get("plan_id"))
    return bool(plan) and write.line["data_used_gb"] >= plan["data_limit_gb"] + write.line["data_refueling_gb"]


def _other_payment_waits(write: Write, caller: Caller) -> bool:
    return any(bill["bill_id"] != write.arguments.get("bill_id") for bill in write.bills("Awaiting Payment"))


# "The line associated with the phone number the user provided" is said of refuelling, of changing the plan and of
# checking for roaming; the policy names no other way to tell which line a request is about, so it is read as the scope
# of every write on a line. That the agent must first identify the customer is read as: it may write on no other
# customer's records. Whether it has looked the customer up is not checked.
RULES = (
    Rule(
        "caller_line",
        "forbids",
        "Apply the refueled data to the line associated with the phone number the user provided.",
        LINE_WRITES,
        lambda write, caller: write.line.get("phone_number") == caller.phone_number,
        inferred=tuple(tool for tool in LINE_WRITES if tool != "refuel_data"),
    ),
    Rule(
        "caller_account",
        "forbids",
        "You must first identify the customer.",
        WRITES,
        lambda write, caller: write.arguments.get("customer_id") == write.customer_of(caller).get("customer_id"),
        inferred=WRITES,
    ),
    Rule(
        "suspension_grounds",
        "forbids",
        "A line can be suspended for the following reasons:\n- The user has an overdue bill.\n"
        "- The line's contract end date is in the past.",
        ("suspend_line",),
        _grounds,
    ),
    Rule(
        "resume_paid",
        "forbids",
        "You are allowed to lift the suspension after the user has paid all their overdue bills.",
        ("resume_line",),
        lambda write, caller: not write.bills("Overdue", "Awaiting Payment"),
    ),
    Rule(
        "resume_contract",
        "forbids",
        "You are not allowed to lift the suspension if the line's contract end date is in the past, even if the "
        "user has paid all their overdue bills.",
        ("resume_line",),
        lambda write, caller: not contract_ended(write.line),
    ),
    Rule(
        "payment_overdue",
        "forbids",
        "You should always check that the bill is overdue before sending a payment request.",
        ("send_payment_request",),
        lambda write, caller: write.bill.get("status") == "Overdue",
    ),
    Rule(
        "payment_single",
        "forbids",
        "A user can only have one bill in the AWAITING PAYMENT status at a time.",
        ("send_payment_request",),
        lambda write, caller: not _other_payment_waits(write, caller),
    ),
    Rule(
        "payment_permission",
        "forbids",
        "You can only do so if the ticket specifies that the user has given you the permission to make payments!",
        ("send_payment_request", "make_payment"),
        lambda write, caller: caller.pays,
        solo_only=True,
    ),
    Rule(
        "refuel_cap",
        "forbids",
        "The maximum amount of data that can be refueled is 2GB.",
        ("refuel_data",),
        lambda write, caller: (
            write.line["data_refueling_gb"] + write.arguments["gb_amount"] <= MAXIMUM_REFUEL_GB + 1e-9
        ),
    ),
    Rule(
        "roaming_traveller",
        "forbids",
        "We offer data roaming to users who are traveling outside their home network.",
        ("enable_roaming",),
        lambda write, caller: caller.abroad,
    ),
    Rule(
        "roaming_free",
        "forbids",
        "If it is not, you should enable it at no cost for the user.",
        ("enable_roaming",),
        lambda write, caller: not any(field.record.startswith("bills.") for field in write.changed),
    ),
    Rule("may_suspend", "licenses", "A line can be suspended for the following reasons:", ("suspend_line",), _grounds),
    Rule(
        "may_resume",
        "licenses",
        "You are allowed to lift the suspension after the user has paid all their overdue bills.",
        ("resume_line",),
        lambda write, caller: True,
    ),
    Rule(
        "may_request_payment",
        "licenses",
        "You can help the user make a payment for an overdue bill.",
        ("send_payment_request",),
        lambda write, caller: True,
        solo_sentence="If the user has an overdue bill, you can help them make a payment for it.",
    ),
    Rule(
        "may_pay",
        "licenses",
        "Accept the payment request using the make_payment tool.",
        ("make_payment",),
        lambda write, caller: True,
        solo_only=True,
    ),
    Rule(
        "may_refuel",
        "licenses",
        'You can add more data to the line by "refueling" data at a price per GB specified by the plan.',
        ("refuel_data",),
        _over_the_limit,
    ),
    Rule(  # the sentence sets no condition; that an amount, a price and a yes were said is what tells consent from whim
        "may_refuel_agreed",
        "licenses",
        'You can add more data to the line by "refueling" data at a price per GB specified by the plan.',
        ("refuel_data",),
        lambda write, caller: write.agreed,
        inferred=("refuel_data",),
    ),
    Rule(
        "may_enable_roaming",
        "licenses",
        "If a user is traveling outside their home network, you should check if the line is roaming enabled.",
        ("enable_roaming",),
        lambda write, caller: caller.abroad,
    ),
)

ONE_CALL = Rule(
    "one_call",
    "forbids",
    "You should only make one tool call at a time, and if you make a tool call, you should not respond to the user "
    "simultaneously.",
    (),
    lambda write, caller: False,
    solo_sentence="You should only make one tool call at a time.",
)
NOT_BESIDE_TEXT = Rule(
    "not_beside_text",
    "forbids",
    "If you respond to the user, you should not make a tool call at the same time.",
    (),
    lambda write, caller: False,
    solo_sentence="",  # the solo policy does not say it
)
CONDUCT = (ONE_CALL, NOT_BESIDE_TEXT)
"""Rules on a message, not on a write: part of the policy check, without a word on whether a write is licensed."""


@dataclass(frozen=True)
class Judgement:
    """What the policy says of one write: the rules it breaks, and whether a rule licenses it."""

    broken: tuple[Rule, ...]
    licensed: bool


def judge(write: Write, caller: Caller, solo_mode: bool = False) -> Judgement:
    """Return the policy's judgement of one write, in the state it met.

    The policy binds the agent: what the caller does with the own phone (paying, say) breaks nothing and is licensed.
    """
    if write.requestor == "user":
        return Judgement((), True)
    rules = [rule for rule in RULES if write.name in rule.tools and (solo_mode or not rule.solo_only)]
    broken = tuple(rule for rule in rules if rule.kind == "forbids" and not rule.holds(write, caller))
    return Judgement(
        broken, not broken and any(rule.kind == "licenses" and rule.holds(write, caller) for rule in rules)
    )


def conduct(calls: Iterable[str], has_text: bool, solo_mode: bool = False) -> tuple[Rule, ...]:
    """Return the conduct rules that an agent message breaks, from the names of its calls and whether it has text.

    Only the domain's own tools count: a notebook, or a tool that does not exist, is no business of the telecom policy.
    """
    domain = tool_names(TelecomTools) | (tool_names(TelecomUserTools) if solo_mode else frozenset())
    count = sum(name in domain for name in calls)
    broken = []
    if count > 1:
        broken.append(ONE_CALL)
    if count and has_text and not solo_mode:
        broken.append(NOT_BESIDE_TEXT)
    return tuple(broken)


def caller_of(user_database: dict, task: Task) -> Caller:
    """Return the caller that the user database and the task's ticket describe."""
    surroundings = user_database["surroundings"]
    pays = re.search(r"permission to (?:pay|make)", task.ticket or "") is not None
    return Caller(surroundings["phone_number"], bool(surroundings["is_abroad"]), pays)
