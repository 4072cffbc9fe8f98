"""Where things are: the project's folders, and the one way to write a file that is never half written."""

import glob
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def _is_root(folder: Path) -> bool:
    try:
        return 'name = "taulong"' in (folder / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False


def find_root(package: Path = PACKAGE, start: Path | None = None) -> Path:
    """Return the project's root: the checkout this package is in, so that the current folder does not matter.

    A package installed away from a checkout works on the checkout around ``start`` (default: the current folder), and
    without one on ``start`` itself.
    """
    start = Path.cwd() if start is None else start.resolve()
    return next((folder for folder in (package.parent, start, *start.parents) if _is_root(folder)), start)


ROOT = find_root()
WORK = Path(os.environ.get("TAULONG_WORK") or ROOT).resolve()
"""Where data/ and figures/ are: the project's root, unless the environment names another folder, as a rerun does."""
SHIPPED = PACKAGE / "batch" / "shipped"
"""Where an installed wheel has its notebooks."""
NOTEBOOKS = ROOT / "notebooks" if _is_root(ROOT) else SHIPPED
"""The notebooks: those of the checkout, or without one the wheel's."""
DATA = WORK / "data"
SHIFTS = DATA / "shifts"
RUNS = DATA / "runs"
AUDIT = DATA / "audit"
FRAME = DATA / "frame"
FIGURES = WORK / "figures"
OUTPUTS = DATA / "notebooks"
"""Executed notebooks; not committed."""


def shown(path: str | os.PathLike) -> str:
    """Return a path as it may be printed in a committed notebook: from where data/ is, or the root, else its name alone."""
    path = Path(path).resolve()
    return next((path.relative_to(base).as_posix() for base in (WORK, ROOT) if path.is_relative_to(base)), path.name)


def located(path: str | os.PathLike) -> str:
    """Return a path as a command prints it: from the folder the user is in, or whole."""
    path = Path(path).resolve()
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else str(path)


def atomic_write(path: str | os.PathLike, content: str | bytes | Iterable[str], fsync: bool = False) -> str:
    """Write a file in one step, making its folder: a reader, or a kill, meets the old content or the new, never a part.

    Args:
        path: the file; replaced if it exists.
        content: text is written as UTF-8 with its line ends as they are; texts one after the other, as they come.
        fsync: also wait until the content is on the disk, for files that must survive a power cut.

    Returns:
        The SHA-256 of what was written, in hex.

    Raises:
        OSError: naming the file, also where the disk is full.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_parts(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    digest = hashlib.sha256()
    try:
        with naming(path), open(part, "wb") as file:
            for piece in [content] if isinstance(content, str | bytes) else content:
                data = piece.encode() if isinstance(piece, str) else piece
                digest.update(data)
                file.write(data)
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return digest.hexdigest()


@contextmanager
def naming(path: str | os.PathLike) -> Iterator[None]:
    """Have an OSError of a file that is written name it: that of a full disk names none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


def _remove_left_parts(path: Path) -> None:
    """Remove what processes that were killed have left of a file."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        writer = part.name.removeprefix(f".{path.name}.").partition(".")[0]
        if writer.isdecimal() and not _is_alive(int(writer)):
            part.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True
