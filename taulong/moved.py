"""Modules of version 0.1 that now live in a package: importing one gives that package, with a DeprecationWarning."""

import importlib
import sys
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGES = {
    "shifts": ("causes", "identity"),
    "cases": ("agents", "customer", "environment", "models", "request"),
    "runs": ("accounts",),
    "graders": ("delta", "policy", "reference"),
    "audit": ("audit_figures", "census", "mutations", "probes", "script"),
    "regrade": ("demonstration", "results"),
    "value": ("coverage", "figures", "metrics", "statistics"),
    "batch": ("notebooks", "reproduction", "reruns", "sweeps"),
    "bench": ("traces",),
    "reading": ("report",),
}
MOVED = {f"taulong.{module}": f"taulong.{package}" for package, modules in PACKAGES.items() for module in modules}


class _Moved(MetaPathFinder, Loader):
    def find_spec(self, fullname, path=None, target=None):
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec):
        return None

    def exec_module(self, module: ModuleType) -> None:
        package = MOVED[module.__name__]
        warnings.warn(f"{module.__name__} is now part of {package}", DeprecationWarning, stacklevel=2)
        sys.modules[module.__name__] = importlib.import_module(package)


def install() -> None:
    """Let the old names be imported; asked after every other finder."""
    sys.meta_path.append(_Moved())
