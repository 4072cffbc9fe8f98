"""What does a finished case deserve? The official reward, and the verdicts beside it.

May use the backend and the base. Start with :mod:`taulong.graders.verdicts`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "delta": ["ABSENT", "Delta", "Field", "RECORD_IDS", "canonical", "compare", "known_bills", "observe"],
        "policy": [
            "CONDUCT",
            "Caller",
            "Judgement",
            "LINE_WRITES",
            "MAXIMUM_REFUEL_GB",
            "NOT_BESIDE_TEXT",
            "ONE_CALL",
            "RULES",
            "Rule",
            "WRITES",
            "Write",
            "caller_of",
            "conduct",
            "contract_ended",
            "judge",
        ],
        "reference": ["Hashes", "Reference", "build_reference", "hashes", "start"],
        "gates": [
            "Finding",
            "GRADERS",
            "Status",
            "Verdict",
            "delta_gate",
            "excused",
            "grade_run",
            "outside",
            "policy_check",
            "scope_gate",
            "strict",
            "transient_gate",
        ],
        "official": ["Component", "components", "is_vacuous"],
        "replay": ["Run", "Step", "answered_calls", "judged_step", "replay", "trim"],
        "speech": ["agreed_to", "without_reasoning"],
        "verdicts": ["GRADER_VERSION", "Grades", "grade"],
    },
)
