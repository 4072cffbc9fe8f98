"""What differs between tau2's domains? Databases, forbidden writes, lists without order; adding a domain is one file.

May use the frame's core, the backend and the base. Start with :mod:`taulong.domains.domain`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "domain": ["DOMAINS", "Domain", "Stray", "find_domain"],
        "state": ["Records", "changes", "fresh", "state_hash"],
    },
)
