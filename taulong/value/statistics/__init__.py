"""How sure is the answer? Estimates over shifts with their intervals and p values, and the plan of a larger run.

Start with :mod:`taulong.value.statistics.estimates`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "estimates": ["DESCRIPTIVE_BELOW", "Estimate", "MAX_DROPPED", "arm_mean", "contrast"],
        "intervals": ["cluster_interval", "fieller", "share_interval"],
        "pairs": ["Arm", "Pairs", "counted", "matched"],
        "planning": ["Plan", "plan_shifts", "t_power", "variance_components"],
        "questions": ["estimates_table", "headroom_share", "learning_slope", "memory_contrasts", "reward_contrasts"],
        "signs": ["DRAWN_FLIPS", "EXACT_UP_TO", "holm", "p_text", "sign_flip_p"],
        "trials": ["fewest_trials", "pass_hat_k"],
    },
)
