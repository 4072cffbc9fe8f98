"""Keys to model endpoints: they come from the environment only, so anything else that looks like one is refused."""

import os
import re
from collections.abc import Mapping
from typing import Any

from taulong.errors import ConfigError

NAME = re.compile(
    r"(^|_)(key|keys|(?<!per_)token|secret|secrets|password|passwd|credentials?|bearer|cookies?|headers?|auth|authorization)$"
    r"|api_?key|access_?key|secret",
    re.I,
)
VALUE = re.compile(
    r"\b(sk|rk|pk)-[\w-]{6,}|\bbearer\s+\S{6,}|\bAKIA\w{12,}|\bgh[pousr]_\w{16,}|\bhf_\w{16,}|\bAIza[\w-]{20,}|\beyJ[\w-]+\.[\w-]+\."
    r"|://[^/\s@]+@|[?&](api[-_]?)?(key|token)=",
    re.I,
)
SHORTEST = 8
"""Characters below which a value is no key but a switch, a path's name, a number, or a word that texts are full of."""


def environment_keys() -> dict[str, str]:
    """Return the variables of the environment whose name says that they hold a key, longest value first."""
    held = {name: value for name, value in os.environ.items() if NAME.search(name) and len(value) >= SHORTEST}
    return dict(sorted(held.items(), key=lambda item: (-len(item[1]), item[0])))


def refuse_keys(field: str, value: Any) -> None:
    """Raise ConfigError where a name or a value in nested plain data looks like a key; the message does not hold it."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            where = f"{field}.{name}"
            if NAME.search(str(name).replace("-", "_")) and inner not in (None, ""):
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


def scrub(text: str, key: str | None = None) -> str:
    """Return a text with keys replaced: those of the environment by their variables' names, another by ``[key]``."""
    if key and len(key) >= SHORTEST:
        text = text.replace(key, "[key]")
    for name, value in environment_keys().items():
        text = text.replace(value, f"[{name}]")
    return VALUE.sub("[key]", text)
