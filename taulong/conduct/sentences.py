"""Every sentence of the policy that asks, allows or forbids something, with the rules that check it or why none does.

The documents are those of the installed tau2: the two main policies, the manual, and the two workflows. A sentence counts
where it has a word of asking, allowing or forbidding, or begins with an order; what describes an object or a tool is no
rule. In the technical documents most sentences are steps on the phone: these are told by their form.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from taulong.backend import DATA_DIR

MAIN = ("main_policy.md", "main_policy_solo.md")
TECHNICAL = ("tech_support_manual.md", "tech_support_workflow.md", "tech_support_workflow_solo.md")

_NORM = re.compile(
    r"\b(?:should|must|allowed|not allowed|always|never|only|maximum|make sure|deny|guide (?:the|them)|escalate|transfer (?:the|to)|to transfer|"
    r"you can (?:help|add|only|look)|permissions? to make|required for verification|can be suspended|offer)\b|"
    r"^(?:\*\*)?(?:Accept|Apply|Ask|Calculate|Check|Confirm|Ensure|Escalate|Find|First|Gather|Grant|Inform|Instruct|Investigate|Know|"
    r"Proceed|Refer|Rerun|Run|Send|Tell|Transfer|Try|Turn|Use|Verify)\b",
    re.IGNORECASE,
)
_MARK = re.compile(r"^\s*(?:[-*]|\d+\.)?\s+|^\s*[-*]\s*(?=\w)")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*'])")


@dataclass(frozen=True)
class Sentence:
    """What is checked of one sentence.

    Attributes:
        text: the sentence, verbatim.
        rules: the rules that check it, by id: of the policy check, its conduct, or the sequence.
        why: why no rule does, or what of it no rule sees.
    """

    text: str
    rules: tuple[str, ...] = ()
    why: str = ""

    def __post_init__(self):
        if not self.rules and not self.why:
            raise ValueError(f"a sentence has neither a rule nor a reason: {self.text!r}")


WORDS = "free text: no deterministic reading of it is right often enough"
NO_TOOL = "the agent has no tool that changes a plan"
PHONE = "a step on the phone: the user database is observed and never gated"
ROUTE = "the way through the steps: any way that ends well is right"

SENTENCES = (
    Sentence("As a telecom agent, you can help users with  **technical support**, **overdue bill payment**, **line suspension**, and **plan options**.", why="what the agent is there for"),
    Sentence("You should not provide any information, knowledge, or procedures not provided by the user or available tools, or give subjective recommendations or comments.", why=WORDS),
    Sentence("You should only make one tool call at a time, and if you make a tool call, you should not respond to the user simultaneously.", ("one_call", "not_beside_text")),
    Sentence("If you respond to the user, you should not make a tool call at the same time.", ("not_beside_text",)),
    Sentence("You should only make one tool call at a time.", ("one_call",)),
    Sentence("You should deny user requests that are against this policy.", ("suspension_grounds", "resume_paid", "resume_contract", "payment_overdue", "refuel_cap"), "a request that is granted shows in the write; one that is denied in words is not read"),
    Sentence("You should transfer the user to a human agent if and only if the request cannot be handled within the scope of your actions.", ("transfer_needed",), "that a transfer was due and left out is the official reward's ACTION part"),
    Sentence("You should escalate to a human agent if and only if the request cannot be handled within the scope of your actions.", ("transfer_needed",), "that a transfer was due and left out is the official reward's ACTION part"),
    Sentence("To transfer, first make a tool call to transfer_to_human_agents, and then send the message 'YOU ARE BEING TRANSFERRED TO A HUMAN AGENT.", ("transfer_said",)),
    Sentence("To escalate, use the tool call transfer_to_human_agents", why="the official reward's ACTION part asks for the call"),
    Sentence("You should try your best to resolve the issue for the user before transferring the user to a human agent.", ("transfer_tried",), "that anything was tried is checked, whether all was is not"),
    Sentence("You should try your best to resolve the issue before escalating the user to a human agent.", ("transfer_tried",), "that anything was tried is checked, whether all was is not"),
    Sentence("You can look up customer information using:", why="the tools take nothing else"),
    Sentence("For name lookup, date of birth is required for verification purposes.", ("stranger_read", "stranger_told"), "the tool itself asks for both"),
    Sentence("You can help the user make a payment for an overdue bill.", ("may_request_payment",)),
    Sentence("If the user has an overdue bill, you can help them make a payment for it.", ("may_request_payment",)),
    Sentence("You can only do so if the ticket specifies that the user has given you the permission to make payments!", ("payment_permission",)),
    Sentence("If the ticket specifies that the user has given you the permission to make payments, you can:", ("payment_permission",)),
    Sentence("Accept the payment request using the make_payment tool.", ("may_pay",)),
    Sentence("Check the bill status to make sure it is overdue.", ("bill_read",)),
    Sentence("Check the bill amount due", ("bill_read",), "an answer that shows the bill shows its amount"),
    Sentence("Send the user a payment request for the overdue bill.", ("payment_overdue",)),
    Sentence("Inform the user that a payment request has been sent.", why=WORDS),
    Sentence("They should:", why="what the customer does"),
    Sentence("Check their payment requests using the check_payment_request tool.", why="what the customer does"),
    Sentence("Always check that the bill status is updated to PAID before informing the user that the bill has been paid.", ("paid_read",), "read as: before the line is resumed"),
    Sentence("Check that the bill status is updated to PAID.", ("paid_read",), "read as: before the line is resumed"),
    Sentence("A user can only have one bill in the AWAITING PAYMENT status at a time.", ("payment_single",)),
    Sentence("You should always check that the bill is overdue before sending a payment request.", ("payment_overdue", "bill_read")),
    Sentence("A line can be suspended for the following reasons:", ("suspension_grounds", "may_suspend", "grounds_read")),
    Sentence("We offer data roaming to users who are traveling outside their home network.", ("roaming_traveller", "roaming_wanted")),
    Sentence("You are allowed to lift the suspension after the user has paid all their overdue bills.", ("resume_paid", "may_resume")),
    Sentence("You are not allowed to lift the suspension if the line's contract end date is in the past, even if the user has paid all their overdue bills.", ("resume_contract", "contract_read")),
    Sentence('You can add more data to the line by "refueling" data at a price per GB specified by the plan.', ("may_refuel", "may_refuel_agreed")),
    Sentence("The maximum amount of data that can be refueled is 2GB.", ("refuel_cap",)),
    Sentence("To refuel data you should:", ("amount_asked", "price_said", "price_agreed", "caller_line")),
    Sentence("Ask them how much data they want to refuel", ("amount_asked",)),
    Sentence("Know how much data they want to refuel", why="in solo mode the ticket says it, in free text"),
    Sentence("Confirm the price", ("price_said", "price_agreed"), "binds where there is a customer to confirm it"),
    Sentence("Apply the refueled data to the line associated with the phone number the user provided.", ("caller_line",)),
    *(Sentence(text, why=NO_TOOL) for text in (
        "Make sure you know what line the user wants to change the plan for.", "Gather available plans",
        "Ask the user to select one.", "Calculate the price of the new plan.", "Confirm the price.",
        "Find the plans compatible with the user's requirements.", "You can help the user change to a different plan.",
        "Apply the plan to the line associated with the phone number the user provided.",
    )),
    Sentence("If a user is traveling outside their home network, you should check if the line is roaming enabled.", ("roaming_read", "may_enable_roaming")),
    Sentence("If it is not, you should enable it at no cost for the user.", ("roaming_free",), "that it was left out shows in the official reward"),
    Sentence("You must first identify the customer.", ("identified", "caller_account")),
    # the technical documents
    Sentence("Make sure you try all the possible ways to resolve the user's issue before transferring to a human agent.", ("transfer_tried",), "that anything was tried is checked, whether all was is not"),
    Sentence("Make sure you try all the relevant resolution steps before transferring the user to a human agent.", ("transfer_tried",), "that anything was tried is checked, whether all was is not"),
    Sentence("You must understand those well since as part of technical support you will have to help the customer perform series of actions", why="what is understood is not done"),
    Sentence("Agents should guide users to perform these specific actions as needed during troubleshooting:", why=PHONE),
    Sentence("Each step includes specific actions you should take to check or modify settings.", why=PHONE),
    Sentence("When mobile data is unavailable a speed test should return 'no connection'.", why="what a tool of the phone answers"),
    Sentence("MMSC URL configuration (must be present for MMS to work)", why="what a tool of the phone shows"),
    Sentence("For mobile data to work, the user must first have **cellular service**.", why="a condition of the phone"),
    Sentence("For MMS to work, the user must have cellular service and mobile data (any speed).", why="a condition of the phone"),
    Sentence("First, ensure the user can make calls and that their mobile data is working for other apps (e.g., browsing the web).", why=PHONE),
    Sentence("Investigate if the line is suspended.", ("contract_read",), "read as: before the line is resumed"),
    Sentence("If the suspension cannot be lifted by the agent (e.g., due to contract end date as mentioned in general policy, or other reasons not resolvable by the agent), **escalate to technical support**.", ("resume_contract", "transfer_needed")),
    Sentence('If it shows "Locked" (due to incorrect PIN or PUK entries), **escalate to technical support for assistance with SIM security**.', ("transfer_needed",), "that a transfer was due is in the reference"),
    Sentence("Escalate to technical support for assistance with SIM security", ("transfer_needed",), "that a transfer was due is in the reference"),
    Sentence("Escalate to technical support.", ("transfer_needed",), "that a transfer was due is in the reference"),
    Sentence("Escalate to technical support", ("transfer_needed",), "that a transfer was due is in the reference"),
    Sentence("If there is still no connectivity, transfer to technical support.", ("transfer_needed",), "that a transfer was due is in the reference"),
    Sentence("If this is not the case, escalate to technical support.", ("transfer_needed",), "that a transfer was due is in the reference"),
    Sentence("If you cannot refuel data or change to plan with a higher data limit (not allowed or user does not want to):", ("price_agreed",), "a refuel against the customer's word is told"),
    Sentence("You should check that the line associated with the phone number the user provided is roaming enabled.", ("roaming_read",)),
    Sentence("Verify that the line associated with the phone number the user provided is roaming enabled.", ("roaming_read",)),
    Sentence("Check if, for the line associated with the phone number the user provided, the user's data usage has exceeded their data limit.", ("usage_read",)),
    Sentence("Ask the user whether they want to change another plan or refuel data.", ("amount_asked", "price_agreed")),
    Sentence("Check if user gave permission to change another plan or refuel data.", why="in solo mode the ticket says it, in free text"),
    Sentence("Ask the user if they are outside their usual service area.", why=WORDS),
    Sentence("Check if the user is outside their usual service area.", why="the user database says it; in solo mode the ticket does, in free text"),
)  # fmt: skip

FORMS = (
    (re.compile(r"\bguide (?:the user|them) to use `\w+\(|must be instructed to use `reboot_device\(\)`"), PHONE),
    (
        re.compile(
            r"^(?:Ask (?:the )?(?:user|them)|Check|Rerun|Verify|Try to|Grant|Run|Turn|Use)\b.*(?:status bar|speed test|service|connect|SIM|APN|"
            r"roaming|mobile data|airplane|data saver|data usage|network|VPN|Wi-Fi|MMS|app\b|device|check_sim_status)",
            re.IGNORECASE,
        ),
        PHONE,
    ),
    (re.compile(r"^\*\*(?:Check|Can Send|Run|Grant) [\w\s-]+\*\* - "), PHONE),
    (re.compile(r"^\*+(?:If|Specifically) .*:\*\*$|^If (?:the )?(?:line|status bar) "), ROUTE),
    (
        re.compile(r"\bproceed to step \d|\bfollow path \d|^path \d|^refer to (?:the|path|section)", re.IGNORECASE),
        ROUTE,
    ),
)
"""(form of a sentence of the technical documents, why no rule checks it)."""


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a policy document that ask, allow or forbid something."""
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        for sentence in _END.split(_MARK.sub("", line).strip()):
            if _NORM.search(sentence):
                yield sentence


