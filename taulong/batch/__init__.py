"""How are notebooks run without a person? In batch, over points of their parameters, and all of them again.

May use reading and what lies below. Start with :mod:`taulong.batch.notebooks`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "checks": ["READS", "WRITES", "check_notebook", "written"],
        "notebooks": ["KERNELSPEC", "LANGUAGE_INFO", "execute_in_place", "printed", "run_notebook"],
        "parameters": ["NotebookError", "check_parameters", "find_notebook", "parse_parameter", "read_defaults"],
        "reproduction": ["AGENTS", "CAPS", "CAP_AGENTS", "MODES", "NAME", "cap_name", "results_table"],
        "reruns": ["FORMAT", "RERUNS", "Rerun", "STEPS", "rerun"],
        "results": ["SENTINEL", "write_metrics"],
        "sweeps": ["Point", "grid_points", "make_points", "read_sweep", "run_sweep"],
    },
)
