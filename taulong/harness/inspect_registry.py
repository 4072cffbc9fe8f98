"""What Inspect finds under the name ``taulong``: the scorer, the solvers and the framed tasks (its entry point)."""

import importlib.util

from taulong.harness.file_tasks import framed_errors, framed_records, play_files
from taulong.harness.inspect import frame, handoff

__all__ = ["frame", "framed_errors", "framed_records", "handoff", "play_files"]

if importlib.util.find_spec("inspect_evals"):
    from taulong.harness.tau2_port import framed_telecom, play

    __all__ += ["framed_telecom", "play"]
