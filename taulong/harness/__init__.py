"""The frame at work in other people's harnesses: Inspect (``taulong[inspect]``) and Harbor (``taulong[harbor]``).

Nothing here imports either before it is used. Start with :func:`taulong.harness.inspect.framed` and
:mod:`taulong.harness.harbor`; ``taulong frame`` is in :mod:`taulong.harness.command`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "accidents": ["ACCIDENTS", "Accident", "accident_command"],
        "tables": ["audit_metrics", "plot_audit", "read_runs", "shares", "summary", "write_tables"],
        "inspect": ["footprints_from_log", "frame", "framed", "handoff"],
    },
)
