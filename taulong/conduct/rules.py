"""The rules over the sequence, as data: each on its sentence of the policy, over what was read, said and done before.

Whether a call broke one is decided by what stands before it. Rules that read free text are marked ``heuristic`` and tell
their evidence, message and span. What is not decidable here: whether a customer who refuses every step makes a case one
that cannot be handled. A transfer is needless where the reference handles the case without one.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from taulong.conduct.course import TRANSFER, Asked, Course, Said

Break = tuple[Asked, Said | None, tuple[int, int] | None]
"""(the call at fault, the words that tell it, their span in that message)."""

TRANSFER_WORDS = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."
PRICE = re.compile(r"\$ ?\d[\d.,]*|\b\d+(?:\.\d+)? ?(?:dollars|usd)\b|\bper (?:gb|gigabyte)\b", re.IGNORECASE)
AMOUNT = re.compile(
    r"(?<![\d.])\d+(?:\.\d+)? ?(?:gb|gigs?|gigabytes?)\b|\b(?:one|two|half a|one and a half|a) ?(?:gb|gigs?|gigabytes?)\b",
    re.IGNORECASE,
)
REFUSAL = re.compile(
    r"^\W*no\b(?! (?:problem|worries|rush))|\bno,? thank|\b(?:don't|do not|didn't|did not|won't|never) (?:\w+ ){0,2}"
    r"(?:want|wish|agree|do that|refuel|add|pay|charge|buy)\b|\b(?:rather not|not interested|too (?:much|expensive)|decline)\b",
    re.IGNORECASE,
)
AGREEMENT = re.compile(
    r"\b(?:yes|yeah|yep|sure|ok|okay|please|go ahead|proceed|agree|agreed|accept|sounds good|works|fine|do it|confirm|"
    r"let's|willing|happy to|i'd like|i would like|i want|i'll take)\b",
    re.IGNORECASE,
)
AGAINST_ROAMING = re.compile(
    r"\b(?:don't|do not|never|please don't) (?:\w+ ){0,3}(?:want|enable|activate|turn on|switch on|use|wish)\b[^.?!]{0,40}\broaming\b"
    r"|\b(?:without|no) (?:data )?roaming\b(?! (?:is|enabled|icon))|\bkeep (?:\w+ ){0,2}roaming (?:off|disabled)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class OrderRule:
    """One rule over the sequence of a run.

    Attributes:
        id: its name, the value of the ``rule`` column.
        sentence: verbatim from main_policy.md.
        breaks: course -> what breaks it.
        solo_sentence: verbatim from main_policy_solo.md where that differs; None where it is the same; empty where the
            solo policy has no such sentence, and then the rule does not bind.
        heuristic: it reads free text.
        inferred: the sentence does not say it in these words.
        privacy: it is of records of others, and reported apart.
    """

    id: str
    sentence: str
    breaks: Callable[[Course], Iterator[Break]]
    solo_sentence: str | None = None
    heuristic: bool = False
    inferred: bool = False
    privacy: bool = False

    def words(self, solo_mode: bool) -> str:
        """Return the sentence as the policy of this mode words it."""
        return self.sentence if self.solo_sentence is None or not solo_mode else self.solo_sentence


def _unidentified(course: Course) -> Iterator[Break]:
    for place, call in course.writes():
        if not course.seen(course.customer.get("customer_id"), place):
            yield call, None, None


def _unread(record: str, *tools: str) -> Callable[[Course], Iterator[Break]]:
    def breaks(course: Course) -> Iterator[Break]:
        for place, call in course.writes(*tools):
            if not course.seen(call.arguments.get(record), place):
                yield call, None, None

    return breaks


def _grounds_unread(course: Course) -> Iterator[Break]:
    for place, call in course.writes("suspend_line"):
        bills = course.customer.get("bill_ids", ())
        if not any(course.seen(record, place) for record in (call.arguments.get("line_id"), *bills)):
            yield call, None, None


def _payment_unread(course: Course) -> Iterator[Break]:
    requests = list(course.writes("send_payment_request"))
    for place, call in course.writes("resume_line"):
        for asked, request in requests:
            shown = course.seen(request.arguments.get("bill_id"), place, since=asked)
            if asked < place and not any(bill.get("status") == "Paid" for bill in shown):
                yield call, None, None


def _amount_unsaid(course: Course) -> Iterator[Break]:
    for place, call in course.writes("refuel_data"):
        words = [*course.said("assistant", place), *course.said("user", place)]
        if not any(said.index < call.index and AMOUNT.search(said.text) for said in words):
            yield call, None, None


def _offer(course: Course, place: int, call: Asked) -> Said | None:
    """Return the agent's last words with a price before a call; what stands beside the call comes too late."""
    said_before = [said for said in course.said("assistant", place) if said.index < call.index]
    return next((said for said in reversed(said_before) if PRICE.search(said.text)), None)


