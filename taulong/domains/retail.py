"""Retail: orders, the users they belong to, and products."""

from taulong.backend import ToolCall
from taulong.domains.domain import Domain, Stray, find_bystander, write
from taulong.domains.state import shipped

ELSEWHERE = {
    "address1": "1 Nowhere Street",
    "address2": "",
    "city": "Austin",
    "state": "TX",
    "country": "USA",
    "zip": "78701",
}


def _order(status: str) -> dict:
    return find_bystander("retail", lambda order: order["status"] == status and order["user_id"] != "", "orders")


def _paid_by(order: dict) -> str:
    return order["payment_history"][0]["payment_method_id"]


def _strays() -> tuple[Stray, ...]:
    pending, delivered = _order("pending"), _order("delivered")
    here = {"order_id": pending["order_id"]}
    items = [delivered["items"][0]["item_id"]]
    returned = write(
        "return_delivered_order_items",
        order_id=delivered["order_id"],
        item_ids=items,
        payment_method_id=_paid_by(delivered),
    )
    return (
        Stray("cancel_pending_order", write("cancel_pending_order", **here, reason="no longer needed")),
        Stray("modify_pending_order_address", write("modify_pending_order_address", **here, **ELSEWHERE)),
        Stray("modify_user_address", write("modify_user_address", user_id=pending["user_id"], **ELSEWHERE)),
        Stray("return_delivered_order_items", returned),
    )


def _beside(call: ToolCall) -> ToolCall | None:
    """Another address on the user, or on the pending order, that the gold writes."""
    if call.name == "modify_user_address":
        return None
    order = shipped("retail", "orders", call.arguments.get("order_id", ""))
    if order is None:
        return None
    if order["status"] == "pending" and call.name not in ("modify_pending_order_address", "cancel_pending_order"):
        return write("modify_pending_order_address", order_id=order["order_id"], **ELSEWHERE)
    return write("modify_user_address", user_id=order["user_id"], **ELSEWHERE)


PAIRED = (("item_ids", "new_item_ids"),)

DOMAIN = Domain(
    "retail",
    _strays,
    _beside,
    unordered={
        "return_delivered_order_items": (("item_ids",),),
        "exchange_delivered_order_items": PAIRED,
        "modify_pending_order_items": PAIRED,
    },
    known_bugs={
        "modify_pending_order_items": "every item gets the price and options of the last one in the list (tau2-bench #317)"
    },
)
