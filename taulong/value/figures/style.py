"""How agents, memory modes and populations look in every figure, and how a figure is saved.

Memory modes and agents keep their order, colour and marker in every figure (Okabe and Ito's colours; none is grey, oracle
black and dashed).
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from taulong.value.metrics import AGENTS, MODES

STYLE = {
    "axes.spines.right": False, "axes.spines.top": False, "axes.linewidth": 0.6, "axes.titlesize": 8,
    "axes.labelsize": 8, "axes.facecolor": "white", "figure.facecolor": "white", "savefig.facecolor": "white",
    "figure.dpi": 110, "savefig.dpi": 300, "font.family": "DejaVu Sans", "font.size": 7.5, "legend.fontsize": 7,
    "legend.frameon": False, "lines.linewidth": 1.4, "lines.markersize": 4, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "pdf.fonttype": 42,
}  # fmt: skip
MODE_STYLE = {
    "none": {"color": "#8c8c8c", "marker": "o", "linestyle": "-"},
    "notebook": {"color": "#0072b2", "marker": "s", "linestyle": "-"},
    "oracle": {"color": "#000000", "marker": "D", "linestyle": "--", "markersize": 6.5, "mfc": "none"},
    "misleading": {"color": "#e69f00", "marker": "v", "linestyle": "-"},
    "irrelevant": {"color": "#d9c027", "marker": "^", "linestyle": ":"},
    "stale": {"color": "#d55e00", "marker": "v", "linestyle": ":"},
    "transcript": {"color": "#009e73", "marker": "^", "linestyle": "-"},
    "frozen": {"color": "#cc79a7", "marker": "P", "linestyle": "-."},
    "frozen_same": {"color": "#882255", "marker": "X", "linestyle": ":"},
}
AGENT_COLOURS = ("#0072b2", "#e69f00", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")
AGENT_MARKERS = ("o", "s", "^", "D", "v", "P")
POPULATION_MARKERS = {"testing": "o", "lookalike": "s", "teaching": "^", "all": "D"}
POPULATION_LETTERS = {"teaching": ("T", "#9ccbe8"), "testing": ("E", "#f2c27a"), "lookalike": ("L", "#d9d9d9")}
SINGLE, DOUBLE = 3.4, 7.0  # widths in inches of one and two print columns


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
    present = set(table["agent"])
    return [agent for agent in AGENTS if agent in present] + sorted(present - set(AGENTS))


def modes_of(table: pd.DataFrame) -> list[str]:
    present = set(table["memory_mode"])
    return [mode for mode in MODES if mode in present] + sorted(present - set(MODES))


def mode_style(mode: str, modes: list[str]) -> dict:
    """Return how a memory mode looks among others; one that is not on board has a colour by its place among such modes."""
    if mode in MODE_STYLE:
        return MODE_STYLE[mode]
    at = sorted(set(modes) - set(MODE_STYLE)).index(mode)
    return {
        "color": AGENT_COLOURS[(at + 2) % len(AGENT_COLOURS)],
        "marker": AGENT_MARKERS[at % len(AGENT_MARKERS)],
        "linestyle": ("-", "--", "-.", ":")[at % 4],
    }


def agent_style(agent: str, agents: list[str]) -> dict[str, str]:
    names = [*AGENTS, *(name for name in agents if name not in AGENTS)]
    at = names.index(agent) % len(AGENT_COLOURS)
    return {"color": AGENT_COLOURS[at], "marker": AGENT_MARKERS[at]}
