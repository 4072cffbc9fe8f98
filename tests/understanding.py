"""Utterances of service agents, written blind of the customer's parser, and whether the customer does what they ask.

Columns of utterances.tsv: id, style, cause, kind (``request`` or ``nothing``: no setting may be changed), text (``\\n`` is a
line break), must_run (tools in order), may_run_too, half (``dev`` or ``held``).
"""

import csv
from pathlib import Path

from taulong.cases.requests import hear

UTTERANCES = Path(__file__).parent / "cases" / "utterances.tsv"
# The phone that the utterances were written for; Wi-Fi Calling is on as if it were the cause.
SWITCHES = {
    "toggle_wifi_calling": "on",
    "toggle_data": "on",
    "toggle_roaming": "off",
    "toggle_data_saver_mode": "off",
    "toggle_airplane_mode": "off",
    "toggle_wifi": "on",
}
LOOKED_AT = {
    "toggle_wifi_calling": "check_wifi_calling_status",
    "toggle_data_saver_mode": "check_data_restriction_status",
}


def read_utterances() -> list[dict[str, str]]:
    with UTTERANCES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def tools_run(text: str) -> list[str]:
    """Return the tools that the customer runs, in order, each once in a row; a switch only where it is not as wanted."""
    states, run = dict(SWITCHES), []
    for request in hear(text).requests:
        if request.when and "vpn" in request.when[0]:
            run.append("check_vpn_status")
        elif request.missing and request.missing != "app_name":
            run.append(f"?{request.tool}")
        elif request.tool in states and request.wanted == states[request.tool]:
            if request.look:
                run.append(LOOKED_AT.get(request.tool, "check_network_status"))
        else:
            if request.tool in states:
                states[request.tool] = request.wanted or ("off" if states[request.tool] == "on" else "on")
            run.append("can_send_mms" if request.tool == "verify" else request.tool)
    return [tool for place, tool in enumerate(run) if not place or run[place - 1] != tool]


def understood(row: dict[str, str]) -> bool:
    """Return whether all that must run is run, in order, and nothing that may not."""
    run = tools_run(row["text"].replace("\\n", "\n"))
    must = [tool for tool in row["must_run"].split(",") if tool]
    allowed = {*must, *filter(None, row["may_run_too"].split(","))}
    left = iter(run)
    return all(tool in left for tool in must) and set(run) <= allowed
