"""What an agent's message asks the customer to do on the phone: plain wording in, requests out.

No model and no tau2 in here: :func:`hear` is a pure function over the tables of :mod:`taulong.cases.grammar`. A message is
read clause by clause. Every clause is in a mood, told by how it begins, and only two moods act: ``ask`` (an instruction in
any of its shapes) and ``look`` (a question about what the phone shows). Offers, questions about the past or other people,
plans, notes read aloud, explanations, negations and fallbacks do nothing. :class:`Heard` tells the mood of every clause, so
that a fault of the reading can be found by anyone (``taulong hear "text"``).

* "Turn X off" is a wanted state, reached or left alone; the customer sees the switch.
* A condition on what the phone shows is looked at first; a fallback ("if that does not help") waits for its turn.
* A change is made once per message however often it is explained, unless its two states are both asked for.
* A missing argument is named, never guessed.
"""

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

from taulong.cases.grammar import (
    ACTING,
    APN_VALUE,
    APP,
    ASKS_TO_LOOK,
    AUXILIARY,
    BREAKS,
    CONDITIONS,
    CONNECTS,
    CYCLE,
    DO_THAT,
    ENGLISH,
    FALLBACK,
    FILLER,
    FINITE,
    FRAGMENT,
    GERUND,
    GERUNDS,
    GRANTING,
    INNER,
    INSISTS,
    INSTRUCTIONS_OFFERED,
    LABEL,
    LOOKING,
    MESSAGING,
    MODES,
    MOODS,
    NO_APP,
    NOT_MODES,
    NOUNS,
    NUMBER,
    OBJECTS,
    OPENERS,
    OPENING,
    OTHER_LANGUAGES,
    PATH,
    PERMISSION,
    PLAIN,
    PLAN,
    POLITE_IF,
    QUOTED,
    RESET,
    SAYS_WHAT,
    SENTENCE,
    SETTING,
    START_BY,
    STATE,
    STATE_AFTER,
    SUMMARY,
    SWITCHES,
    TABLE,
    TOLD,
    VERBS,
    VPN,
    WHETHER,
)

MEANINGS = {
    name: [(frozenset("|".join(VERBS.get(c, "") for c in classes.split()).split("|")), tool) for classes, tool in rows]
    for name, _, rows in OBJECTS
}
TOOLS = tuple(
    dict.fromkeys(tool for _, _, rows in OBJECTS for _, tool in rows if tool != "vpn") | dict.fromkeys(VPN.values())
)
TOKEN = re.compile(
    rf"\b(?:(?P<literal>{'|'.join(sorted(TOOLS, key=len, reverse=True))})\b(?:\((?P<inside>(?:[^()]|\([^()]*\))*)\))?|"
    + "|".join(f"(?P<{name}>(?:{pattern})(?!\\w))" for name, pattern, _ in OBJECTS)
    + r"|(?P<again>(?:try|attempt|send|test|retry|resend)(?: sending)?(?: (?:it|that|this|one|them))?(?: (?:once|one))?(?: (?:more )?(?:again|now|over|more)(?: time)?)"
    r"|(?:re-?try|re-?send)(?: it| that| now)?(?=[.,!?;]| and|$)|another (?:try|go|shot|attempt)|(?:test|try|send) it(?=[.,!?;]|$))"
    r"|(?P<pronoun>(?:it|this|that|them|these|both|one|those)\b)"
    + rf"|(?P<verb>(?:{'|'.join(sorted(set('|'.join(VERBS.values()).split('|')), key=len, reverse=True))})\b))"
)
CHANGES = frozenset(TOOLS) - {tool for tool in TOOLS if tool.startswith(("check_", "can_", "run_"))}


GERUND_RE = re.compile(rf"(?<!your )(?<!the )(?<!fi )(?<!fi-)(?<!my )\b(?:{GERUND})\b(?! apps?\b)")


@dataclass(frozen=True)
class MissingArgument:
    """A request the customer understood but cannot carry out as worded.

    Attributes:
        tool: the customer tool asked for.
        argument: the argument that the wording leaves open.
        known: the arguments it does give.
    """

    tool: str
    argument: str
    known: tuple = ()


