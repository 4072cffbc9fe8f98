"""How agents, memory modes and populations look in every figure, and how a figure is laid out and saved.

Names keep their order, colour and marker in every figure of a run; colours are Okabe and Ito's, as far as they reach. None is
grey, oracle black and dashed, notebook blue; every other name takes what those present leave over, so that no two look alike.
"""

import functools
import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from taulong.value.metrics import AGENTS, MODES

STYLE: dict[Any, Any] = {
    "axes.spines.right": False, "axes.spines.top": False, "axes.linewidth": 0.6, "axes.titlesize": 8.5,
    "axes.labelsize": 8.5, "axes.facecolor": "white", "figure.facecolor": "white", "savefig.facecolor": "white",
    "figure.dpi": 200, "savefig.dpi": 300, "font.family": "DejaVu Sans", "font.size": 8, "legend.fontsize": 8,
    "legend.frameon": False, "lines.linewidth": 1.3, "lines.markersize": 3.6, "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5, "pdf.fonttype": 42, "text.parse_math": False, "text.usetex": False,
}  # fmt: skip
FIXED_MODES: dict[str, dict[str, Any]] = {
    "none": {"color": "#8c8c8c", "marker": "o", "linestyle": "-"},
    "oracle": {"color": "#000000", "marker": "D", "linestyle": "--", "mfc": "none"},
    "notebook": {"color": "#0072b2", "marker": "s", "linestyle": "-"},
}
MODE_COLOURS = ("#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#b8a800")
MODE_MARKERS = ("v", "^", "P", "X", "<", ">", "p", "h")
AGENT_COLOURS = ("#0072b2", "#e69f00", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8a800")  # one for each on board
AGENT_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")
POPULATION_MARKERS = {"testing": "o", "lookalike": "s", "teaching": "^", "all": "D"}
POPULATION_LETTERS = {"teaching": ("T", "#9ccbe8"), "testing": ("E", "#f2c27a"), "lookalike": ("L", "#d9d9d9")}
SINGLE, DOUBLE = 3.4, 7.0  # widths in inches of one and two print columns
Arguments = ParamSpec("Arguments")


def styled(plot: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Return a function that draws in this style, whatever the reader's, and whose figure looks the same in every process."""

    @functools.wraps(plot)
    def drawn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        with plt.rc_context(STYLE):
            figure = plot(*args, **kwargs)
            _settle(figure)
            plt.close(figure)  # a notebook shows it as the value of a cell, pyplot shall not show it again
        return figure

    return drawn


def _settle(figure: Figure) -> None:
    """Fix where the axes are to a ten-thousandth of the figure: the solver of the layout varies far behind that."""
    figure.draw_without_rendering()
    places = [[round(float(edge), 4) for edge in axes.get_position().bounds] for axes in figure.axes]
    figure.set_layout_engine("none")
    for axes, (left, bottom, width, height) in zip(figure.axes, places, strict=True):
        axes.set_position((left, bottom, width, height))


def save_figure(figure: Figure, table: pd.DataFrame, stem: str | Path) -> list[Path]:
    """Return the paths written: the figure as PNG (300 dpi) and dateless PDF, and its table as CSV, under one stem.

    The bytes depend on the figure, the table and the version of matplotlib only.
    """
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("png", "pdf", "csv")]
    with plt.rc_context(STYLE):
        figure.savefig(paths[0], metadata={"Software": None})
        figure.savefig(paths[1], metadata={"CreationDate": None, "Creator": None, "Producer": None})
    table.to_csv(paths[2], index=False, lineterminator="\n")
    return paths


def agents_of(table: pd.DataFrame) -> list[str]:
    """Return the agents of a table: those on board first, then the others by name."""
    return _ordered(table["agent"], AGENTS)


def modes_of(table: pd.DataFrame) -> list[str]:
    """Return the memory modes of a table in their order; those of elsewhere follow by name."""
    return _ordered(table["memory_mode"], MODES)


def _ordered(names: pd.Series, first: tuple[str, ...]) -> list[str]:
    present = set(names.dropna())
    return [name for name in first if name in present] + sorted(present - set(first))


def agent_styles(agents: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return colour and marker of each agent present, no two of a colour; those on board keep theirs."""
    agents = list(agents)
    kept = {name: AGENT_COLOURS[AGENTS.index(name)] for name in agents if name in AGENTS}
    colours = _colours(agents, kept, AGENT_COLOURS)
    own = {name: AGENT_MARKERS[AGENTS.index(name)] for name in kept}
    left = [marker for marker in AGENT_MARKERS if marker not in own.values()] or list(AGENT_MARKERS)
    others = [name for name in agents if name not in own]
    own |= {name: left[at % len(left)] for at, name in enumerate(others)}
    return {name: {"color": colours[name], "marker": own[name]} for name in agents}


def mode_styles(modes: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return colour, marker and line of each memory mode present, no two of a colour."""
    modes = list(modes)
    colours = _colours(modes, {name: style["color"] for name, style in FIXED_MODES.items()}, MODE_COLOURS)
    others = [name for name in modes if name not in FIXED_MODES]
    free = {
        name: {"color": colours[name], "marker": MODE_MARKERS[at % len(MODE_MARKERS)], "linestyle": "-"}
        for at, name in enumerate(others)
    }
    return {name: FIXED_MODES.get(name) or free[name] for name in modes}


def _colours(names: list[str], kept: dict[str, str], palette: tuple[str, ...]) -> dict[str, str]:
    """Return a colour for each name: its own, or the next of the palette that none has, or one of a circle of hues."""
    others = [name for name in names if name not in kept]
    free = [colour for colour in palette if colour not in {kept[name] for name in names if name in kept}]
    if len(others) > len(free):
        free = sns.husl_palette(len(others) + 1, l=0.55).as_hex()[1:]
    return {**kept, **dict(zip(others, free, strict=False))}


def broken(name: str, width: int) -> str:
    """Return a name in lines of at most ``width`` characters, broken after a sign that parts it where there is one."""
    lines: list[str] = [""]
    for part in re.findall(r"[^-_/:. ,]*[-_/:. ,]+|[^-_/:. ,]+", name):
        for piece in textwrap.wrap(part, width, drop_whitespace=False) or [part]:
            if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1]:
                lines.append("")
            lines[-1] += piece
    return "\n".join(line.strip() for line in lines)
