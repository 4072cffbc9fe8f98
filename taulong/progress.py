"""Progress: a bar where somebody looks on, and nothing where the output is kept."""

import sys

from tqdm import tqdm


def progress_bar(total: int, initial: int = 0, unit: str = "case", show: bool = True) -> tqdm:
    """Return a progress bar, a context manager with ``update``, that fits the place it is in.

    In a terminal it is drawn on stderr. In JupyterLab it is drawn in the cell's output, as text, and wiped when done: a bar
    of widgets would need ipywidgets, and its state would be saved. In batch (papermill, nbval, a pipe, CI) there is none.

    Args:
        total: units of work.
        initial: how many of them are done already.
        unit: the noun of one.
        show: False for no bar anywhere.
    """
    live = _live_notebook()
    return tqdm(
        total=total,
        initial=initial,
        unit=unit,
        file=sys.stdout if live else sys.stderr,
        leave=not live,
        disable=not show or not (live or sys.stderr.isatty()),
    )


def _live_notebook() -> bool:
    """Return whether this is a cell run by a front end with a person before it.

    Such a front end says with every request that it can ask for input; nbclient, which runs papermill and nbconvert, and nbval
    say that they cannot. An environment variable would be inherited by what a notebook starts.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))
