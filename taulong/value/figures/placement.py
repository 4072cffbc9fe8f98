"""What a shift looks like."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from taulong.value.figures.layout import add_heading, count_of, empty_figure, new_panels
from taulong.value.figures.style import DOUBLE, POPULATION_LETTERS, styled


@styled
def plot_placement(cases: pd.DataFrame) -> Figure:
    """Return the placement of cases: a row per shift, a column per position, coloured by population.

    Args:
        cases: the table of shifts.shift_table, one row a case.
    """
    if cases.empty:
        return empty_figure("Cases of shifts in order: there is no shift.")
    grid = cases.pivot(index="shift_id", columns="position", values="population")
    causes = cases.drop_duplicates("shift_id").set_index("shift_id")["recurring_cause"].reindex(grid.index)
    caption = (
        f"Cases of {count_of(len(grid), 'shift')} in order: T teaching, E testing (evidence masked), L lookalike (the "
        "same complaint, another cause). Right: the recurring cause."
    )
    figure, panels = new_panels(1, 1, 0.3 + 0.2 * len(grid), caption, cases.assign(partial=""), width=DOUBLE)
    panel = panels[0, 0]
    for row, shift_id in enumerate(grid.index):
        for column, population in enumerate(grid.loc[shift_id]):
            letter, colour = POPULATION_LETTERS.get(population, ("?", "#ffffff"))
            panel.add_patch(plt.Rectangle((column + 0.53, row - 0.44), 0.94, 0.88, color=colour, linewidth=0))
            panel.text(column + 1, row, letter, ha="center", va="center", fontsize=6.5)
    panel.set(xlim=(0.5, grid.shape[1] + 0.5), ylim=(len(grid) - 0.5, -0.5), xlabel="position in the shift")
    panel.set_xticks(grid.columns)
    panel.set_yticks(range(len(grid)), grid.index)
    right = panel.secondary_yaxis("right")
    right.set_yticks(range(len(grid)), causes.fillna("").tolist())
    for ticks in (panel, right):
        ticks.spines[:].set_visible(False)
        ticks.tick_params(length=0)
    add_heading(figure)
    return figure
