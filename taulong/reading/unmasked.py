"""What a masked answer would have said: the calls of a conversation, played again on a phone that hides nothing."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from taulong.errors import DataError

if TYPE_CHECKING:
    from taulong.runs.folder import RunFolder
    from taulong.shifts.stream import Case

Told = dict[int, str]
"""By index of the message: what its answer would have said."""


class Unmasked:
    """The masked answers of a run's conversations, as they would have been; equal calls of a case are played once.

    The transcript does not hold them, and the agent never saw them: they are for whoever studies the run. Nothing can be
    said where the shifts that the run was made of are gone, or are others by now.

    Args:
        folder: the run.
    """

    def __init__(self, folder: "RunFolder"):
        self.cases = _cases(folder)
        self._played: dict[tuple[str, str], list[str]] = {}

    def answers(self, transcript: Mapping[str, Any]) -> Told:
        """Return what each masked answer up to the commitment would have said; empty where nothing was masked or is known."""
        masked, case = transcript.get("masked_messages") or (), self.cases.get(transcript.get("case_id", ""))
        end = transcript.get("commitment_message")
        masked = [at for at in masked if end is None or at < end]
        if not masked or case is None:
            return {}
        places, calls = _calls(transcript["messages"][: masked[-1] + 1])
        key = case.case_id, json.dumps(calls)
        if key not in self._played:
            self._played[key] = _play(case, calls)
        told = dict(zip(places, self._played[key], strict=True))
        return {at: told[at] for at in masked if at in told}


def _cases(folder: "RunFolder") -> "dict[str, Case]":
    from taulong.shifts.files import read_manifest, read_shifts

    manifest = folder.manifest
    try:
        if read_manifest(manifest["shifts"])["digest"] != manifest["shifts_digest"]:
            return {}
        return {case.case_id: case for shift in read_shifts(manifest["shifts"]) for case in shift.cases}
    except DataError:
        return {}


def _calls(messages: list[Mapping]) -> tuple[list[int], list[tuple]]:
    """Return where the answers are, and the calls they belong to as (name, arguments, who calls)."""
    places, calls, asked = [], [], []
    for at, message in enumerate(messages):
        if message["role"] != "tool":
            side = {"assistant": "assistant", "user": "user"}.get(message["role"], "")
            asked = [(call["name"], call.get("arguments") or {}, side) for call in message.get("tool_calls") or ()]
        elif asked:
            places.append(at)
            calls.append(asked.pop(0))
    return places, calls


def _play(case: "Case", calls: list[tuple]) -> list[str]:
    """Return tau2's answers to calls in the case's own environment without the mask.

    What a masked call does to the phone is the same with the mask and without: before the commitment only answers differ.
    """
    from taulong import backend

    environment = backend.new_environment(database=backend.database_with(case.records))
    if state := backend.Task.model_validate(case.task).initial_state:
        environment.set_state(state.initialization_data, state.initialization_actions, [])
    told = []
    for number, (name, arguments, requestor) in enumerate(calls):
        call = backend.ToolCall(id=str(number), name=name, arguments=arguments, requestor=requestor)
        told.append(environment.get_response(call).content or "")
    return told