def policy_sentences() -> dict[str, list[str]]:
    """Return the sentences of the installed policy that ask, allow or forbid, with the documents that have each."""
    found: dict[str, list[str]] = {}
    for document in (*MAIN, *TECHNICAL):
        text = (DATA_DIR / "tau2" / "domains" / "telecom" / document).read_text(encoding="utf-8")
        for sentence in sentences_of(text):
            held = found.setdefault(sentence, [])
            if document not in held:
                held.append(document)
    return found


def entry_of(sentence: str, documents: list[str]) -> Sentence | None:
    """Return what is checked of a sentence, None where the table does not have it."""
    for known in SENTENCES:
        if known.text == sentence:
            return known
    if not set(documents) & set(MAIN):
        for form, why in FORMS:
            if form.search(sentence):
                return Sentence(sentence, why=why)
    return None


def sentences_table() -> str:
    """Return every sentence of the installed policy with its rules, or why it has none, as Markdown."""
    lines = ["| sentence | in | rules | what no rule checks of it |", "|---|---|---|---|"]
    for sentence, documents in policy_sentences().items():
        entry = entry_of(sentence, documents)
        if entry is None:
            raise ValueError(f"a sentence of the policy has no entry in SENTENCES: {sentence!r}")
        told = sentence.replace("|", "\\|")
        rules = ", ".join(f"`{rule}`" for rule in entry.rules)
        lines.append(
            f"| {told} | {', '.join(name.removesuffix('.md') for name in documents)} | {rules} | {entry.why} |"
        )
    return "\n".join(lines)
