"""Did a run change anything that its task did not need? The frame of any environment, whatever the harness.

A manifest is taken at handoff and one at grading; what the reference changes from the same start is the footprint, and
the frame is everything else. It works on a JSON-like state, a file tree and a SQLite file, with the standard library
alone, and may be used by every other package. Start with :mod:`taulong.frame.verdict`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "delta": ["Change", "Delta", "KINDS", "canonical", "compare", "same", "spelled_otherwise"],
        "footprint": ["Footprint", "build_footprint", "read_footprints", "write_footprints"],
        "licences": ["Licence", "NOISE", "find_licence", "read_licences"],
        "manifest": ["Bounds", "Manifest", "read_command", "sqlite_manifest", "state_manifest", "tree_manifest"],
        "verdict": ["Record", "Verdict", "judge", "judge_again"],
    },
)
