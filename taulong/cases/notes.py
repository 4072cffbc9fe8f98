"""What a memory's text lets a reader do: which remedies it names, by their tools or in words that a customer would follow."""

import re
from functools import lru_cache

from taulong.backend import ToolCall
from taulong.cases.requests import MissingArgument, requested_calls
from taulong.shifts.causes import causes_by_tool, recurring_causes, resolves
from taulong.shifts.identity import phone_models


def tells_fix(text: str, cause: str, phone_model: str) -> bool:
    """Return whether a text names the remedy of a cause and no other, to one who has a customer with this phone model."""
    return causes_told(text, phone_model) == {cause}


@lru_cache(maxsize=1024)
def causes_told(text: str, phone_model: str) -> frozenset[str]:
    """Return the recurring causes whose remedies a text names, to one who has a customer with this phone model.

    Where lines speak of the model they are read, else those that speak of no model. A remedy is named by its tool, or by
    words in which the scripted customer, see :mod:`taulong.cases.requests`, would recognize what to do.
    """
    models = re.compile("|".join(map(re.escape, phone_models())))
    spoken_of = [(set(models.findall(line)), line) for line in text.splitlines()]
    lines = [line for found, line in spoken_of if phone_model in found] or [
        line for found, line in spoken_of if not found
    ]
    read = "\n".join(lines)
    named = {cause for tool, cause in causes_by_tool().items() if re.search(rf"\b{tool}\b", read)}
    asked = {
        cause
        for request in requested_calls(read)
        if not isinstance(request, MissingArgument)
        for cause in recurring_causes()
        if _fixes(cause, request[0], repr(request[1]), request[1])
    }
    return frozenset(named | asked)


_fixing: dict[tuple[str, str, str], bool] = {}


def _fixes(cause: str, tool: str, key: str, arguments: dict) -> bool:
    """Return whether a call, followed by a reboot, resolves a cause."""
    if tool not in causes_by_tool():
        return False
    if (cause, tool, key) not in _fixing:
        call = ToolCall(name=tool, arguments=dict(arguments), requestor="user")
        _fixing[cause, tool, key] = resolves(recurring_causes()[cause], [call])
    return _fixing[cause, tool, key]