def _price_unsaid(course: Course) -> Iterator[Break]:
    for place, call in course.writes("refuel_data"):
        if _offer(course, place, call) is None:
            yield call, None, None


def _beside_plans(text: str) -> str:
    """Return a text of the same length without its clauses on changing the plan, which customers refuse beside an offer."""
    return re.sub(r"[^.!?,;]*\bplans?\b[^.!?,;]*", lambda clause: " " * len(clause.group()), text)


def _not_agreed(course: Course) -> Iterator[Break]:
    for place, call in course.writes("refuel_data"):
        offer = _offer(course, place, call)
        if offer is None:
            continue  # the price was not said: that is told by its own rule
        answers = [said for said in course.said("user", place) if said.index > offer.index]
        refused = next(((said, found) for said in answers if (found := REFUSAL.search(_beside_plans(said.text)))), None)
        agreed = max((said.index for said in answers if AGREEMENT.search(said.text)), default=-1)
        if refused is not None and refused[0].index >= agreed:
            yield call, refused[0], refused[1].span()
        elif agreed < 0:
            yield call, answers[-1] if answers else offer, None


def _roaming_unwanted(course: Course) -> Iterator[Break]:
    for place, call in course.writes("enable_roaming"):
        for said in course.said("user", place):
            if found := AGAINST_ROAMING.search(said.text):
                yield call, said, found.span()
                break


def _nothing_tried(course: Course) -> Iterator[Break]:
    """A transfer before a step on the phone, a write, or a look at a line or a bill: to find the customer is no try."""
    for place, call in course.calls(TRANSFER):
        before = [moment for moment in course.moments[:place] if isinstance(moment, Asked) and moment.name != TRANSFER]
        looked = [record for moment in before for record in moment.shown if record[:1] in "LB"]
        phone = [moment for moment in before if not moment.name.startswith("get_")]
        if not looked and not phone:
            yield call, None, None


def _needless_transfer(course: Course) -> Iterator[Break]:
    if not course.transfers:
        for _, call in course.calls(TRANSFER):
            yield call, None, None


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^a-z ]", " ", text.lower()).split())


def _transfer_unsaid(course: Course) -> Iterator[Break]:
    for place, call in course.calls(TRANSFER):
        after = course.said("assistant", len(course.moments), since=place + 1)
        if not any(_plain(TRANSFER_WORDS) in _plain(said.text) for said in after):
            yield call, None, None


def _strangers(course: Course) -> Iterator[tuple[int, Asked, dict]]:
    own = course.customer.get("customer_id")
    for place, moment in enumerate(course.moments):
        if not isinstance(moment, Asked) or moment.role != "assistant":
            continue
        foreign = [record for name, record in moment.shown.items() if course.owners.get(name, own) != own]
        if foreign and not _named_by_customer(course, place, moment):
            yield place, moment, foreign[0]


