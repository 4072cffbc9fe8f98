"""Keys to model endpoints: they come from the environment only, so anything else that looks like one is refused."""

import json
import os
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from taulong.errors import ConfigError

NAME = re.compile(
    r"(^|_)(key|keys|(?<!per_)token|secret|secrets|password|passwd|passphrase|credentials?|bearer|cookies?|headers?|auth|authorization)$"
    r"|api_?key|access_?key|secret",
    re.I,
)
FORMAT = re.compile(
    r"\b(?:(?:sk|rk|pk)-(?=[\w-]*\d)[\w-]{16,}|gsk_\w{16,}|xai-\w{16,}|nvapi-[\w-]{16,}|AKIA\w{12,}|gh[pousr]_\w{16,}"
    r"|hf_\w{16,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.)"
)
"""Formats of providers' keys that no word of a conversation has."""
VALUE = re.compile(
    r"\b(sk|rk|pk)-[\w-]{6,}|\bgsk_\w{6,}|\bxai-\w{12,}|\bnvapi-[\w-]{6,}|\bAKIA\w{12,}|\bgh[pousr]_\w{16,}|\bhf_\w{16,}"
    r"|\bAIza[\w-]{20,}|\beyJ[\w-]+\.[\w-]+\.|\bbearer\s+\S{6,}"
    r"|\bbasic\s+(?-i:(?=\S*[\d=]|\S*[a-z]\S*[A-Z]))[\w+/=-]{6,}"
    r"|://[^/\s@]+@|[?&#]([\w.-]*(key|token|secret|passw(or)?d|signature|credential)|pass|pwd|sig|code|auth)=",
    re.I,
)
"""What may be a key where no prose is expected: in configuration, and in what an endpoint says of a failure."""
SHORTEST = 8
"""Characters below which a value is no key but a switch, a path's name, a number, or a word that texts are full of."""


def environment_keys() -> dict[str, str]:
    """Return the variables of the environment whose name says that they hold a key, longest value first."""
    held = {name: value.strip() for name, value in os.environ.items() if NAME.search(name)}
    held = {name: value for name, value in held.items() if len(value) >= SHORTEST}
    return dict(sorted(held.items(), key=lambda item: (-len(item[1]), item[0])))


def unsendable_keys() -> dict[str, str]:
    """Return, by its variable, what is wrong with each key of the environment that no HTTP header can hold."""
    faults = {}
    for name, value in sorted(os.environ.items()):
        if not is_key_name(name):
            continue
        odd = next((sign for sign in value.strip() if not 32 < ord(sign) < 127), None)
        if odd is not None:
            faults[name] = f"holds {unicodedata.name(odd, repr(odd)).lower()}, which is no sign of a key"
        elif value != value.strip():
            faults[name] = f"{'ends' if value != value.rstrip() else 'begins'} with a blank or a newline"
    return faults


def is_key_name(name: str) -> bool:
    """Return whether a name says that it holds a key, in ``snake_case``, ``kebab-case`` or ``camelCase``."""
    return NAME.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("-", "_"))) is not None


def refuse_keys(field: str, value: Any) -> None:
    """Raise ConfigError where a name or a value in nested plain data looks like a key; the message does not hold it."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            where = f"{field}.{name}"
            if is_key_name(str(name)) and inner not in (None, ""):
                raise ConfigError(
                    f"{where}: looks like a key by its name; keys come from the environment only, e.g. OPENAI_API_KEY"
                )
            refuse_keys(where, inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            refuse_keys(f"{field}[{index}]", inner)
    elif isinstance(value, str) and (VALUE.search(value) or any(key in value for key in environment_keys().values())):
        raise ConfigError(
            f"{field}: its value looks like a key; keys come from the environment only, e.g. OPENAI_API_KEY"
        )


def without_keys(text: str, key: str | None = None) -> str:
    """Return what a participant says with keys replaced, and nothing else.

    The keys of the environment by their variables' names; the given one, and what has the format of one, by ``[key]``.
    """
    if key and len(key) >= SHORTEST:
        text = _without(text, key, "[key]")
    for name, value in environment_keys().items():
        text = _without(text, value, f"[{name}]")
    return FORMAT.sub("[key]", text)


def _without(text: str, key: str, instead: str) -> str:
    """Return a text without a key, as it is and as Python and JSON quote it, with its backslashes doubled."""
    for shown in (json.dumps(key)[1:-1], repr(key)[1:-1], key):
        text = text.replace(shown, instead)
    return text


def scrub(text: str, key: str | None = None) -> str:
    """Return the text of an error with keys replaced, and what only looks like one."""
    return VALUE.sub("[key]", without_keys(text, key))
