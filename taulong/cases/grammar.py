"""The grammar of the scripted customer, as data: objects of the phone, verbs, and the moods that a clause can be in.

Read by :mod:`taulong.cases.requests`; every table is tried in its order and the first row that fits wins.
"""

import re

# --- verbs: class -> words ---------------------------------------------------------------------------------------------

VERBS = {
    "look": "check|look|see|tell|know|confirm|verify|view|report|show|read|find|describe|share|provide|review|inspect|"
    "list|whether|what|what's|which|how|say|double-check|examine|name|advise|inform|compare|note|use|using|is|are|does|do",
    "ensure": "ensure|sure|certain",
    "run": "run|perform|do|carry|execute|test|measure|take|rerun|re-run",
    "switch": "turn|switch|toggle|enable|disable|activate|deactivate|flip|put|set|tap|keep|leave|kill|shut|slide|untick|"
    "uncheck|move|change|have|get|pop|take",
    "set": "set|change|switch|select|choose|adjust|update|put|configure|move|pick|go|use|prefer|tap|make|amend|correct|"
    "have|let|get|favour|modify|place|opt|allow|return|bring|bump|raise",
    "reset": "reset|restore|revert|resets|wipe|set|put|return|bring|clear|tap|choose|select|pick|use|hit|press|perform|do|give|"
    "have|try|change|load|make|run|get|go|need|like",
    "reseat": "reseat|re-seat|remove|reinsert|re-insert|eject|take|pull|pop|reinstall|insert|put|do|perform",
    "grant": "grant|allow|give|let|enable|turn|switch|toggle|add|activate|permit|set|tap|approve|accept|authorise|"
    "authorize|choose|select|tick|put|make|get|flip|change|provide",
    "connect": "connect|reconnect|enable|activate|start|turn|switch",
    "disconnect": "disconnect|disable|deactivate|stop|turn|switch|quit|exit|close|kill|shut",
    "restart": "reboot|restart|power-cycle|power|turn|switch|do|perform|give|try|have|shut|hold|get",
    "send": "send|resend|try|retry|attempt|test|whether|check|verify|confirm|give|re-send|do|goes|go|sends|"
    "sent|shoot|fire|can|sending|run",
    "pay": "make|complete|pay|accept|submit|approve|settle",
    "open": "open|go|head|navigate|scroll|swipe|find|tap|press|locate|visit|access|hit|click|look|pull|hold|wait|confirm|"
    "choose|select|pick|launch|enter|dial|count|back|drag|unlock",
    "wait": "hold|wait|bear|stay|stand|let|give|allow|rest|remember|feel|note|accept|keep|enjoy|take|contact|call|reach|"
    "ask|come|continue|proceed|follow|complete|start|begin|try|help|reply|respond|answer|write|type|message|text|visit|"
    "tell|say|speak|thank|have|be|forgive|excuse|pardon|report|work|repeat",
}
IRREGULAR = {  # bare form -> -ing form, where doubling or a mute e does not give it
    "set": "setting",
    "put": "putting",
    "get": "getting",
    "run": "running",
    "let": "letting",
    "go": "going",
    "tie": "tying",
}
WORDS = frozenset(word for words in VERBS.values() for word in words.split("|"))
ACTING = WORDS - frozenset(
    [
        "whether",
        "what",
        "what's",
        "which",
        "how",
        "is",
        "are",
        "does",
        "using",
        "goes",
        "sends",
        "sent",
        "sure",
        "certain",
        "sending",
    ]
)
GERUNDS = {
    form: verb
    for verb in sorted(ACTING - {"message", "text", "call"})
    for form in (
        f"{verb}ing",
        f"{verb.removesuffix('e')}ing",
        f"{verb}{verb[-1]}ing",
        IRREGULAR.get(verb, f"{verb}ing"),
    )
}
IMPERATIVE = "|".join(
    sorted(ACTING - {"do", "have", "be", "use", "is", "are"} | {"do", "have", "use"}, key=len, reverse=True)
)
GERUND = "|".join(sorted(GERUNDS, key=len, reverse=True))

# --- objects: (name, pattern, ((verb classes, tool), ...)) ----------------------------------------------------------------