@dataclass(frozen=True)
class Request:
    """One thing asked for.

    Attributes:
        tool: tool of the customer; ``verify`` is whatever shows whether the complaint is settled.
        arguments: of the call; None where one is missing.
        wanted: ``on`` or ``off``, the state that a switch shall be in; None where the tool is simply run.
        missing: name of the argument that the wording leaves open.
        when: (tool that looks, pattern that its answer must show) or None.
        look: whether the state is to be looked at and told in any case ("make sure that").
        clause: the words that ask.
    """

    tool: str
    arguments: dict | None = field(default_factory=dict, hash=False)
    wanted: str | None = None
    missing: str | None = None
    when: tuple[str, str] | None = None
    look: bool = False
    clause: str = ""

    @property
    def changes(self) -> bool:
        """Whether the tool changes the phone."""
        return self.tool in CHANGES


@dataclass(frozen=True)
class Clause:
    """One clause: its words, its mood, and what it asks for."""

    text: str
    mood: str
    requests: tuple[Request, ...] = ()


@dataclass(frozen=True)
class Heard:
    """What was heard in a message.

    Attributes:
        clauses: all of them, in the order of the text.
        requests: what is to be done, in the order in which it is to be done.
        english: False where the message is in another language.
        offered: what the message offers or speaks of, for a later "please go ahead".
    """

    clauses: tuple[Clause, ...] = ()
    requests: tuple[Request, ...] = ()
    english: bool = True
    offered: tuple[Request, ...] = ()

    def in_mood(self, *moods: str) -> list[str]:
        """Return the words of the clauses in one of the moods."""
        return [clause.text for clause in self.clauses if clause.mood in moods]


def requested_calls(text: str) -> tuple[tuple[str, dict] | MissingArgument, ...]:
    """Return the calls that a message asks for, in order, of a customer who sees no switch and looks at no condition."""
    return tuple(
        MissingArgument(request.tool, request.missing) if request.missing else (request.tool, request.arguments or {})
        for request in hear(text).requests
    )


@lru_cache(maxsize=4096)
def hear(text: str, offered: tuple[Request, ...] = ()) -> Heard:
    """Return what a message asks for.

    Args:
        text: the message.
        offered: what the message before it offered, see :class:`Heard`.
    """
    plain = text.translate(PLAIN)
    if not _is_english(plain):
        return Heard(english=False)
    reader = _Reader(plain, list(offered))
    for sentence in _sentences(plain):
        reader.read(sentence)
    return reader.heard()


