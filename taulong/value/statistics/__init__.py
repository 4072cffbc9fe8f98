"""How sure is the answer? Estimates over shifts with their intervals and p values, and the plan of a larger run.

Start with :mod:`taulong.value.statistics.estimates`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "estimates": ["DESCRIPTIVE_BELOW", "Estimate", "MAX_DROPPED", "arm_mean", "contrast"],
        "intervals": ["bounded_interval", "cluster_interval", "fieller", "ratio_interval", "weighted_interval"],
        "pairs": ["Arm", "Pairs", "counted", "matched"],
        "planning": ["Plan", "plan_shifts", "simulated_power"],
        "questions": [
            "Equivalence",
            "equivalence",
            "estimates_table",
            "headroom_share",
            "interactions",
            "learning_slope",
            "memory_contrasts",
            "reward_contrasts",
            "value_per_thousand_tokens",
        ],
        "signs": ["DRAWN_FLIPS", "EXACT_UP_TO", "holm", "in_order", "p_text", "sign_flip_p"],
        "trials": ["fewest_trials", "pass_hat_k"],
        "variance": ["VarianceSplit", "variance_components", "variance_split"],
    },
)
