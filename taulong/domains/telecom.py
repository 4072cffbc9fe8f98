"""Telecom: the domain that the suite knows whole; its operators are those of :mod:`taulong.audit`."""

from taulong.domains.domain import Domain, Stray, write


def _strays() -> tuple[Stray, ...]:
    here = {"customer_id": "C1002", "line_id": "L1004"}
    return (
        Stray("suspend_line", write("suspend_line", **here, reason="not asked for")),
        Stray("enable_roaming", write("enable_roaming", customer_id="C1001", line_id="L1001")),
        Stray("resume_line", write("resume_line", customer_id="C1003", line_id="L1009")),
        Stray("send_payment_request", write("send_payment_request", customer_id="C1001", bill_id="B1002")),
    )


DOMAIN = Domain("telecom", _strays, has_own_matrix=True)
