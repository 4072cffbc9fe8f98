"""Minted customers: invented people whose records, persona and phone agree with each other."""

from dataclasses import dataclass

from taulong import backend
from taulong.draws import Draws

FIRST_NAMES = (
    "Aaron",
    "Alma",
    "Andre",
    "Anita",
    "Benjamin",
    "Bianca",
    "Carla",
    "Cedric",
    "Chloe",
    "Damian",
    "Daria",
    "Derek",
    "Elena",
    "Elias",
    "Farah",
    "Felix",
    "Gloria",
    "Hannah",
    "Hugo",
    "Imani",
    "Irene",
    "Jasper",
    "Joanna",
    "Karim",
    "Keiko",
    "Leandro",
    "Lucia",
    "Marcus",
    "Mei",
    "Nadia",
    "Nolan",
    "Olivia",
    "Oscar",
    "Paloma",
    "Priya",
    "Quentin",
    "Rosa",
    "Samir",
    "Tessa",
    "Viktor",
)
LAST_NAMES = (
    "Abbott",
    "Alvarez",
    "Banerjee",
    "Becker",
    "Brennan",
    "Castillo",
    "Chandler",
    "Dawson",
    "Delgado",
    "Ellison",
    "Fischer",
    "Fontaine",
    "Garrison",
    "Goldberg",
    "Hartley",
    "Hoang",
    "Ibrahim",
    "Jansen",
    "Kaplan",
    "Kowalski",
    "Lambert",
    "Lindgren",
    "Mahoney",
    "Medina",
    "Nakamura",
    "Novak",
    "Okafor",
    "Osborne",
    "Pereira",
    "Quinn",
    "Rahman",
    "Romero",
    "Schaefer",
    "Sinclair",
    "Tanaka",
    "Thornton",
    "Vasquez",
    "Whitaker",
    "Yamada",
    "Zimmerman",
)
STREETS = (
    "Maple St",
    "Cedar Ave",
    "Lake Dr",
    "Hill Rd",
    "Park Blvd",
    "Mill Ln",
    "River Rd",
    "Sunset Way",
    "Church St",
    "Orchard Ct",
)
CITIES = (
    ("Portland", "OR", "97205"),
    ("Madison", "WI", "53703"),
    ("Tucson", "AZ", "85701"),
    ("Albany", "NY", "12207"),
    ("Savannah", "GA", "31401"),
    ("Boise", "ID", "83702"),
    ("Omaha", "NE", "68102"),
    ("Dayton", "OH", "45402"),
    ("Mobile", "AL", "36602"),
    ("Fresno", "CA", "93721"),
    ("Lowell", "MA", "01852"),
    ("Tulsa", "OK", "74103"),
    ("Reno", "NV", "89501"),
    ("Salem", "OR", "97301"),
    ("Duluth", "MN", "55802"),
    ("Macon", "GA", "31201"),
)


@dataclass(frozen=True)
class Customer:
    """One minted customer.

    Attributes:
        name: full name.
        phone_number: the number of the line the customer calls about.
        persona: what a customer simulator is told about the person; age and place as in the record.
        records: rows to add to tau2's agent database, by table (``customers``, ``lines``, ``devices``, ``bills``).
    """

    name: str
    phone_number: str
    persona: str
    records: dict[str, list[dict]]

    @property
    def ids(self) -> list[str]:
        """Every id and phone number the customer's records hold; within a shift each occurs once."""
        return ids_of(self.records)


def ids_of(records: dict[str, list[dict]]) -> list[str]:
    """Return every id and phone number in a customer's rows, by table."""
    keys = {"customers": "customer_id", "lines": "line_id", "devices": "device_id", "bills": "bill_id"}
    held = [row[key] for table, key in keys.items() for row in records[table]]
    return held + [line["phone_number"] for line in records["lines"]]


def phone_models() -> list[str]:
    """Return the phone models of tau2's shipped database, in its order."""
    devices = backend.database_contents()["devices"]
    return [device["model"] for device in devices if device["device_type"].value == "phone"]


def mint_customer(split: str, seed: int, position: int, phone_model: str, taken: set[str]) -> Customer:
    """Return the customer at a position of a shift.

    The draws are keyed by (split, seed, position), so they tell nothing about the cause and do not depend on the other
    customers, except that a customer with an id or number that is in ``taken`` or occurs twice is drawn again. The account has two lines: the caller's own and
    another one; a paid, an issued and a Draft bill (without one tau2 would make a bill for a refuel, and draw its id at
    random each time); contracts that run; no overdue bill; data left on the plan.

    Args:
        split: ``train`` or ``eval``.
        seed: the shift's seed.
        position: 1-based position in the shift.
        phone_model: model of the caller's phone.
        taken: ids and phone numbers already used in the shift.
    """
    attempt = 0
    while True:
        customer = _mint(Draws("identity", split, seed, position, attempt), phone_model)
        if len(taken.union(customer.ids)) == len(taken) + len(customer.ids):
            return customer
        attempt += 1