OBJECTS = (
    (
        "restart",
        r"(?:re-?boot|re-?start)(?:s|ed)?(?! (?:the |your )?(?:\w+ )?app\b)|power[- ]cycle|(?:fresh|clean) start"
        r"|(?:turn|switch|power|shut)(?:ing)? (?:(?:your |the )?(?:phone|device|handset|it)(?: completely)? (?:off|down)"
        r"|(?:off|down) (?:your |the )?(?:phone|device|handset|it))\b,?[^.!?]{0,60}?\b(?:on|start it)\b(?: again)?"
        r"|(?:turn|switch|power) (?:your |the )?(?:phone|device|handset) off and on"
        r"|(?:power|turn|switch) (?:your |the )?(?:phone|device|handset) (?:completely )?(?:off|down)|power(?:ing)? off|powered (?:your |the )?phone off",
        (("restart look run", "reboot_device"),),
    ),
    (
        "wifi_calling",
        r"(?:wi-?fi|wlan)[ -]?call(?:ing|s)?|calling over wi-?fi",
        (("switch", "toggle_wifi_calling"), ("look", "check_wifi_calling_status")),
    ),
    ("wifi", r"wi-?fi(?! network)", (("switch", "toggle_wifi"), ("look", "check_wifi_status"))),
    (
        "airplane",
        r"(?:air|aero)plane(?: mode)?(?: icon)?|flight mode",
        (("switch", "toggle_airplane_mode"), ("look", "check_network_status")),
    ),
    ("roaming", r"(?:data |international )?roaming", (("switch", "toggle_roaming"), ("look", "check_network_status"))),
    (
        "data_saver",
        r"data[ -]saver(?: mode)?",
        (("switch", "toggle_data_saver_mode"), ("look", "check_data_restriction_status")),
    ),
    (
        "restriction",
        r"data[ -](?:usage )?(?:restrict\w+|limiting)|background data(?! usage settings)",
        (("look", "check_data_restriction_status"),),
    ),
    ("speed", r"speed ?-?tests?|(?:internet|data|connection|download) speed", (("run look", "run_speed_test"),)),
    (
        "data",
        r"(?:mobile|cellular|phone's|your)[ -]data(?: connection| icon)?"
        r"(?! (?:saver|restrict|roaming|plan|usage|limit|allowance|speed|is used|issue|problem|balance|service|icon))",
        (("switch", "toggle_data"), ("look", "check_network_status")),
    ),
    (
        "vpn",
        r"vpn(?: connection| app)?|virtual private network",
        (("vpn", "vpn"), ("look", "check_vpn_status")),
    ),
    (
        "apn",
        r"apns?\b(?: settings?| configuration| screen)?|access point(?: names?)?(?: settings?)?(?: \(apns?\))?|mmsc(?: url| address)?",
        (("reset", "reset_apn_settings"), ("set", "set_apn_settings"), ("look", "check_apn_settings")),
    ),
    (
        "network_mode",
        r"(?:preferred )?network[ -](?:mode|type|preference|technology)s?(?: preference| setting| settings)?(?! (?:is )?(?:shown|displayed|that's displayed))"
        r"|preferred network(?: mode| type)?|network preferences?|type of (?:cellular |mobile )?network|mode preference",
        (("set", "set_network_mode_preference"), ("look", "check_network_mode_preference")),
    ),
    (
        "mode",
        r"4g[_ ]?/?[_ ]?5g\w*(?: preferred)?|[2-9]g[_ ]only|lte[_ -]only|(?:[2-9]g|lte)(?=[ ./,)]|$)",
        (("set", "set_network_mode_preference"),),
    ),
    ("sim", r"sim(?:[ -]card|[ -]tray)?s?(?! settings)", (("reseat", "reseat_sim_card"), ("look", "check_sim_status"))),
    (
        "status_bar",
        r"status bar|(?:at|on|across|along) (?:the |your )?(?:very )?top(?: of (?:your |the )?(?:phone'?s? |mobile )?(?:screen|display|phone))?|top of (?:your |the )?(?:phone'?s? )?screen"
        r"|signal(?: strength| bars?)?|(?:signal )?bars|icons?|have service|network type (?:is )?(?:shown|displayed)",
        (("look run", "check_status_bar"),),
    ),
    (
        "network_status",
        r"(?:cellular |mobile )?network (?:connection|status)|cellular connection|connection status",
        (("look run", "check_network_status"),),
    ),
    (
        "app_status",
        r"app status|\w+ app(?:'s)? status|status of (?:the |your )?\w+ app|background data usage settings",
        (("look run", "check_app_status"),),
    ),
    (
        "apps",
        r"installed app\w*|(?:apps|applications) (?:\w+ ){0,3}installed|list of (?:\w+ )?apps",
        (("look run", "check_installed_apps"),),
    ),
    (
        "permission",
        r"(?:app )?permissions?|storage|sms(?! message)|access (?:to|your|photos)|(?:photos?|files?|media|full|storage) access",
        (("grant", "grant_app_permission"), ("look", "check_app_permissions")),
    ),
    (
        "request",
        r"(?:payment|bill payment) requests?",
        (("pay", "make_payment"), ("look open", "check_payment_request")),
    ),
    (
        "payment",
        r"payment(?! method)|(?<=pay )(?:it|now|this|that|your|the)(?: \w+)? ?bill|(?<=pay )(?:it|now|this|that|your|the)",
        (("pay", "make_payment"),),
    ),
    (
        "mms",
        r"mms(?:es)?(?: messages?)?|(?:picture|multimedia|photo|test)[- ]messag\w+|(?:a |the |your |that |another )?(?:test )?(?:pictures?|photos?|pics?|images?)(?: messages?| text)?",
        (("send", "can_send_mms"),),
    ),
)
"""Verb class ``vpn`` is told by the wanted state: :data:`VPN`."""
VPN = {"on": "connect_vpn", "off": "disconnect_vpn"}
SWITCHES = {  # object -> (tool, attribute of the phone)
    "wifi_calling": "toggle_wifi_calling",
    "wifi": "toggle_wifi",
    "airplane": "toggle_airplane_mode",
    "roaming": "toggle_roaming",
    "data_saver": "toggle_data_saver_mode",
    "data": "toggle_data",
}
PHONE = {  # switch -> (field of the phone's state, tool that shows it, what the tool shows where it is on)
    "toggle_wifi_calling": ("wifi_calling_enabled", "check_wifi_calling_status", "turned ON"),
    "toggle_wifi": ("wifi_enabled", "check_wifi_status", "Wi-Fi is ON"),
    "toggle_airplane_mode": ("airplane_mode", "check_network_status", "Airplane Mode: ON"),
    "toggle_roaming": ("roaming_enabled", "check_network_status", "Data Roaming Enabled: Yes"),
    "toggle_data": ("data_enabled", "check_network_status", "Mobile Data Enabled: Yes"),
    "toggle_data_saver_mode": ("data_saver_mode", "check_data_restriction_status", "Data Saver mode is ON"),
}