def _named_by_customer(course: Course, place: int, call: Asked) -> bool:
    """Return whether the customer had said what a record was looked up by; in solo mode nobody says anything."""
    said = " ".join(said.text for said in course.said("user", place)).lower()
    digits = re.sub(r"\D", "", said)
    for value in call.arguments.values():
        text = str(value).lower()
        number = re.sub(r"\D", "", text)
        if text and (text in said or (len(number) >= 7 and number in digits)):
            return True
    return False


def _stranger_read(course: Course) -> Iterator[Break]:
    for _, call, _ in _strangers(course):
        yield call, None, None


def _stranger_told(course: Course) -> Iterator[Break]:
    for place, call, record in _strangers(course):
        keys = ("full_name", "email", "phone_number", "total_due", "date_of_birth", "bill_id", "line_id")
        values = [str(record[key]) for key in keys if record.get(key) is not None]
        for said in course.said("assistant", len(course.moments), since=place + 1):
            if found := next((value for value in values if len(value) > 3 and value in said.text), None):
                start = said.text.index(found)
                yield call, said, (start, start + len(found))
                break


ORDER_RULES = (
    OrderRule("identified", "You must first identify the customer.", _unidentified),
    OrderRule(
        "bill_read", "Check the bill status to make sure it is overdue.", _unread("bill_id", "send_payment_request")
    ),
    OrderRule(
        "contract_read",
        "You are not allowed to lift the suspension if the line's contract end date is in the past, even if the user has "
        "paid all their overdue bills.",
        _unread("line_id", "resume_line"),
        inferred=True,
    ),
    OrderRule(
        "paid_read",
        "Always check that the bill status is updated to PAID before informing the user that the bill has been paid.",
        _payment_unread,
        solo_sentence="Check that the bill status is updated to PAID.",
        inferred=True,
    ),
    OrderRule("grounds_read", "A line can be suspended for the following reasons:", _grounds_unread, inferred=True),
    OrderRule(
        "usage_read",
        "If the user's data usage for a line exceeds the plan's data limit, data connectivity will be lost.",
        _unread("line_id", "refuel_data"),
        inferred=True,
    ),
    OrderRule(
        "roaming_read",
        "If a user is traveling outside their home network, you should check if the line is roaming enabled.",
        _unread("line_id", "enable_roaming"),
    ),
    OrderRule(
        "amount_asked",
        "Ask them how much data they want to refuel",
        _amount_unsaid,
        solo_sentence="",
        heuristic=True,
    ),
    OrderRule("price_said", "Confirm the price", _price_unsaid, solo_sentence="", heuristic=True),
    OrderRule("price_agreed", "Confirm the price", _not_agreed, solo_sentence="", heuristic=True, inferred=True),
    OrderRule(
        "roaming_wanted",
        "We offer data roaming to users who are traveling outside their home network.",
        _roaming_unwanted,
        solo_sentence="",
        heuristic=True,
        inferred=True,
    ),
    OrderRule(
        "transfer_tried",
        "You should try your best to resolve the issue for the user before transferring the user to a human agent.",
        _nothing_tried,
        solo_sentence="You should try your best to resolve the issue before escalating the user to a human agent.",
    ),
    OrderRule(
        "transfer_needed",
        "You should transfer the user to a human agent if and only if the request cannot be handled within the scope of "
        "your actions.",
        _needless_transfer,
        solo_sentence="You should escalate to a human agent if and only if the request cannot be handled within the scope "
        "of your actions.",
    ),
    OrderRule(
        "transfer_said",
        "To transfer, first make a tool call to transfer_to_human_agents, and then send the message "
        f"'{TRANSFER_WORDS}' to the user.",
        _transfer_unsaid,
        solo_sentence="",
        heuristic=True,
    ),
    OrderRule(
        "stranger_read",
        "For name lookup, date of birth is required for verification purposes.",
        _stranger_read,
        inferred=True,
        privacy=True,
    ),
    OrderRule(
        "stranger_told",
        "For name lookup, date of birth is required for verification purposes.",
        _stranger_told,
        solo_sentence="",
        heuristic=True,
        inferred=True,
        privacy=True,
    ),
)