def _mint(draws: Draws, phone_model: str) -> Customer:
    first, last = draws.choice(FIRST_NAMES), draws.choice(LAST_NAMES)
    city, state, zip_code = draws.choice(CITIES)
    born = f"{draws.between(1945, 2004)}-{draws.between(1, 12):02}-{draws.between(1, 28):02}"
    customer_id = "C" + draws.digits(7)
    plans = [plan for plan in backend.database_contents()["plans"] if plan["name"] != "IoT Basic"]
    models = [model for model in phone_models() if model != phone_model]
    lines, devices = [], []
    for model in (phone_model, draws.choice(models)):
        plan = draws.choice(plans)
        device_id = "D" + draws.digits(7)
        devices.append(
            {
                "device_id": device_id,
                "device_type": "phone",
                "model": model,
                "imei": draws.digits(15),
                "is_esim_capable": True,
                "activated": True,
                "activation_date": f"2024-{draws.between(2, 12):02}-{draws.between(1, 28):02}T10:00:00",
            }
        )
        lines.append(
            {
                "line_id": "L" + draws.digits(7),
                "phone_number": f"555-{draws.between(200, 999)}-{draws.digits(4)}",
                "status": "Active",
                "plan_id": plan["plan_id"],
                "device_id": device_id,
                "data_used_gb": draws.below(int(plan["data_limit_gb"] * 8)) / 10,
                "data_refueling_gb": 0.0,
                "roaming_enabled": False,
                "contract_end_date": f"{draws.between(2026, 2027)}-{draws.between(1, 12):02}-28",
                "last_plan_change_date": f"2024-{draws.between(2, 12):02}-{draws.between(1, 28):02}",
            }
        )
    calling = lines[0]
    price = {plan["plan_id"]: plan["price_per_month"] for plan in plans}
    bills = [
        _bill(
            draws,
            customer_id,
            month,
            status,
            []
            if status == "Draft"
            else [
                {
                    "description": f"Plan charge - Line {line['phone_number']}",
                    "amount": price[line["plan_id"]],
                    "date": f"2025-{month:02}-05",
                    "item_type": "Plan Charge",
                }
                for line in lines
            ],
        )
        for month, status in ((1, "Paid"), (2, "Issued"), (3, "Draft"))
    ]
    lines = draws.shuffled(lines)
    record = {
        "customer_id": customer_id,
        "full_name": f"{first} {last}",
        "date_of_birth": born,
        "email": f"{first}.{last}.{customer_id[-4:]}@example.com".lower(),
        "phone_number": calling["phone_number"],
        "address": {
            "street": f"{draws.between(1, 999)} {draws.choice(STREETS)}",
            "city": city,
            "state": state,
            "zip_code": zip_code,
        },
        "account_status": "Active",
        "created_at": f"2024-01-{draws.between(1, 28):02}T09:00:00",
        "payment_methods": [
            {
                "method_type": "Credit Card",
                "account_number_last_4": draws.digits(4),
                "expiration_date": f"{draws.between(1, 12):02}/2027",
            }
        ],
        "line_ids": [line["line_id"] for line in lines],
        "bill_ids": [bill["bill_id"] for bill in bills],
    }
    persona = (
        f"You are {age(born)} years old and live in {city}, {state}. You use your phone every day for calls, texts and "
        "pictures. You are friendly and patient, and you follow clear step-by-step guidance."
    )
    records = {"customers": [record], "lines": lines, "devices": devices, "bills": bills}
    return Customer(record["full_name"], calling["phone_number"], persona, records)


def _bill(draws: Draws, customer_id: str, month: int, status: str, items: list[dict]) -> dict:
    last_day = {1: 31, 2: 28, 3: 31}[month]
    issued = 1 if status == "Draft" else 5
    return {
        "bill_id": "B" + draws.digits(7),
        "customer_id": customer_id,
        "period_start": f"2025-{month:02}-01",
        "period_end": f"2025-{month:02}-{last_day}",
        "issue_date": f"2025-{month:02}-{issued:02}",
        "total_due": sum(item["amount"] for item in items),
        "due_date": f"2025-{month:02}-{issued + 14}",
        "line_items": items,
        "status": status,
    }


def age(date_of_birth: str) -> int:
    """Return the age in whole years on the benchmark's date (tau2's ``get_today``: 2025-02-25)."""
    today = backend.get_today()
    year, month, day = map(int, date_of_birth.split("-"))
    return today.year - year - ((today.month, today.day) < (month, day))
