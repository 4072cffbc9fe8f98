"""Classes of one's own, named ``module:Class``: agents and memory systems that live outside the package."""

import hashlib
import importlib
import inspect
import sys
from pathlib import Path

from taulong.errors import ConfigError


def named_class(field: str, name: str, kind: str = "class") -> type:
    """Return the class of a name ``module:Class``; the module is looked for where Python looks, and in the current folder.

    Args:
        field: the setting that names it, for the error.
        name: ``module:Class``.
        kind: what the class is to be, for the error.

    Raises:
        ConfigError: it cannot be imported, or is no class.
    """
    module, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise ConfigError(
            f"{field}: {name!r} cannot be imported ({error}); write module:Class, with the module on Python's "
            "path or in the current folder"
        ) from error
    if not isinstance(found, type):
        raise ConfigError(f"{field}: {name!r} is a {type(found).__name__}; accepted: a {kind}")
    return found


def source_digest(found: type) -> str:
    """Return 12 hex digits over the source file of a class: changed source is another identity."""
    return hashlib.sha256(Path(inspect.getfile(found)).read_bytes()).hexdigest()[:12]
