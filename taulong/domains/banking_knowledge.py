"""Banking with a knowledge base: only some releases of tau2 have it. Its tools are found in documents, so only strays are varied."""

from taulong.domains.domain import Domain, Stray, find_bystander, write


def _strays() -> tuple[Stray, ...]:
    user = find_bystander("banking_knowledge", lambda record: "user_id" in record)
    return (
        Stray("change_user_email", write("change_user_email", user_id=user["user_id"], new_email="nobody@example.org")),
    )


DOMAIN = Domain("banking_knowledge", _strays, has_own_matrix=True)
