"""What an agent's message asks the customer to do on the phone: plain wording in, tool calls out.

No model and no tau2 in here: :func:`requested_calls` is a pure function over the tables below. The reading rules:

* A sentence asks for something when a verb governs a topic ("turn off Wi-Fi Calling", "check the SIM and the APN
  settings"), when it is a question about a topic ("is data roaming on?") or when it names a tool. Topics of a statement
  ("I see that Wi-Fi Calling is on") are mentions.
* What stands under a negation, in a subordinate clause (after, once, before, without, ...) or in the agent's account of
  itself ("I have reset ...", "I can guide you ...") is not asked for.
* Under a condition nothing is changed: "if Wi-Fi Calling is on, turn it off" makes the customer look at Wi-Fi Calling
  and report, and the agent decides. "Make sure that roaming is on" is a look for the same reason.
* A change is made once per message however often its steps are explained, unless on and off are both asked for. "Turn
  X off" is one toggle: the phone's answer says which state it led to.
* A missing argument is named (:class:`MissingArgument`), never guessed.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

# --- the tables: verbs, and for every topic what each kind of verb means ----------------------------------------------

LOOK = frozenset(
    [
        "check",
        "look",
        "see",
        "tell",
        "know",
        "confirm",
        "verify",
        "view",
        "report",
        "show",
        "read",
        "find",
        "describe",
        "share",
        "provide",
        "review",
        "inspect",
        "ensure",
        "sure",
        "whether",
        "run",
        "perform",
        "do",
        "try",
        "test",
        "measure",
        "what",
        "which",
        "how",
    ]
)
SWITCH = frozenset(["turn", "switch", "toggle", "enable", "disable", "activate", "deactivate", "flip", "put", "set"])
SET = frozenset(["set", "change", "switch", "select", "choose", "adjust", "update", "put", "configure", "move"])
RESET = frozenset(["reset", "restore", "revert"])
RESEAT = frozenset(["reseat", "re-seat", "remove", "reinsert", "re-insert", "eject", "take", "pull", "pop"])
GRANT = frozenset(["grant", "allow", "give", "let", "enable", "turn", "switch", "toggle", "add", "activate"])
CONNECT = frozenset(["connect", "reconnect", "enable", "activate", "start"])
DISCONNECT = frozenset(["disconnect", "disable", "deactivate", "stop"])
SEND = frozenset(["send", "resend", "try", "retry", "attempt", "test", "whether"])
PAY = frozenset(["make", "complete", "pay", "accept", "submit", "approve"])
ITSELF = frozenset()  # the phrase is a request without a verb of its own

TOPICS = (  # (name, pattern, ((verbs, tool), ...)); at one place in the text the first that fits wins
    (
        "restart",
        r"(?:(?<!the )(?<!that )(?<!this )(?<!at )(?<!will )(?:reboot|restart)|power[- ]cycle)"
        r"(?! (?:the |your )?(?:\w+ )?app\b| (?:can|will|may|might|could|did|does|would))"
        r"|(?:turn|switch|power) (?:your |the )?(?:phone|device) off,? (?:and|then)[^.!?]{0,40}? on",
        ((ITSELF, "reboot_device"),),
    ),
    (
        "wifi_calling",
        r"wi-?fi[ -]call(?:ing|s)?",
        ((LOOK, "check_wifi_calling_status"), (SWITCH, "toggle_wifi_calling")),
    ),
    ("wifi", r"wi-?fi", ((LOOK, "check_wifi_status"), (SWITCH, "toggle_wifi"))),
    (
        "airplane",
        r"(?:air|aero)plane(?: mode| icon)?|flight mode",
        ((LOOK, "check_network_status"), (SWITCH, "toggle_airplane_mode")),
    ),
    ("roaming", r"(?:data |international )?roaming", ((LOOK, "check_network_status"), (SWITCH, "toggle_roaming"))),
    (
        "data_saver",
        r"data[ -]saver(?: mode)?",
        ((LOOK, "check_data_restriction_status"), (SWITCH, "toggle_data_saver_mode")),
    ),
    (
        "restriction",
        r"data[ -](?:usage )?(?:restrict\w+|limiting)|background data(?! usage settings)",
        ((LOOK, "check_data_restriction_status"),),
    ),
    ("speed", r"speed ?tests?|(?:internet|data|connection|download) speed", ((LOOK, "run_speed_test"),)),
    (
        "data",
        r"(?:mobile|cellular|your|phone's) data(?: connection)?(?! (?:plan|usage|limit|allowance|is used))",
        ((LOOK, "check_network_status"), (SWITCH, "toggle_data")),
    ),
    (
        "vpn_off",
        r"off (?:\w+ ){0,3}vpn|vpn (?:\w+ ){0,2}off|(?<=disconnect )it",
        ((SWITCH | DISCONNECT, "disconnect_vpn"), (LOOK, "check_vpn_status")),
    ),
    (
        "vpn_on",
        r"on (?:\w+ ){0,3}vpn|vpn (?:back )?on",
        ((SWITCH | CONNECT, "connect_vpn"), (LOOK, "check_vpn_status")),
    ),
    (
        "vpn",
        r"vpn|virtual private network",
        ((CONNECT, "connect_vpn"), (DISCONNECT, "disconnect_vpn"), (LOOK, "check_vpn_status")),
    ),
    ("apn_default", r"apn (?:settings )?(?:back )?to (?:\w+ )?defaults?", ((SET | RESET, "reset_apn_settings"),)),
    (
        "apn",
        r"(?:apn|access point names?|mmsc)(?! name to| url to)",
        ((RESET, "reset_apn_settings"), (LOOK, "check_apn_settings"), (SET, "set_apn_settings")),
    ),
    ("apn_field", r"(?:apn name|mmsc(?: url)?|mms (?:apn|proxy|port)) to", ((SET, "set_apn_settings"),)),
    (
        "network_mode",
        r"network[ -](?:mode|type)(?: preference)?|preferred network(?: mode| type)?"
        r"|network preferences?|type of (?:cellular |mobile )?network",
        ((SET, "set_network_mode_preference"), (LOOK, "check_network_mode_preference")),
    ),
    (
        "mode",
        r"4g[_/]5g\w*|[2-5]g[_ ]only|lte[_ -]only|(?:[2-5]g|lte)(?=[ ./,]|$)",
        ((SET, "set_network_mode_preference"),),
    ),
    ("sim", r"sim(?:[ -]card)?", ((RESEAT, "reseat_sim_card"), (LOOK, "check_sim_status"))),
    (
        "status_bar",
        r"status bar|top of (?:your |the )?(?:phone'?s? )?screen|signal(?: strength| bars?)?|icons?",
        ((LOOK, "check_status_bar"),),
    ),
    (
        "network_status",
        r"(?:cellular |mobile )?network (?:connection|status)|cellular connection|connection status",
        ((LOOK, "check_network_status"),),
    ),
    (
        "app_status",
        r"app status|\w+ app(?:'s)? status|status of (?:the |your )?\w+ app|background data usage settings",
        ((LOOK, "check_app_status"),),
    ),
    (
        "apps",
        r"installed app\w*|(?:apps|applications) (?:\w+ ){0,3}installed|list of (?:\w+ )?apps",
        ((LOOK, "check_installed_apps"),),
    ),
    (
        "permission",
        r"permissions?|storage|sms(?! message)|access to",
        ((GRANT, "grant_app_permission"), (LOOK, "check_app_permissions")),
    ),
    ("request", r"payment request", ((LOOK, "check_payment_request"), (PAY, "make_payment"))),
    ("payment", r"payment", ((PAY, "make_payment"),)),
    ("pay", r"pay (?:it|now|this|that|your|the)", ((ITSELF, "make_payment"),)),
    (
        "mms",
        r"mms|picture messag\w+|multimedia messag\w+|(?:a |the |your )?(?:picture|photo)s?(?: message)?",
        ((SEND, "can_send_mms"), (LOOK & {"check", "verify", "confirm"}, "can_send_mms")),
    ),
    (
        "pronoun",
        r"(?:it|this|that)(?= (?:back )?(?:on|off)\b)|(?<=on )(?:it|this|that)|(?<=off )(?:it|this|that)",
        ((SWITCH, "pronoun"),),
    ),
)
TOOLS = tuple(dict.fromkeys(tool for _, _, meanings in TOPICS for _, tool in meanings if tool != "pronoun"))
MEANINGS = {name: meanings for name, _, meanings in TOPICS}
SWITCHES = {name: tool for name, _, meanings in TOPICS for verbs, tool in meanings if verbs is SWITCH and tool in TOOLS}
VERBS = LOOK.union(SWITCH, SET, RESET, RESEAT, GRANT, CONNECT, DISCONNECT, SEND, PAY)
GERUNDS = {
    form: verb
    for verb in sorted(VERBS | {"reboot", "restart", "power-cycle"})
    for form in (f"{verb}ing", f"{verb.removesuffix('e')}ing", f"{verb}{verb[-1]}ing")
}

# --- reading ----------------------------------------------------------------------------------------------------------

PLAIN = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2011": "-",
        "\u2010": "-",
        "\u2013": "-",
        "\u2014": ",",
        "*": "",
        "`": "",
        "\u00a0": " ",
    }
)
SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+|\n+|;")
STOP_HERE = r"(?=[,.:!?\n]|\b(?:but|so|please|just|instead|could you|can you)\b|$)"
GERUND = re.compile(r"\b(?:" + "|".join(sorted(GERUNDS, key=len, reverse=True)) + r")\b")
TRYING = re.compile(  # after these an -ing form is a request, elsewhere it tells of something
    r"\b(?:try|recommend|suggest|advise|consider|mind|(?:start|begin)(?:ing)? (?:by|with)|proceed with)\b[^.!?;\n]*"
)
REWRITES = (  # wording that only dresses a request, or a question that looks like a condition
    (re.compile(r"\b(check|see|know|confirm|verify|tell me|sure|determine|find out|test|look) if\b"), r"\1 whether"),
    (
        re.compile(
            r"\b(?:i(?:'d| would|'ll| will)? (?:need|like|want|ask) you to|i(?:'d| would)? (?:recommend|suggest"
            r"|advise)(?: that)?(?: you)?|we(?:'ll| will)? (?:need|have) to|we (?:should|must))\b"
        ),
        "please",
    ),
    (re.compile(r"\bhere(?:'s| is| are)[^.:!?\n]*? (?:how to|how you can|steps to|instructions to)\b"), "please"),
    (re.compile(r"\bdon't (?:worry|forget to|hesitate to)\b"), "please"),
    (re.compile(r"\bfrom (?:\w+ )?(?:[2-5]g|lte)(?: only)? to\b"), "to"),
)
PERFECT = r"(?: now| currently| still)? (?:re)?(?:set|run|put)\b"  # "has reset", "is currently set"
MUTED = re.compile(
    r"\b(?:"
    + "|".join(
        (
            r"if (?:you (?:can|could|don't|would|wish|haven't|need|want|like|prefer|are|aren't)\b|you'(?:d|re)\b|possible)"
            r"[^,.!?\n]*",
            r"(?:since|as|because|now that) (?:you|we)(?:'ve| have) .*?"  # a list of what was done goes on past its commas
            r"(?=, (?:let|please|could|can|would|the|there|this|it|you|we|i|next|try|turn|check|run)\b|[.!?\n]|$)",
            r"(?:(?<!or )not|never|without|avoid|instead of|rather than|no need to)\b.*?" + STOP_HERE,
            r"(?:thank(?:s| you) for|(?:great|good|nice) job|after|once|when|whenever|before|while|since|because|as|now that"
            r"|until|by|how to|such as)\b.*?" + STOP_HERE,
            r"(?:i|we)(?:'ve|'ll|'m|'d|'re)?(?= ).*?(?=[,.:!?\n]|\b(?:but|so|please|could you|can you)\b|$)",
            r"(?:this|that|it|which|they|these|settings|phone|you) (?:will|would|may|might|(?:should|can) now)\b"
            r".*?(?=[,.:!?\n]|$)",
            rf"(?:have|has|had|already|is|are|was|were|been|being|be|get|got){PERFECT})",
        )
    )
    + rf"|n't\b.*?{STOP_HERE}|'(?:ve|s|re){PERFECT}"
)
STATE = re.compile(r"\b(?:(off|disabl\w+|deactivat\w+)|on|enabl\w+|activat\w+)\b")
CONDITION = re.compile(r"\b(?:if|unless|otherwise|in (?:that )?case)\b([^,]*)")
CYCLE = re.compile(
    r" (on|off)(?:,| and| then| wait| a| few| for| about| \d+| seconds?| turn| switch| it| back)+"
    r" (?!\1)(on|off)\b(?=$|[,.!?]| again| after| for)"
)
TOLD = re.compile(r" ?(?:\([^)]*\) ?)?(?:results?|has|was|is|shows|showed|returned|did|answer|says|said)\b")
TOKEN = re.compile(
    rf"\b(?:(?P<literal>{'|'.join(sorted(TOOLS, key=len, reverse=True))})\b(?:\((?P<inside>(?:[^()]|\([^()]*\))*)\))?|"
    + "|".join(f"(?P<{name}>(?:{pattern})(?!\\w))" for name, pattern, _ in TOPICS)
    + rf"|(?P<verb>{'|'.join(sorted(VERBS, key=len, reverse=True))})\b)"
)
SWITCH_TOPIC = re.compile(r"\b(?:" + "|".join(f"(?P<{n}>{p})" for n, p, _ in TOPICS if n in SWITCHES) + ")")
LISTED = re.compile(r"\s*(?:[-\u2022]|\d+[.)]?(?:\s|$))")
MODES = (
    ("4g_5g_preferred", re.compile(r"4g_5g|5g(?![_ ]only)|(?:4g|lte) preferred|automatic")),
    ("4g_only", re.compile(r"4g|lte")),
    ("3g_only", re.compile(r"3g")),
    ("2g_only", re.compile(r"2g")),
)
APP = re.compile(
    r"\bapp (?:called |named )\W?(\w+)|\b(\w+)\W?(?:'s)? app\b"
    r"|\b(?:for|to|let|allow|give) (?:\w+ )?(messag\w+)\b"
)
NO_APP = frozenset(
    [
        "the",
        "your",
        "this",
        "that",
        "an",
        "each",
        "every",
        "any",
        "which",
        "what",
        "default",
        "relevant",
        "same",
        "of",
        "and",
        "or",
        "other",
    ]
)
MESSAGING = frozenset(["messaging", "message", "messages", "text", "texting", "sms", "mms"])
PERMISSION = re.compile(
    r"\b(?:(storage|files|photos|media)|(sms)(?! app)|(?<!your )(?<!the )(?<!this )(phone|network)"
    r"(?= permission| access|,| and)|(camera|location|contacts|microphone))\b"
)
APN_VALUE = re.compile(
    r"\b(apn[ _]name|mmsc(?:[ _]url)?|mms[ _](?:apn|proxy|port))[\"']?\s*(?:[:=]|to|is|as)\s*"
    r"[\"']?([^\s\"',;)}]+)",
    re.I,
)


@dataclass(frozen=True)
class MissingArgument:
    """A request the customer understood but cannot carry out as worded.

    Attributes:
        tool: the customer tool asked for.
        argument: the argument that the wording leaves open.
    """

    tool: str
    argument: str


@lru_cache(maxsize=4096)
def requested_calls(text: str) -> tuple[tuple[str, dict] | MissingArgument, ...]:
    """Return what an agent's message asks the customer to do, in the order of the text.

    Each item is (tool name, arguments) or a MissingArgument. Results are shared: copy arguments before changing them.
    """
    text = text.translate(PLAIN)
    lowered = text.lower()
    lowered = TRYING.sub(lambda tried: GERUND.sub(lambda gerund: GERUNDS[gerund[0]], tried[0]), lowered)
    for pattern, plain in REWRITES:
        lowered = pattern.sub(plain, lowered)
    found, end, verb, listing = [], 0, None, False
    for sentence in SENTENCE.split(lowered):
        start = lowered.index(sentence, end)
        end = start + len(sentence)
        live = MUTED.sub(lambda match: " " * len(match[0]), sentence)
        if not (listing and LISTED.match(sentence)):
            verb = "check" if sentence.endswith("?") else None
            listing = sentence.rstrip().endswith(":")
        condition = CONDITION.search(live)
        if condition is None:
            asked, verb = _read(live, verb, lowered[:end], text)
        else:
            before = live[: condition.start()].rstrip()
            apart = before.endswith((",", "and", ":"))  # "check X, and if ...": what stands before has no condition
            asked = [request for request in _read(before, verb, lowered[:end], text)[0] if apart or _looks(request)]
            asked += [request for request in _read(condition[1], "check", lowered[:end], text)[0] if _looks(request)]
        found += asked
    return _without_repeats(found)


def _read(live: str, verb: str | None, heard: str, text: str) -> tuple[list[tuple], str | None]:
    """Return the requests of one sentence as (tool, arguments or missing name, wanted state), and its last verb."""
    asked, verb_start = [], 0
    for token in TOKEN.finditer(live):
        topic = "literal" if token["literal"] else token.lastgroup
        if topic == "verb":
            verb, verb_start = token["verb"], token.start()
            continue
        if topic == "literal":
            tool = None if TOLD.match(live, token.end("literal")) else token["literal"]
            clause, state = token["inside"] or live[token.start() :], None
        else:
            tool = next((tool for verbs, tool in MEANINGS[topic] if verbs is ITSELF or verb in verbs), None)
            clause, state = live, STATE.search(live, verb_start, token.end() + 12)
            state = state and ("off" if state[1] else "on")
        if tool == "pronoun":
            mentioned = [m.lastgroup for m in SWITCH_TOPIC.finditer(heard[: len(heard) - len(live) + token.start()])]
            tool = SWITCHES[mentioned[-1]] if mentioned else None
        if tool is None or (tool == "grant_app_permission" and state == "off"):
            continue
        cycle = tool in SWITCHES.values() and CYCLE.match(live, token.end())
        for wanted in cycle.groups() if cycle else (state,):
            asked += [(tool, found, wanted) for found in _arguments(tool, token["inside"], (clause, heard, text))]
    return asked, verb


def _arguments(tool: str, inside: str | None, spans: tuple[str, str, str]) -> list[dict | str]:
    """Return one dictionary of arguments per call asked for, or the name of the argument that is missing."""
    if tool == "set_network_mode_preference":
        mode = _literal("mode", 0, inside) or next((mode for mode, words in MODES if words.search(spans[0])), None)
        return [{"mode": mode}] if mode else ["mode"]
    if tool == "set_apn_settings":
        values = {re.sub(r"[ _]", "_", name.lower()): value.rstrip(".") for name, value in APN_VALUE.findall(spans[2])}
        if "mmsc" in values:
            values["mmsc_url"] = values.pop("mmsc")
        if values.get("mms_port", "").isdecimal():
            values["mms_port"] = int(values["mms_port"])
        return [{"apn_settings": values}] if values else ["apn_settings"]
    if tool not in ("check_app_status", "check_app_permissions", "grant_app_permission"):
        return [{}]
    app = _literal("app_name", 0, inside) or next(filter(None, map(_app, spans)), None)
    if app is None:
        return ["app_name"]
    if tool != "grant_app_permission":
        return [{"app_name": app}]
    permission = _literal("permission", 1, inside)
    permissions = [permission] if permission else next(filter(None, map(_permissions, spans)), ())
    return [{"app_name": app, "permission": permission} for permission in permissions] or ["permission"]


def _literal(name: str, place: int, inside: str | None) -> str | None:
    """Return an argument written out in the brackets of a tool call, by name or by place."""
    if not inside:
        return None
    named = re.search(rf"\b{name}\W+(\w+)", inside)
    values = [value.strip(" \"'") for value in inside.split(",")]
    if named or "=" in inside or ":" in inside or place >= len(values):
        return named and named[1]
    return values[place]


def _app(span: str) -> str | None:
    names = [next(filter(None, match.groups())) for match in APP.finditer(span.lower())]
    names = [name for name in names if name not in NO_APP]
    return ("messaging" if names[-1] in MESSAGING else names[-1]) if names else None


def _permissions(span: str) -> list[str]:
    matches = PERMISSION.finditer(span.lower())
    return list(dict.fromkeys("storage" if match[1] else next(filter(None, match.groups())) for match in matches))


def _looks(request: tuple) -> bool:
    return request[0].startswith(("check_", "can_", "run_"))


def _without_repeats(found: list[tuple]) -> tuple:
    """Return the requests without explanations of one that was already made (see the module's rules)."""
    kept: list[tuple] = []
    changed = 0  # index after the last change: the same look is made again only after one
    served = {tool for tool, arguments, _ in found if isinstance(arguments, dict)}
    for request in found:
        tool, arguments, state = request
        if _looks(request):
            repeated = request[:2] in [earlier[:2] for earlier in kept[changed:]]
        else:
            states = [earlier[2] for earlier in kept if earlier[:2] == request[:2]]
            repeated = bool(states) and (state is None or None in states or state in states)
        if repeated or (isinstance(arguments, str) and tool in served):
            continue
        kept.append(request)
        changed = changed if _looks(request) else len(kept)
    return tuple((tool, a) if isinstance(a, dict) else MissingArgument(tool, a) for tool, a, _ in kept)
