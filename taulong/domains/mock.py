"""Mock: tau2's smallest domain, tasks that belong to users."""

from taulong.domains.domain import Domain, Stray, write


def _strays() -> tuple[Stray, ...]:
    return (Stray("create_task", write("create_task", user_id="user_1", title="nobody asked for this")),)


DOMAIN = Domain("mock", _strays)