# --- words ------------------------------------------------------------------------------------------------------------

PLAIN = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2011": "-",
        "\u2010": "-",
        "\u2013": "-",
        "\u2014": " - ",
    }
    | {"\u2026": ".", "\u2192": ">", "\u203a": ">", "\u00bb": ">", "*": "", "`": "", "\u00a0": " ", "\u22ee": " "}
    | dict.fromkeys("\u2610\u2705\u2611\U0001f642\u2708\ufe0f\U0001f4f5", " ")
)
SENTENCE = re.compile(r"(?<=[.!?])[\"')]*(?<!e\.g\.)(?<!i\.e\.)(?<!\d\.)\s+|\n+|;")
LOOKING = frozenset([*VERBS["look"].split("|"), "run", "perform"]) - {"use", "do"}
SETTING = frozenset(VERBS["set"].split("|"))
OPENERS = frozenset(
    [
        "open",
        "go",
        "head",
        "navigate",
        "scroll",
        "swipe",
        "find",
        "tap",
        "press",
        "locate",
        "visit",
        "access",
        "hit",
        "click",
        "choose",
        "select",
        "pick",
        "look",
    ]
)
NOUNS = {"speed": "run_speed_test", "restart": "reboot_device"}  # objects that are requests without a verb
RESET = re.compile(
    r"\b(?:reset\w*|restor\w+|revert\w*|(?:factory |carrier )?defaults?|standard ones|back the way it was)\b"
)
STATE = re.compile(
    r"\b(?:(?P<off>off|(?:not|isn't|aren't) (?:on|enabled|active|turned on|activated)|disabl\w+|deactivat\w+|uncheck\w*|untick\w*|kill|shut|out|closed?)|on|enabl\w+|activat\w+|active)\b"
)
STATE_AFTER = re.compile(STATE.pattern + r"(?<!on)|\b(?P<on_>on)\b(?! (?:your|the|my|this|a)\b)")
CYCLE = re.compile(
    r"\b(on|off|in|into)(?:\b[ ,]*(?:and|then|wait|for|about|a|few|\d+|ten|twenty|thirty|some|couple|of|seconds?|minutes?|moment|turn|switch|toggle|put|it|back|again|to|once|after|that|more|is|safe|take|completely))+[ ,]+"
    r"(?!\1\b)(on|off|out)\b"
)
TOLD = re.compile(
    r" ?(?:\([^)]*\) ?)?(?:results?|has|was|is|shows|showed|returned|did|answer|says|said)\b|\b(?:reasons?|causes?|factors|because of|interfere|usually need)\b"
)
PLAN = re.compile(
    r"\b(?:options|choose from|prefer|(?:i|we)(?:'ll| will| can| may| might| could| am going to| are going to)|later|reasons?|things we|plan|in the future|tips?|summar|so far|recap|what we did|common causes?)\b"
)
START_BY = re.compile(
    r"\b(?:start|begin|starting|beginning)(?: off)? (?:by|with)\b|^\W*(?:first|to start|for now)\b.*\b(?:please|let's)\b|\bplease\b.*\bfirst\b"
)
WHETHER = re.compile(
    r"\b(check|see|know|confirm|verify|tell me|sure|determine|find out|test|look|advise|share|ask) (?:to see )?if\b"
)
QUOTED = re.compile(
    r"((?:notes?|notebook|memory|log)\b[^.\n\"']{0,60}|\b(?:says?|said|wrote|reads?|told me|noted)\b[^.\n\"']{0,20}[:,]?\s*)[\"'][^\"\n]{8,}?[\"'](?=[\s.,;!?]|$)",
    re.I,
)
TABLE = {
    "asked": re.compile(
        r"\b(?:steps?|actions?|tasks?|do|needed|required|set to|set it|target|change|correct|tick|details|instructions?|wanted|please|should be|new|question|tell me|to check|check|desired|must be|how|what to do|goal|setting to use|expected)\b(?! when| done)"
    ),
    "named": re.compile(r"\b(?:settings?|items?|app|permissions?|feature|option|thing|tasks?|what|where|switch)\b"),
    "nothing": re.compile(r"(?:none|nothing|no|n/a|-|ok|fine|leave|leave as is|no change|keep|already done|done)\W*$"),
    "others": re.compile(r"(?:me|us|we|i|agent|support|later|after that, later)$"),
}
ENGLISH = frozenset(
    [
        "the",
        "a",
        "to",
        "your",
        "you",
        "and",
        "is",
        "it",
        "of",
        "in",
        "on",
        "please",
        "that",
        "for",
        "i",
        "my",
        "with",
        "not",
        "can",
        "me",
        "we",
        "off",
        "do",
        "this",
        "be",
        "if",
        "have",
        "now",
    ]
)
OTHER_LANGUAGES = frozenset(
    [
        "el",
        "la",
        "los",
        "las",
        "por",
        "favor",
        "su",
        "de",
        "que",
        "y",
        "en",
        "un",
        "una",
        "con",
        "para",
        "der",
        "die",
        "das",
        "und",
        "bitte",
        "ihr",
        "sie",
        "nicht",
        "mit",
        "le",
        "les",
        "des",
        "vous",
        "votre",
        "est",
        "et",
        "une",
        "pour",
        "il",
        "di",
        "per",
        "favore",
        "e",
        "non",
        "o",
        "seu",
        "por",
        "uma",
        "nao",
        "em",
    ]
) - {"die"}
BREAKS = re.compile(
    r"(?P<lead>(?:,|\s-)?\s(?:and then|and also|and|but|so|then|or|plus|followed(?:, if you don't mind,)? by)|[,:]|\s-)\s+"
    r"(?=(?:(?:please|kindly|then|also|afterwards|finally|lastly|now|next|just|once that's done|after that|a)\b,? )*"
    r"(?:please|let's|let us|could|can|would|might|should|will you|are|is|do|does|did|may|shall|i'd|i'll|i|i'm|we'll|we|we've|we're|you'll|you|you're|you've|if"
    r"|unless|after|once|when|while|before|because|since|it|it's|this|that|which|don't|do not|no need|never|otherwise|as|there's|there|then|reset|restart|reboot"
    rf"|what|which|how|whether|the|my|not|thank|thanks|sorry|(?:\w+ed)|{IMPERATIVE})\b)"
)
INNER = re.compile(
    r"\s(?=(?:once|until|before|when|whenever|while|because|since|so we|so i|so you|so the|unless|instead of|rather than|without|in case"
    r"|as (?:it|this|that|they|2g|mms|the)|if (?!you(?:'d|'ll)? (?:could|can|would|were|told|took|sent|ran|set|put|let|turn|kindly|please|\w+ed\b))|after (?!that\b)(?:\w+ing|you|it|the|doing|this|your))\b)"
)
POLITE_IF = re.compile(
    r"if (?:you (?:can|could|don't mind|would|wouldn't mind|please|like|haven't(?: already)?|have a moment|are able|'re able|'re ready|are ready|'d be so kind|may|will)\b"
    r"|you'(?:d be|re ready|re able|d like to go)|possible|it isn't too|it's not too|that's (?:ok|okay|all right|alright|fine)|i may|needed\b|necessary\b|so\b|yes\b|so,)"
)
FALLBACK = re.compile(
    r"(?:if|unless|in case) (?:that|this|it|they|the (?:issue|problem)|the (?:picture|message|mms|photo)|none|nothing|neither|resetting|you (?:still|need|want|run|get|have (?:any|trouble)|prefer|notice|'re not sure|are not|aren't|"
    r"experience|wish|encounter|can't|cannot|see any issues|feel)|you're (?:not|unsure|unable)|we (?:still|need)|not\b|there (?:are|is) (?:any|still|no)|things|everything|necessary|needed)"
    r"(?!(?:'s| is| was)? (?:on|off|enabled|disabled|set to|turned|currently|missing|empty|already|not set|blank|2g|still (?:on|off)|denied|not allowed|active)\b)"
)
CONDITIONS = (  # (what the condition says, (tool that looks, what its answer must show))
    (
        re.compile(
            r"\b(?:mmsc|apn)\b.*\b(?:missing|empty|blank|not set|isn't|wrong|incorrect|unset|no)\b|\b(?:no|missing|empty) (?:mmsc|apn)"
        ),
        ("check_apn_settings", "Not Set"),
    ),
    (
        re.compile(r"\b(?:set to|on|shows?|says?|reads?|still|is) (?:only )?2g"),
        ("check_network_mode_preference", "2g_only"),
    ),
    (
        re.compile(r"\b(?:set to|on|shows?|says?|reads?|still|is) (?:only )?3g"),
        ("check_network_mode_preference", "3g_only"),
    ),
)
MODES = (
    (
        "4g_5g_preferred",
        re.compile(
            r"4g[_ ]?/?[_ ]?(?:and |or |& )?5g|5g(?![_ ]only)|(?:4g|lte) preferred|automatic|\b(?:highest|fastest|best) (?:available|option)"
        ),
    ),
    ("4g_only", re.compile(r"4g|lte")),
    ("3g_only", re.compile(r"3g")),
    ("2g_only", re.compile(r"2g")),
)
NOT_MODES = re.compile(
    r"\b(?:from|rather than|instead of|not|off|currently|stuck on|limited to|locked to|away from|than|between|leave|leaving|out of|no longer)(?: of)? (?:\w+ )?[2-5]g(?: only)?(?:,? (?:and|or|,)? ?[2-5]g)*"
    r"|\b2g only\b(?=[, ]+(?:3g|4g|to\b|\|))|\b2g(?: only)? (?:is|won't|can't|isn't|doesn't|to\b)|[23]g(?=,| and [45]g)"
)
APP = re.compile(
    r"\bapp (?:called |named )\W?(\w+)|\b(\w+)\W?(?:'s)? app(?:lication)?s?\b"
    r"|\b(?:for|to|let|allow|give|gives|of|in|does|do|tap|has|on) (?:\w+ )?(messag(?:es|ing))\b|\b(messages|messaging)\b(?=[:,.?!> ]|$)"
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
        "needs",
        "must",
        "settings",
    ]
)
MESSAGING = frozenset(["messaging", "message", "messages", "text", "texting", "sms", "mms", "messenger"])
PERMISSION = re.compile(
    r"\b(?:(storage|files?|photos?|pictures|media|gallery)|(sms)(?! app)|(?<!your )(?<!the )(?<!this )(phone|network)"
    r"(?= permission| access|,| and)|(camera|location|contacts|microphone))\b"
)
PATH = re.compile(r"(?:(?<=^)|(?<=[.:(]\s)|(?<=, ))[^.:(>,\n]*(?:\s*>\s*[^.>,;\n]+)+")
SUMMARY = re.compile(
    r"\W*(?:so,? )?(?:to (?:recap|sum|summar)|in summary|summary|recap|just to recap|what we did|so far\b)"
)
GRANTING = re.compile(r"\b(grant|allow|let|give|permit|authori[sz]e|provide|hand)\b(?! me\b)")
AUXILIARY = frozenset(
    [
        "have",
        "has",
        "are",
        "is",
        "do",
        "does",
        "use",
        "using",
        "get",
        "say",
        "see",
        "go",
        "going",
        "take",
        "put",
        "on",
        "know",
    ]
)
SAYS_WHAT = re.compile(
    r"\b(?:read|tell|report|describe|share|say|let me know|see|look)\b.*\b(?:what(?:'s| is| it| you| they)|whether (?:it|that|they))\b|\b(?:is|are) (?:the|that|this) (?:switch|toggle|slider)\b|\b(?:is|are) (?:it|they|that) (?:currently |still |turned |set to )?(?:on|off|enabled|disabled|4g|5g|2g)"
)
FILLER = re.compile(r" go ahead and (?!try\b)")
INSTRUCTIONS_OFFERED = re.compile(
    r"\b(?:instructions?|step[- ]by[- ]step|guid(?:e|ance)|walk you through|on your own|by yourself|which (?:one|step)|how to|help with (?:this|that|any)|proceed|comfortable|the steps)\b"
)
INSISTS = re.compile(r"\b(?:please|could you|can you|would you|go ahead|now)\b")
ASKS_TO_LOOK = re.compile(
    r"\b(?:let me know|tell me|check|see|confirm|share|report|describe|verify|look for|look at)\b"
)
CONNECTS = frozenset(["turn", "switch", "enable", "activate", "toggle", "flip", "put", "set", "have"])
NUMBER = re.compile(
    r"(?:step |part |task |item )?(?:\d+|one|two|three|first|second|third|fourth|last|next|then|please|and|ok|now|again|great|afterwards|finally|lastly|also|reason|fix|action|what|kindly)\W*"
)
LABEL = re.compile(
    r"(?:please |then |and )*(?:(?:move|slide|flip|set|push|turn) (?:the|that) (?:switch|slider|toggle|button)|tap|select|choose|press|slide|flip|toggle|switch|turn|set|pick|hit)?(?: it| them| both| that)?(?: to| as)?(?: the)? ?"
    r"(?:(?P<off>off|disabled?|deactivate)|(?P<allow>allow(?:ed)?|permit)|on|enabled?)\b(?: all| access| it| both| while using the app)*\W*$"
)
PATH = re.compile(r"(?:(?<=^)|(?<=[.:(]\s)|(?<=, ))[^.:(>,\n]*(?:\s*>\s*[^.>,;\n]+)+")
LABEL = re.compile(
    r"(?:please |then |and )*(?:tap|select|choose|press|slide|flip|toggle|switch|turn|set|pick|hit)?(?: it| them| both| that)?(?: to| as)?(?: the)? ?"
    r"(?:(?P<off>off|disabled?|deactivate)|(?P<allow>allow(?:ed)?|permit)|on|enabled?)\b(?: all| access| it| both| while using the app)*\W*$"
)
APN_VALUE = re.compile(
    r"\b(apn[ _]name|mmsc(?:[ _]url)?|mms[ _](?:apn|proxy|port))[\"']?\s*(?:[:=]|to|is|as)\s*[\"']?(?!(?:its|the|default|listed|present|missing|empty|set)\b)([^\s\"',;)}?]+)",
    re.I,
)
FINITE = re.compile(
    r".*\b(?:is|are|was|were|has|have|had|will|would|can|could|may|might|should|must|does|did|isn't|aren't|won't|can't|needs?|lets|means|helps?|makes|keeps|it's|that's|there's|we|i|they|it|lives?|often|sometimes|usually|works?)\b"
)
FRAGMENT = re.compile(
    r"(?!.*\b(?:is|are|was|were|has|have|had|will|would|can|could|may|might|should|must|does|did|isn't|aren't|won't|can't|needs?|lets|means|helps?|lives?|it's|that's|i|we|they|for your information|tip|denied|because|reason|off\.? none|why|interferes?|yes)\b)"
    r"(?=.*\b(?:on|off|allow(?:ed)?|enabled?|disabled?|reset|restart(?:ed)?|reboot(?:ed)?|restarts?|4g|5g\w*|preferred|please|out|test|tests|change|only|default)\b).{0,90}$"
)
DO_THAT = re.compile(
    r"\b(?:do|try|perform|complete|carry out|make|apply|follow) (?:that|this|it|so|these|them|the same|those|both)\b|\bgive (?:that|it|this) (?:a )?(?:try|go|shot)\b|\bgo ahead(?: with (?:that|this|it))?\W*(?:now|please)?\W*$|\bproceed\W*$"
)
OPENING = re.compile(
    r"(?:[\s,:.\-\u2022#\"'(\[/!]+|(?:step )?\(?\d+[.):]+\s*|step \w+[:,.]|(?:first|second|third|firstly|secondly|thirdly|1st|2nd)\b[,:]?\s"
    r"|(?:action for you|the fix|the next step|next step|next up)[,:]+\s|(?:and|but|so|then|next|now|also|plus|finally|lastly|afterwards?|after (?:that|which|this)|at this point|for the time being"
    r"|additionally|meanwhile|instead|great|good|perfect|okay|ok|alright|all right|right|yes|no problem|no worries|sure|absolutely|of course|well|awesome|excellent|hmm|ah|oh|got it|understood"
    r"|in that case|for now|one more thing|suggestion|reminder|action for you|the fix|the next step|next step|action|task|instruction|solution|recommendation|fix|your turn|path|a|once (?:that's|that is|it's) done|when (?:that's|you're) (?:done|ready)"
    r"|with that done|this time|maybe|perhaps|therefore|hence|thus|again|as a (?:next|first|last) step|most importantly|lastly|if so|if yes|if you (?:don't|wouldn't) mind|if possible|if you can|if you please|quickly|after reset|one last thing|from there"
    r"|when you (?:have|get) a (?:moment|minute|chance))\b(?:[,:!.]+\s*|(?=\s)\s)"
    r"|(?:to|in order to|for|from|with|under|in|at|on|by|given|following|while you are)\b(?! (?:confirm|summar|be clear))[^,:?]{2,70}[,:]\s)"
)
BARE_QUESTION = re.compile(r"(?:is|are|does|do|what|what's|which|how|where|whether|can|could|any|was|am|will|has)\b")
_SELF = r"(?:i|we|it|this|that|which|they|these|there|he|she|someone|anyone|the|your|my|our|another|some|most|many|a|an|sometimes|resetting|having|mms|apn|wi-?fi|2g|no|both|as|storage|android|here|for example|such)\b"
_DO = r"(?:please |kindly |maybe |perhaps |also |just |now |then |first |quickly |possibly |respectfully |try to |be so (?:kind|good) as to |be able to |go ahead and |do me a favou?r[ ,]+(?:and )?)*"
MOODS = tuple(
    (mood, re.compile(pattern))
    for mood, pattern in (
        (
            "quote",
            r".*\bquoted\.?$|(?:according to )?(?:my|the|our) (?:\w+ )?(?:notes?|notebook|memory)\b|(?:notes?|notebook|from my notes|note to self)\s*[:(]",
        ),
        (
            "later",
            r"(?:later|eventually|in a (?:moment|minute|bit)|soon|next time|another time|in (?:the )?future|going forward|from now on)\b",
        ),
        ("ask", r"all i (?:would|'d)? ?(?:ask|need|want) (?:is|of you is)\b|might i suggest\b"),
        ("not", r"(?:please |kindly |do )*(?:hold off|refrain|stop short)"),
        (
            "tell",
            r"(?:turned|switched|changed|enabled|disabled|restarted|rebooted|granted|toggled|removed|fixed|verified|checked)\b",
        ),
        ("thanks", r"(?:thank you|thanks|many thanks)\b.*"),
        ("later", r"(?:please |just |always )*(?:keep|leave) (?!me\b|holding)"),
        (
            "aside",
            r"(?:please )?(?:don't (?:worry|hesitate)|rest assured|bear in mind|keep in mind|note that|remember that|be aware|remember[, ]|be patient|feel free|accept my|let me\b(?! know))",
        ),
        (
            "wait",
            r"(?:please )?(?:just )?(?:let me|wait|hold|stay|stand by|give me (?:a|one|just)|allow me|bear with)\b(?! know)(?! on the)",
        ),
        ("ask", r"(?:please )?(?:don't|do not) forget to\b"),
        (
            "not",
            r"(?:please |just |but |you )*(?:don't|do not|never|avoid|not|no need|needn't|there(?:'s| is) no need|without|instead of|rather than|leave it|leave them|leave that|skip|nothing else)\b",
        ),
        (
            "past",
            r"(?:please )?(?:tell me|let me know|confirm|say|remember|know|check|see) (?:whether|when|who|why|what|how) (?:you|anyone|someone|anybody) (?:'ve |have |had |ever |recently |changed|did|last|first|tried|turned|reset)",
        ),
        (
            "tell",
            r"(?:please )?(?:let me know|tell me|just let me know|feel free|reach out|inform me|report back|update me|say so|give me a shout)\W*(?:when|once|after|as soon as|how it goes|what happens|if you|whether you(?! (?:can|see|are (?:connected|on|using)|have (?:any )?(?:signal|service|bars)|have a vpn))(?!'re (?:on|connected|using))|whether (?:anything|something|the (?:issue|problem)|there's anything|this helps|that helps|it helps)|$)",
        ),
        (
            "ask",
            r"(?:i'd|i would) (?:be (?:very |most |so |really |extremely )?(?:grateful|obliged|glad|happy|thankful|much obliged) if|really appreciate it if|appreciate it if|love it if|love for|be ever so grateful if|appreciate it very much if) you\b",
        ),
        (
            "ask",
            r"(?:it would|that would|it'd|it will|it might) (?:be|help)\b.{0,40}\bif you (?:could|would|can|were to)\b|might i trouble you",
        ),
        ("consent", r"would (?:you|it) (?:be|feel) \w+ (?:with|if|for|to have) (?:me|us|we|i)\b"),
        (
            "ask",
            r"(?:i'd|i would|i|we|we'd|i'll|i am going to|i'm going to|i must|i will|we'll|we will)(?: \w+ly| also| just| now| first| strongly)* ?(?:need|like|want|ask|love|have to ask|request|suggest|recommend|advise|propose|encourage)(?:ing)?\b(?<!'ll ask)(?<!will ask)(?<!then ask)(?! your\b)(?! to (?:check|look|verify|confirm|know|ask about|transfer|make|help))(?: that| to)?(?: you)?(?: (?:to|should|try))?(?! a )(?! for your)(?! more)(?! the phone number)",
        ),
        (
            "ask",
            r"(?:would|will|can|could) you(?: \w+ly)? (?:change|turn|switch|set|reset|restore|restart|reboot|grant|allow|enable|disable|check|send|try|run|give|tell|do|take|remove|put|pull|power|select|choose|open|go|look|read|describe|list)\b",
        ),
        (
            "ask",
            r"(?:can|could|will|would|might|may) (?:i|we) (?:\w+ly )?(?:ask|trouble|get|have you|beg|invite)\b(?! (?:which|what|who|for your|how|when|a quick|why|where|your))",
        ),
        (
            "ask",
            r"would you (?:mind|please|kindly|now|be so (?:kind|good)|go ahead|first|then|just|do me)\b|would it (?:inconvenience|trouble|bother) you to\b|(?:can|could|will|might|may) you\b(?! (?:remember|recall|please (?:provide|confirm (?:your|which))|tell me your|need|think of|feel))",
        ),
        (
            "consent",
            r"(?:would|do|are|should|shall|may|can|could|might|is|will) (?:you|i|we|it|that|this|us)\b.{0,50}?\b(?:like|prefer|rather|want|ready|comfortable|willing|happy|ok|okay|agree|all right|alright|fine|convenient|interested|open to|consent|accept|proceed|feel|fancy|care to|need (?:me|help|any|instructions|the|steps|more)|know how|know where|think|able to help|acceptable|suit|object)\b",
        ),
        (
            "look",
            r"(?:can|could|may|might) i (?:ask|check|know|confirm) (?:whether|if|what|which|how)\b(?! (?:kind|phone|model|number|account))",
        ),
        (
            "consent",
            r"(?:shall|should|may|can|could|might|must) (?:i|we)\b|how about\b|what about\b|any objection|ready\b|interested in|prefer\b|fancy\b|want (?:to|me)\b|have you (?:considered|thought)",
        ),
        (
            "look",
            r"does it work\b|is it working\b|did (?:it|that|the \w+(?: \w+)?|your \w+(?: \w+)?) (?:work|help|fix|go through|send|make)",
        ),
        (
            "past",
            r"(?:did|have|has|had|were|was|who|who's|when|whose|since when|how long|how (?:did|was|were|come)|do you (?:remember|recall|know|happen|ever|usually|often|normally|use)|which of|why)\b(?! don't)",
        ),
        (
            "look",
            r"do you (?:see|have|notice|get)\b|are you (?:on|using|connected|able to|currently|getting)\b|let's (?:see|check|look|take a look|find out|confirm|verify|have a look)\b",
        ),
        ("ask", r"why (?:don't|not)\b"),
        ("ask", r"(?:let's|let us|lets)\b"),
        (
            "ask",
            r"(?:you(?:'ll| will)?|you then|we(?:'ll| will)?) (?:also |then |now |next |just )?(?:need|have|should|must|ought|want|are going|can now|may now|can go ahead|can please)\b(?: to)?(?! (?:be able|see|find|be|notice|know|any|more|help|already|now be|now have|now see|the ability))",
        ),
        (
            "ask",
            r"(?:the (?:next|only|last|first|best|one|final) (?:step|thing|fix|best step|thing left)|your (?:next|only|first) (?:step|task|job)|what i(?:'d like| need| want)|all (?:you|it|i) (?:need|needs|have|has|ask|want)|one small (?:thing|change)|it's time|next step|this means|next up)\b(?:.{0,40}?)(?:is|are|needs?|to|:)\b",
        ),
        ("purpose", r"(?:in order )?to (?!please\b)\w+"),
        ("?", r"(?:which|what)\b"),
        (
            "tell",
            r"(?:the|your|this|that|it|these|those|all|here's|they)\b.{0,50}?\b(?:is|are|was|were|has|have|had|will|would|can|could|may|might|should|must|does|did|lets|means|needs|looks|seems|shows|helps|interfere|says|can't|isn't|won't|doesn't|comes|explains|lives)\b|here(?:'s| is| are)\b",
        ),
        (
            "aside",
            r"(?:after|once|when|whenever|as soon as|before|until|till|while|since|because|as|now|although|though|so that|so (?:we|i|you|the|your|it)|by|without|instead|rather|following|given|whether|which|who|for example|such as|e\.g|in case)\b(?! (?:please|the apn first))",
        ),
        (
            "tell",
            r"(?:i|we|i'm|i'll|i've|i'd|we're|we've|we'll|we'd|it|it's|that|that's|this|they|there|there's|he|she|you|you've|you're|you'll|your|sometimes|another|sorry|welcome|wonderful|congratulations|my|our|to (?:summari|confirm|be clear)|usually|hello|hi|glad|no)\b",
        ),
        ("?", BARE_QUESTION.pattern),
        (
            "bare",
            rf"(?:please |kindly |now |also |just |then |next |first |quickly |simply |briefly |after that |finally |lastly |(?:always|really) )*(?:to )?(?:go (?:ahead and|for|to|into)|hop|jump|dive|be sure|be so (?:kind|good) as to|re-?boot|re-?start|power|factory|try|start|begin|continue|proceed|{IMPERATIVE})\b",
        ),
        (
            "bare",
            rf"(?:start|begin|try|consider|proceed with|recommend|suggest)(?:ing)?(?: (?:by|with))? (?:{GERUND})\b",
        ),
        ("tell", rf"(?:{GERUND})\b"),
        ("ask", r".*\bplease\b"),
    )
)
