"""Did the agent do things in the order that the policy asks for? Rules over what was read, said and done before.

Beside the graders and apart from them: the gates and the policy check stay exact, some of these rules rest on words.
May use the graders and what lies below them. Start with :mod:`taulong.conduct.check`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "check": ["CHECKS", "Observation", "checks", "conduct_check", "privacy_check"],
        "course": ["Asked", "Course", "Said", "course_of"],
        "rules": ["ORDER_RULES", "OrderRule"],
        "sentences": ["SENTENCES", "Sentence", "policy_sentences", "sentences_table"],
    },
)