def _is_english(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    if letters and sum(letter > "\u024f" for letter in letters) > 0.3 * len(letters):
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    return len(words) < 3 or sum(w in OTHER_LANGUAGES for w in words) <= max(1, sum(w in ENGLISH for w in words))


def _sentences(text: str) -> list[str]:
    """Return the sentences and list items of a message; the rows of a table are read as instructions where its head is one."""
    lines, table = [], []
    for line in [*QUOTED.sub(r"\1 quoted.", text).replace('"', "").split("\n"), ""]:
        if line.strip().startswith("|"):
            table.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        if table:
            lines += _table(table)
            table = []
        lines.append(PATH.sub(_path, line))
    return [piece for line in lines for piece in SENTENCE.split(line) if piece.strip()]


def _path(path: re.Match) -> str:
    """Return a path through menus ("Settings > Apps > Allow") as instructions."""
    first, *rest = [part.strip() for part in re.split(r">", path[0])]
    opened = (
        first
        if re.match(r"\W*(?:\d+\W+)?(?:please )?\w+", first) and set(first.lower().split()) & ACTING
        else f"open {first}"
    )
    return ", tap ".join([opened, *rest])


def _table(rows: list[list[str]]) -> list[str]:
    head = [cell.lower() for cell in rows[0]]
    asked = [i for i, cell in enumerate(head) if TABLE["asked"].search(cell)]
    named = [i for i, cell in enumerate(head) if TABLE["named"].search(cell) and i not in asked]
    lines = []
    for row in rows[1:]:
        cells = dict(enumerate(row))
        if all(set(cell) <= set("-: ") for cell in row) or any(TABLE["others"].match(cell.lower()) for cell in row):
            continue
        does = " ".join(cells.get(i, "") for i in asked)
        if not asked or TABLE["nothing"].match(does.lower().strip()):
            continue
        what = " ".join(cells.get(i, "") for i in named)
        question = "?" if "?" in what or "?" in does or any("?" in head[i] for i in asked) else ""
        lines.append(f"- {what}: {does}{question}" if what else f"- {does}")
    return lines


@dataclass
class _Reader:
    """The state of reading one message from its start to its end."""

    text: str
    offered: list[Request]
    clauses: list[Clause] = field(default_factory=list)
    found: list[tuple[int, Request]] = field(default_factory=list)
    topic: str | None = None
    spoken: list[Request] = field(default_factory=list)
    header: str | None = None  # mood of the list that is being read
    header_verb: str | None = None
    list_start: int | None = None
    looked: Request | None = None
    heard_text: str = ""
    summary: bool = False

    def read(self, sentence: str) -> None:
        """Add one sentence or list item."""
        item = bool(re.match(r"\s*(?:[-\u2022]|\(?\d+[.)]|step \d)", sentence, re.I))
        lowered = FILLER.sub(" ", WHETHER.sub(r"\1 whether", sentence.lower()))
        question = lowered.rstrip(" \"')").endswith("?")
        if not item and self.header and not lowered.rstrip().endswith(":"):
            self.header = self.header_verb = None
        begins = "guide you through" in self.text.lower() and not item and re.search(r"\bplease (?!let|note)", lowered)
        if self.list_start is not None and (begins or START_BY.search(lowered)):
            self._drop_plan()
        if item and self.list_start is None:
            self.list_start = len(self.clauses)
        mood, when, start, first = None, None, len(self.found), len(self.clauses)
        past = False
        self.summary = bool(SUMMARY.match(lowered))
        for lead, words in _clauses(lowered):
            mood, when, past = self._clause(lead, words, mood, when, question, item, past)
        if re.search(r"\bfirst\W*$", lowered) and len(self.found) > start + 1:
            self.found.insert(start, self.found.pop())
        self._drop_label(first, len(self.clauses), lowered)
        if lowered.rstrip().endswith(":") and not item:
            self.header = "plan" if PLAN.search(lowered) and mood != "ask" else mood
            if self.header in ("ask", "wait") and ASKS_TO_LOOK.search(lowered):
                self.header, self.header_verb = "look", "check"
            if self.header in ("tell", "aside", "when") or self.header is None:
                self.header = "tell" if TOLD.search(lowered) else None
        self.heard_text += lowered + " "

    def _drop_label(self, first: int, end: int, sentence: str) -> None:
        """Take back the title of a step ("Reset APN: if the settings are wrong, reset them") where the step itself follows."""
        if (
            end - first < 2
            or ":" not in sentence
            or not sentence.split(":")[0].endswith(self.clauses[first].text[-12:])
        ):
            return
        rest = self.clauses[first + 1 : end]
        if any(clause.requests or clause.mood in ("later", "when") for clause in rest):
            self._take_back(first)

    def _take_back(self, index: int, mood: str = "label") -> None:
        self.clauses[index] = Clause(self.clauses[index].text, mood)
        self.found = [(at, request) for at, request in self.found if at != index]

    def _drop_offer(self) -> None:
        """Take back what was only proposed, where the message ends in the offer to guide the customer through it."""
        offers = [i for i, c in enumerate(self.clauses) if c.mood == "consent" and INSTRUCTIONS_OFFERED.search(c.text)]
        for index, clause in enumerate(self.clauses[: offers[-1]] if offers else []):
            if any(request.changes for request in clause.requests) and not INSISTS.search(clause.text):
                self._take_back(index, "plan")

    def _drop_plan(self) -> None:
        """Take back the list read before "let's start by": it was a plan."""
        for index in range(self.list_start or 0, len(self.clauses)):
            clause = self.clauses[index]
            if any(request.changes for request in clause.requests):
                self._take_back(index, "plan")
        self.list_start = None

    def _clause(self, lead, words, before, when, question, item, past):
        opening = OPENING.match(words)
        while opening and opening.end() and opening.end() < len(words):
            if re.match(r"if (?:so|yes)\b", opening[0]) and self.looked is not None:
                when = self.looked
            self._mention(opening[0])
            words = words[opening.end() :]
            opening = OPENING.match(words)
        words = words.strip()
        if not words or NUMBER.fullmatch(words):
            return before, when, past
        mood = None
        if words.startswith(("if ", "unless ", "in case ")) or words.startswith("if,"):
            if POLITE_IF.match(words):
                mood = "aside"
            elif FALLBACK.match(words):
                mood, when = "later", "never"
            else:
                when = self._condition(words)
                mood = "when" if when else "later"
                when = when or "never"
            self.clauses.append(Clause(words, mood))
            self._mention(words)
            return (mood if mood != "aside" else before), when, past
        mood = self._mood(lead, words, before, question, item, past)
        if self.summary and mood in ("ask", "tell", "look") and not words.startswith("please"):
            mood = "tell"
        if when == "never" and mood in ("ask", "look"):
            mood = "later"
        requests: list[Request] = []
        if mood in ("ask", "look"):
            requests = self._read(words, "check" if mood == "look" else (self.header_verb if item else None), mood)
            if isinstance(when, Request | tuple) and when != "never":
                requests = [self._under(when, request) for request in requests]
            if mood == "look" and requests:
                self.looked = requests[-1]
                requests = [request for request in requests if not request.changes]
            else:
                self.spoken = [
                    request for request in requests if request.changes and not request.missing
                ] or self.spoken
        else:
            probe = GERUND_RE.sub(lambda gerund: GERUNDS[gerund[0]], words)
            spoken = [r for r in self._read(probe, None, "ask") if r.changes and not r.missing]
            self.spoken = spoken or self.spoken
            if mood == "consent":
                self.looked = None
        self.clauses.append(Clause(words, mood, tuple(requests)))
        self.found += [(len(self.clauses) - 1, request) for request in requests]
        if mood in ("ask", "look") and lead == "" and words.rstrip().endswith(":"):
            verb = [token["verb"] for token in TOKEN.finditer(words) if token["verb"]]
            self.header_verb = "check" if mood == "look" else (verb[-1] if verb else None)
        past = (past and mood == "aside") or bool(
            re.match(r"\w+ed\b|(?:since|as|because|now that|so far)\b.*(?:'ve|have|had|\w+ed)\b", words)
        )
        return mood, when, past

    def _mood(self, lead, words, before, question, item, past) -> str:
        """Return the mood of a clause from how it begins, its neighbour, and the list it stands in."""
        written = TOKEN.match(words)
        if written and written["literal"] and not TOLD.match(words, written.end()):
            return "ask"
        for mood, pattern in MOODS:
            if pattern.match(words):
                if mood == "bare":
                    mood = self._bare(lead, words, before, item, past)
                if mood == "?":
                    mood = "look" if question else "tell"
                if self.header in ("plan", "consent", "past") and item and mood in ("ask", "look"):
                    return self.header if self.header != "plan" else "plan"
                return mood
        if item and self.header in ("ask", "look", "plan", "consent", "past", "tell"):
            return self.header
        if item and self.header is None and FRAGMENT.match(words):
            return "look" if question else "ask"
        if question:
            return before if before in ("consent", "past") and lead in ("and", "or", "") else "look"
        if (
            before in ("ask", "look", "consent", "past", "later", "plan")
            and lead in ("and", "or")
            and not FINITE.match(words)
        ):
            return before
        return "ask" if FRAGMENT.match(words) and self.header != "plan" else "tell"

    def _bare(self, lead, words, before, item, past) -> str:
        """Return the mood of a clause that begins with a bare verb: an instruction, unless it goes on with its neighbour's."""
        if past and re.match(r"(?:reset|set|put|run|let|cut)\b", words):
            return "aside"
        if before == "purpose" and lead in ("and", "or") and not words.startswith("please"):
            return "purpose"
        if before == "not" and lead not in ("and", "or"):
            return "ask"
        if lead == ":":
            return "ask" if before in ("tell", "aside", "ask", "wait", None) else before
        if (
            lead
            and before in ("consent", "past", "tell", "not", "later", "plan", "quote", "offer")
            and not words.startswith("please")
        ):
            return before if not (before in ("tell", "aside", "quote") and re.search(r"so|then|but", lead)) else "ask"
        if before == "wait":
            return "ask"
        if before == "wait":
            return "ask"
        if lead == "," and before in ("consent", "past", "plan", "later"):
            return before
        return "ask"

    def _condition(self, words: str):
        """Return what a condition looks at: (tool, pattern its answer must show), or None where it is none of the phone's."""
        found = self._read(words, "check", "look")
        for pattern, look in CONDITIONS:
            if pattern.search(words):
                return look
        looks = [request for request in found if not request.changes and not request.missing]
        if looks and looks[0].tool not in ("verify", "can_send_mms", "reboot_device"):
            return looks[0]
        if STATE.search(words) and re.search(r"\b(?:it|that|this|they)(?:'s| is| are| isn't|'re)?\b", words):
            return self.looked or Request("verify")
        return None

    def _under(self, when, request: Request) -> Request:
        """Return a request under a condition; a wanted state carries its own."""
        if request.wanted or not request.changes:
            return request
        if isinstance(when, Request) and when.tool == "check_vpn_status":
            when = ("check_vpn_status", "VPN is ON")
        if isinstance(when, tuple):
            return replace(request, when=when)
        if request.tool == "reset_apn_settings" and when.tool == "check_apn_settings":
            return replace(request, when=("check_apn_settings", "Not Set"))
        return request

    def _mention(self, words: str) -> None:
        for token in TOKEN.finditer(words):
            if token.lastgroup in MEANINGS and token.lastgroup not in ("mms", "restart", "status_bar"):
                self.topic = token.lastgroup

    def _read(self, words: str, verb: str | None, mood: str) -> list[Request]:
        """Return the requests of one clause in an acting mood."""
        if mood == "ask":
            words = GERUND_RE.sub(lambda gerund: GERUNDS[gerund[0]], words)
            words = WHETHER.sub(r"\1 whether", words)
        asked: list[Request] = []
        given, start, reset = verb, 0, RESET.search(words)
        wanted_modes: set[str] = set()
        tokens = list(TOKEN.finditer(words))
        for place, token in enumerate(tokens):
            kind = token.lastgroup if token.lastgroup != "inside" else "literal"
            if token["literal"]:
                asked += self._literal(token, words)
                continue
            if kind == "verb" and verb in LOOKING | {"sure", "ensure", "certain"} and token["verb"] in AUXILIARY:
                continue
            if kind == "verb":
                if not (mood == "look" and given == "check" and token["verb"] not in ("send", "check", "try")):
                    verb, start = token["verb"], token.start()
                continue
            if kind == "again" and DO_THAT.search(words) and self.spoken:
                continue
            if kind == "again":
                asked.append(Request("verify", clause=words))
                continue
            name = kind
            if kind == "pronoun":
                name = self._pronoun(words, token, mood)
                if name == "spoken":
                    asked += [replace(r, clause=words) for r in (self.spoken or self.offered)]
                    continue
                if name is None:
                    continue
            elif kind not in ("mms", "restart", "status_bar"):
                self.topic = kind
            governing = verb
            if verb is None or (verb in OPENERS and kind != "restart"):
                after = next((t["verb"] for t in tokens[place + 1 :] if t["verb"]), None)
                governing = after or verb
            asked += self._means(name, governing, words, token, start, reset, mood, wanted_modes)
        if (
            not asked
            and mood == "ask"
            and reset
            and self.topic == "apn"
            and not re.search(r"\bnetwork settings\b", words)
        ):
            asked.append(Request("reset_apn_settings", clause=words))
        last = re.search(
            r"\b(?:last|bottom|final|highest|fastest|best) (?:one|option|entry|choice|available|setting)", words
        )
        if not asked and mood == "ask" and (self.topic in ("network_mode", "mode")) and last:
            asked.append(Request("set_network_mode_preference", {"mode": "4g_5g_preferred"}, clause=words))
        label = LABEL.match(words)
        if not asked and mood == "ask" and label:
            asked += self._labelled("off" if label["off"] else "on", bool(label["allow"]), words)
        if not asked and self.topic and SAYS_WHAT.search(words) and (tool := self._tool(self.topic, "check")):
            asked += self._with_arguments(tool, words, None, None)
        label = LABEL.match(words)
        if not asked and mood == "ask" and label:
            asked += self._labelled("off" if label["off"] else "on", bool(label["allow"]), words)
        if mood == "ask" and not asked and DO_THAT.search(words) and (self.spoken or self.offered):
            asked += [replace(request, clause=words) for request in (self.spoken or self.offered)]
        if re.match(r".*\bmake sure|.*\bensure|.*\bbe sure (?!to)|.*\bcertain", words):
            asked = [replace(request, look=True) if request.wanted else request for request in asked]
        return asked

    def _labelled(self, wanted: str, allow: bool, words: str) -> list[Request]:
        """Return what a tap on a label alone ("Off", "Allow") does where the message has led to."""
        if self.topic == "permission" and wanted == "on":
            return self._with_arguments("grant_app_permission", words, None, None)
        if self.topic in SWITCHES and not allow:
            return [Request(SWITCHES[self.topic], wanted=wanted, clause=words)]
        return []

    def _pronoun(self, words, token, mood) -> str | None:
        if mood != "ask":
            return None
        around = words[max(0, token.start() - 14) : token.end() + 18]
        if self.topic in SWITCHES or self.topic == "vpn":
            return self.topic if STATE.search(around) else None
        if self.topic in ("permission", "app_status", "apps") and re.search(
            r"\b(?:grant|allow|enable|turn|switch|activate|add|give)\b.{0,12}\b(?:it|that|this|them|one|both)\b", around
        ):
            return "permission"
        if self.topic == "sim" and re.search(r"\b(?:pull|take|pop|put|insert|remove|reinsert)\b", around):
            return "sim"
        if self.topic == "apn" and re.search(r"\breset(?:ting)? (?:it|that|them|this|those|both)\b", around):
            return "apn"
        if (
            self.topic in ("network_mode", "mode")
            and re.search(r"\b(?:set|change|switch|put|move|update)\b (?:it|that|this)\b", around)
            and not re.search(r"[2-9]g|lte", words)
        ):
            return "network_mode"
        return None

    def _means(self, name, verb, words, token, start, reset, mood, wanted_modes) -> list[Request]:
        """Return the requests that an object and its verb make."""
        before = words[: token.start()]
        state = _state(words, start, token)
        if name == "airplane" and re.search(r"\b(?:in|into|to) (?:the )?$", before):
            state = "on"
        if mood == "look":
            tool = self._tool(name, "check")
            return self._with_arguments(tool, words, None, state) if tool else []
        if name == "restart":
            if re.search(
                r"\b(?:a|the|another|quick|full|simple|plain|fresh|clean|device|phone)\W*$", before
            ) and verb in (None, "check", "see"):
                return [] if FINITE.search(words) else [Request("reboot_device", clause=words)]
            if re.search(r"\b(?:at|before|until|without|the next|last|that) $", before):
                return []
            return [Request("reboot_device", clause=words)]
        if name == "apn":
            if reset and verb not in ("check", "tell", "whether", "know"):
                return [Request("reset_apn_settings", clause=words)]
            if APN_VALUE.search(words):
                return self._with_arguments("set_apn_settings", words, None, state)
            if verb in LOOKING:
                return [Request("check_apn_settings", clause=words)]
            if verb in ("set", "change", "update", "configure", "adjust", "correct") and not re.search(
                r"\bfind|open|go to\b", words
            ):
                return [Request("set_apn_settings", None, missing="apn_settings", clause=words)]
            return []
        if name in ("mode", "network_mode"):
            if "mode" in wanted_modes:
                return []
            if verb in LOOKING and verb not in ("use", "using"):
                wanted_modes.add("mode") if name == "network_mode" else None
                return [Request("check_network_mode_preference", clause=words)] if name == "network_mode" else []
            mode = _mode(words)
            if mode and (verb in SETTING or verb is None or name == "network_mode"):
                wanted_modes.add("mode")
                return [Request("set_network_mode_preference", {"mode": mode}, clause=words)]
            if name == "network_mode" and verb in (
                "set",
                "change",
                "switch",
                "adjust",
                "update",
                "configure",
                "correct",
                "amend",
                "modify",
            ):
                wanted_modes.add("mode")
                return [Request("set_network_mode_preference", None, missing="mode", clause=words)]
            return []
        if name == "vpn":
            if verb in LOOKING:
                return [Request("check_vpn_status", clause=words)]
            off = state == "off" or verb in (
                "disconnect",
                "stop",
                "disable",
                "deactivate",
                "quit",
                "exit",
                "close",
                "kill",
                "shut",
            )
            on = (state == "on" and verb in CONNECTS) or verb in ("connect", "reconnect", "enable", "activate", "start")
            return [Request("disconnect_vpn" if off else "connect_vpn", clause=words)] if off or on else []
        if name in SWITCHES:
            return self._switch(name, verb, words, token, state)
        if name in ("permission", "mms"):
            granting = GRANTING.search(before)
            verb = granting[1] if granting else verb
            if name == "permission" and verb in OPENERS and not (state == "on" or re.search(r"\ballow", words)):
                return []
            if (
                name == "permission"
                and (verb is None or verb in ("update", "adjust", "change", "make"))
                and (state == "on" or re.search(r"\ballow", words))
            ):
                verb = "grant"
        if name == "permission" and state == "off" and re.search(r"\b(?:deny|disable|revoke|remove)\b", words):
            return []
        if name == "mms" and verb in ("grant", "let", "allow", "give", "provide", "permit"):
            name = "permission"
            if not re.search(r"\b(?:app|messages|messaging|texting|access|it)\b", before):
                return []
        if name == "mms" and verb is None and re.search(r"\b(?:test|try)\b", words):
            verb = "test"
        if (
            name == "sim"
            and verb in ("put", "take", "pull", "pop", "remove", "insert")
            and self.found
            and self.found[-1][1].tool == "reseat_sim_card"
        ):
            return []
        tool = self._tool(name, verb)
        return self._with_arguments(tool, words, None, state) if tool else []

    def _tool(self, name: str, verb: str | None) -> str | None:
        if verb is None and name in NOUNS:
            return NOUNS[name]
        return next((tool for verbs, tool in MEANINGS[name] if verb in verbs), None)

    def _switch(self, name, verb, words, token, state) -> list[Request]:
        tool = SWITCHES[name]
        cycle = (
            CYCLE.search(words, max(0, token.start() - 30)) if re.search(r"\b(?:on|off|in|into|out)\b", words) else None
        )
        if cycle:
            first = "on" if cycle[1] in ("on", "in", "into") else "off"
            return [Request(tool, wanted=w, clause=words) for w in (first, "off" if first == "on" else "on")]
        if name == "airplane" and re.search(
            r"\b(?:in|into) (?:the )?(?:air|aero|flight)\w*.*\b(?:take|bring|turn)\b.*\b(?:out|off)\b", words
        ):
            return [Request(tool, wanted=w, clause=words) for w in ("on", "off")]
        if name == "airplane" and re.search(r"\bout of (?:the )?(?:air|aero|flight)", words):
            return [Request(tool, wanted="off", clause=words)]
        if verb in LOOKING and not re.search(r"\b(?:make|be) sure|\bensure|\bcertain\b", words):
            return [Request(self._tool(name, "check") or "", clause=words)]
        if state is None:
            if verb in ("toggle", "flip"):
                both = ("on", "off") if name == "airplane" else (None,)
                return [Request(tool, wanted=w, clause=words) for w in both]
            return [Request(self._tool(name, "check") or "", clause=words)] if verb == "confirm" else []
        if verb in OPENERS and not re.search(r"\b(?:on|off|enable|disable)\b", words):
            return []
        if verb in ("use", "make", "try", "test", "help") and not re.search(r"\bsure\b", words):
            return []
        return [Request(tool, wanted=state, clause=words)]

    def _literal(self, token, words) -> list[Request]:
        if TOLD.match(words, token.end()):
            return []
        tool, inside = token["literal"], token["inside"]
        state = STATE_AFTER.search(words.replace(tool, " "))
        wanted = state and ("off" if state["off"] else "on")
        found = self._with_arguments(tool, words, inside, None)
        if tool in SWITCHES.values():
            found = [replace(request, wanted=wanted) for request in found]
        return found

    def _with_arguments(self, tool, words, inside, state) -> list[Request]:
        """Return one request per call, with its arguments, or with the name of the one that is missing."""
        heard = self.heard_text + words
        if tool == "set_network_mode_preference":
            mode = _written("mode", 0, inside) or (None if inside else _mode(words))
            return [Request(tool, {"mode": mode} if mode else None, missing=None if mode else "mode", clause=words)]
        if tool == "set_apn_settings":
            values = {re.sub(r"[ _]", "_", n.lower()): v.rstrip(".") for n, v in APN_VALUE.findall(self.text)}
            if "mmsc" in values:
                values["mmsc_url"] = values.pop("mmsc")
            if values.get("mms_port", "").isdecimal():
                values["mms_port"] = int(values["mms_port"])
            missing = None if values else "apn_settings"
            return [Request(tool, {"apn_settings": values} if values else None, missing=missing, clause=words)]
        if tool not in ("check_app_status", "check_app_permissions", "grant_app_permission"):
            return [Request(tool, clause=words)]
        spans = (words, heard, self.text.lower())
        app = _written("app_name", 0, inside) or next(filter(None, map(_app, spans)), None)
        known = {"app_name": app} if app else {}
        if tool != "grant_app_permission":
            return [Request(tool, known or None, missing=None if app else "app_name", clause=words)]
        literal = _written("permission", 1, inside)
        permissions = [literal] if literal else next(filter(None, map(_permissions, spans)), [])
        permissions = sorted(permissions, key=lambda permission: permission != "storage")  # the corrective one first
        if not permissions:
            return [Request(tool, None, missing="permission" if app else "app_name", clause=words)]
        return [
            Request(tool, {**known, "permission": permission}, missing=None if app else "app_name", clause=words)
            for permission in permissions
        ]

    def heard(self) -> Heard:
        """Return what the whole message asks for."""
        self._drop_offer()
        requests = _without_repeats([self._completed(request) for _, request in self.found])
        return Heard(tuple(self.clauses), requests, True, tuple(self.spoken) or tuple(self.offered))

    def _completed(self, request: Request) -> Request:
        if request.missing == "mode" and (mode := _mode(self.text.lower(), preferred=True)):
            return replace(request, arguments={"mode": mode}, missing=None)
        return request


def _clauses(sentence: str) -> list[tuple[str, str]]:
    """Return the clauses of a sentence, each with the word that joins it to the one before."""
    found, at, lead = [], 0, ""
    for match in BREAKS.finditer(sentence):
        found.append((lead, sentence[at : match.start()]))
        lead = ":" if (match["lead"] or "").startswith(":") else (match["lead"] or "").strip(" ,-") or ","
        at = match.end()
    found.append((lead, sentence[at:]))
    pieces = []
    for lead, words in found:
        inner = INNER.split(words)
        pieces.append((lead, inner[0]))
        pieces += [("inner", piece) for piece in inner[1:]]
    return [(lead, words) for lead, words in pieces if words.strip(" ,.:!?")]


def _state(words: str, start: int, token: re.Match) -> str | None:
    """Return the state that words want an object in: next to its verb, else after it, else anywhere."""
    before = words[: token.start()]
    alone = not any(t.lastgroup in MEANINGS for t in TOKEN.finditer(before, start))
    found = (
        (STATE.search(before, start) if alone else None)
        or STATE_AFTER.search(words, token.end())
        or STATE.search(before, start)
        or STATE.search(words)
    )
    return found and ("off" if found["off"] else "on")


def _mode(words: str, preferred: bool = False) -> str | None:
    """Return the network mode that words want, not the one they want to leave."""
    words = NOT_MODES.sub(" ", words)
    modes = MODES[:1] if preferred else MODES
    found = next((mode for mode, pattern in modes if pattern.search(words)), None)
    other = re.search(r"\b[6-9]g\b", words)
    return found or (other[0] if other and not preferred else None)


def _written(name: str, place: int, inside: str | None) -> str | None:
    """Return an argument written out in the brackets of a tool call, by name or by place."""
    if not inside:
        return None
    named = re.search(rf"\b{name}\W+(\w+)", inside)
    values = [value.strip(" \"'") for value in inside.split(",")]
    if named or "=" in inside or ":" in inside or place >= len(values):
        return named and named[1]
    return values[place] or None


def _app(span: str) -> str | None:
    names = [next(filter(None, match.groups())) for match in APP.finditer(span)]
    names = [name for name in names if name not in NO_APP]
    return ("messaging" if names[-1] in MESSAGING else names[-1]) if names else None


def _permissions(span: str) -> list[str]:
    matches = PERMISSION.finditer(span)
    return list(dict.fromkeys("storage" if match[1] else next(filter(None, match.groups())) for match in matches))


def _without_repeats(found: list[Request]) -> tuple[Request, ...]:
    """Return the requests without explanations of one that was already made."""
    kept: list[Request] = []
    changed = 0  # index after the last change: the same look is made again only after one
    served = {request.tool for request in found if not request.missing}
    for request in found:
        if request.missing and request.tool in served:
            continue
        if not request.changes:
            verify = request.tool in ("verify", "can_send_mms")
            same = [
                r
                for r in kept[changed:]
                if (r.tool, r.arguments) == (request.tool, request.arguments)
                or (verify and r.tool in ("verify", "can_send_mms"))
                or (request.tool == "verify" and r.tool == "run_speed_test")
            ]
            if same:
                continue
        else:
            states = [r.wanted for r in kept if (r.tool, r.arguments) == (request.tool, request.arguments)]
            if states and (request.wanted is None or None in states or request.wanted in states):
                continue
        kept.append(request)
        changed = changed if not request.changes else len(kept)
    return tuple(kept)
