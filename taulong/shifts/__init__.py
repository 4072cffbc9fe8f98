"""What customers does an agent meet? Shifts: ordered streams of customers, generated from one seed.

May use the backend and the base. Start with :mod:`taulong.shifts.generation`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "causes": ["Cause", "broken_environment", "corrective_tools", "recurring_causes", "resolves", "routine_resets"],
        "generation": [
            "Case",
            "POPULATIONS",
            "SPLITS",
            "SPLIT_SIZE",
            "Shift",
            "ShiftConfig",
            "export_tasks",
            "generate_shift",
            "generate_shifts",
            "read_manifest",
            "read_shifts",
            "shift_paths",
            "shift_seeds",
            "shift_table",
            "write_shifts",
        ],
        "identity": [
            "CITIES",
            "Customer",
            "FIRST_NAMES",
            "LAST_NAMES",
            "STREETS",
            "age",
            "mint_customer",
            "phone_models",
        ],
    },
)
