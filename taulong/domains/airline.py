"""Airline: reservations, the users they belong to, and flights."""

from taulong.backend import ToolCall
from taulong.domains.domain import Domain, Stray, find_bystander, write
from taulong.domains.state import shipped


def _trip() -> tuple[dict, dict]:
    """Return (reservation, user) of somebody no task names, with a card to pay by and a cabin that can be raised."""

    def fits(reservation: dict) -> bool:
        user = shipped("airline", "users", reservation["user_id"])
        return (
            reservation["status"] is None
            and reservation["cabin"] == "economy"
            and bool(_card(user))
            and all(_seats(leg) >= len(reservation["passengers"]) for leg in reservation["flights"])
        )

    reservation = find_bystander("airline", fits, "reservations")
    user = shipped("airline", "users", reservation["user_id"])
    assert user is not None
    return reservation, user


def _seats(leg: dict) -> int:
    """Return how many seats in business a flight has left; none where it is not for sale."""
    flight = shipped("airline", "flights", leg["flight_number"]) or {"dates": {}}
    return flight["dates"].get(leg["date"], {}).get("available_seats", {}).get("business", 0)


def _card(user: dict | None) -> str | None:
    methods = (user or {}).get("payment_methods", {})
    return next((key for key in sorted(methods) if key.startswith("credit_card")), None)


def _strays() -> tuple[Stray, ...]:
    trip, user = _trip()
    passengers = [dict(passenger, last_name="Nobody") for passenger in trip["passengers"]]
    flights = [{"flight_number": leg["flight_number"], "date": leg["date"]} for leg in trip["flights"]]
    here = {"reservation_id": trip["reservation_id"]}
    bags = {"total_baggages": trip["total_baggages"] + 1, "nonfree_baggages": trip["nonfree_baggages"] + 1}
    return (
        Stray("cancel_reservation", write("cancel_reservation", **here)),
        Stray("send_certificate", write("send_certificate", user_id=user["user_id"], amount=100)),
        Stray(
            "update_reservation_baggages", write("update_reservation_baggages", **here, **bags, payment_id=_card(user))
        ),
        Stray("update_reservation_passengers", write("update_reservation_passengers", **here, passengers=passengers)),
        Stray(
            "update_reservation_flights",
            write("update_reservation_flights", **here, cabin="business", flights=flights, payment_id=_card(user)),
        ),
    )


def _beside(call: ToolCall) -> ToolCall | None:
    """Another passenger name on the reservation that the gold writes (a bag more, where it writes passengers)."""
    trip = shipped("airline", "reservations", call.arguments.get("reservation_id", ""))
    if trip is None or call.name == "cancel_reservation":
        return None
    if call.name != "update_reservation_passengers":
        passengers = [dict(passenger, last_name="Nobody") for passenger in trip["passengers"]]
        return write("update_reservation_passengers", reservation_id=trip["reservation_id"], passengers=passengers)
    card = _card(shipped("airline", "users", trip["user_id"]))
    bags = {"total_baggages": trip["total_baggages"] + 1, "nonfree_baggages": trip["nonfree_baggages"] + 1}
    return write("update_reservation_baggages", reservation_id=trip["reservation_id"], **bags, payment_id=card)


DOMAIN = Domain(
    "airline",
    _strays,
    _beside,
    unordered={
        "book_reservation": (("passengers",), ("payment_methods",)),
        "update_reservation_passengers": (("passengers",),),
    },
    debatable={"book_reservation": (("flights",),), "update_reservation_flights": (("flights",),)},
)
