"""What customers does an agent meet? Shifts: ordered streams of customers, generated from one seed.

May use the backend and the base. Start with :mod:`taulong.shifts.generation`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "causes": [
            "Cause",
            "broken_environment",
            "causes_by_tool",
            "corrective_tools",
            "fixed_sign",
            "recurring_causes",
            "resolves",
            "routine_resets",
            "signs",
        ],
        "configuration": ["MARKS", "POPULATIONS", "SPLITS", "SPLIT_SIZE", "ShiftConfig", "shift_seeds"],
        "files": [
            "FORMATS",
            "export_tasks",
            "read_manifest",
            "read_shifts",
            "set_manifest",
            "shift_paths",
            "write_shifts",
        ],
        "generation": ["generate_shift", "generate_shifts", "held_out_cases"],
        "identity": [
            "CITIES",
            "Customer",
            "FIRST_NAMES",
            "LAST_NAMES",
            "STREETS",
            "age",
            "ids_of",
            "mint_customer",
            "phone_models",
        ],
        "placement": ["Place", "changed_at", "place"],
        "stream": ["Case", "Shift", "shift_table"],
    },
)
