"""What does the answer look like? For each figure a function that makes a tidy table, and one that only draws it.

A table says everything its figure says, the caption included, so that a figure can be drawn again from its CSV.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "caps": ["CAP_COLUMNS", "cap_table", "plot_caps"],
        "curves": ["AXES", "CHANCE", "CURVE_COLUMNS", "curve_table", "plot_curves"],
        "evidence": ["EVIDENCE_COLUMNS", "STAGES", "evidence_table", "plot_evidence"],
        "forest": ["plot_forest"],
        "headline": ["headline_table", "plot_headline"],
        "layout": ["LIMITS"],
        "lookalikes": ["lookalike_table", "plot_lookalikes"],
        "placement": ["plot_placement"],
        "rewards": ["REWARD_STYLE", "plot_rewards", "reward_table"],
        "style": [
            "AGENT_COLOURS",
            "AGENT_MARKERS",
            "FIXED_MODES",
            "POPULATION_LETTERS",
            "POPULATION_MARKERS",
            "STYLE",
            "agent_styles",
            "mode_styles",
            "save_figure",
            "styled",
        ],
    },
)
