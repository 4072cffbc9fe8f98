"""What counts as a difference between two database states."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taulong.backend import database_contents
from taulong.graders.delta import ABSENT, RECORD_IDS, Field, canonical, compare, observe


@pytest.fixture
def states():
    return copy.deepcopy(database_contents()), copy.deepcopy(database_contents())


def record(state, table, key, value):
    return next(row for row in state[table] if row[key] == value)


def test_equal_states_have_an_empty_delta(states):
    assert compare(*states) == {}


def test_a_field_is_named_by_record_and_name(states):
    record(states[1], "lines", "line_id", "L1002")["roaming_enabled"] = False
    assert compare(*states) == {Field("lines.L1002", "roaming_enabled"): (True, False)}


def test_nested_values_are_fields_of_their_record(states):
    record(states[1], "customers", "customer_id", "C1003")["address"]["city"] = "Reno"
    assert compare(*states) == {Field("customers.C1003", "address.city"): ("Denver", "Reno")}


def test_the_order_of_records_does_not_count(states):
    for table in ("lines", "bills", "customers"):
        states[1][table].reverse()
    assert compare(*states) == {}


def test_swapped_line_items_are_equal_and_a_dropped_one_is_not(states):
    items = record(states[1], "bills", "bill_id", "B1001")["line_items"]
    items[0], items[1] = items[1], items[0]
    assert compare(*states) == {}
    del items[0]
    assert list(compare(*states)) == [Field("bills.B1001", "line_items")]


def test_a_repeated_line_item_counts_twice(states):
    items = record(states[1], "bills", "bill_id", "B1001")["line_items"]
    items.append(items[0])
    assert list(compare(*states)) == [Field("bills.B1001", "line_items")]


def test_swapped_payment_methods_are_equal(states):
    record(states[1], "customers", "customer_id", "C1002")["payment_methods"].reverse()
    assert compare(*states) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2, 2.0),
        ("2 GB", "2.0 GB"),
        ("Data refueling: 2 GB at $2/GB", "Data refueling: 2.00 GB at $2.0/GB"),
        (0.1 + 0.2, 0.3),
        ([1, 2.0], [2, 1.0]),
        ({"a": 1}, {"a": 1.0}),
    ],
)
def test_equal_by_value(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2 GB", "2.5 GB"),
        ("555-123-2002", "555-123-2020"),
        ("1.0.0", "1.0"),
        (None, ABSENT),
        (2, 3),
        ([1], [1, 1]),
        ("L10", "L1"),
    ],
)
def test_unequal_by_value(one, other):
    assert canonical(one) != canonical(other)


@given(st.integers(0, 10**6), st.integers(0, 3))
def test_trailing_zeros_never_count(whole, zeros):
    assert canonical(f"{whole}.{'0' * (zeros + 1)} GB") == canonical(f"{whole} GB")


@given(st.decimals(0, 1000, places=3), st.decimals(0, 1000, places=3))
def test_text_with_numbers_is_equal_exactly_where_the_numbers_are(one, other):
    assert (canonical(f"{one} GB") == canonical(f"{other} GB")) == (one == other)


def test_a_new_record_is_absent_before(states):
    bill = copy.deepcopy(record(states[1], "bills", "bill_id", "B1004"))
    states[1]["bills"].append(bill | {"bill_id": "Babcdef01"})
    delta = compare(*states)
    assert delta[Field("bills.new-C1002-1", "status")] == (ABSENT, "Paid")
    assert {field.record for field in delta} == {"bills.new-C1002-1"}


def test_minted_ids_are_named_by_owner_and_rank(states):
    for state, names in zip(states, (("Bxx", "Byy"), ("Bpp", "Bqq")), strict=True):
        for name in names:
            bill = copy.deepcopy(record(state, "bills", "bill_id", "B1004"))
            state["bills"].append(bill | {"bill_id": name, "customer_id": "C1002"})
            record(state, "customers", "customer_id", "C1002")["bill_ids"].append(name)
    known = {bill["bill_id"] for bill in database_contents()["bills"]}
    assert compare(*states, known) == {}
    states[1]["bills"][-1]["total_due"] += 1
    assert list(compare(*states, known)) == [Field("bills.new-C1002-2", "total_due")]


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(TypeError, match="complex"):
        canonical(1j)


def test_user_fields_are_named():
    assert observe({"device": {"wifi": True}, "x": 1}, {"device": {"wifi": False}, "x": 1}) == ("device.wifi",)


def fields(state):
    """Return (record, name) -> canonical value, by the definition of a field."""
    found = {}

    def note(record, name, value):
        if isinstance(value, dict):
            for key, below in value.items():
                note(record, f"{name}.{key}" if name else key, below)
        else:
            found[record, name] = canonical(value)

    for table, key in RECORD_IDS.items():
        for row in state[table]:
            note(f"{table}.{row[key]}", "", row)
    return found


values = st.none() | st.integers(2, 9) | st.text(max_size=3) | st.lists(st.integers(2, 4), max_size=3)


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_the_delta_is_that_of_the_definition_for_any_changes(data):
    """Records changed, emptied, nested, added and dropped at random: exactly the fields that differ, with their values."""
    first, second = copy.deepcopy(database_contents()), copy.deepcopy(database_contents())
    for _ in range(data.draw(st.integers(0, 5))):
        table = data.draw(st.sampled_from(["plans", "lines", "devices"]))
        row = data.draw(st.sampled_from(second[table]))
        name = data.draw(st.sampled_from([name for name in row if name != RECORD_IDS[table]] + ["made_up"]))
        row[name] = data.draw(values | st.dictionaries(st.sampled_from("ab"), values, max_size=2))
    if data.draw(st.booleans()):
        second["lines"].pop()
    if data.draw(st.booleans()):
        first["devices"].pop()
    one, two = fields(first), fields(second)
    expected = {
        key: (one.get(key, ABSENT), two.get(key, ABSENT))
        for key in one.keys() | two.keys()
        if repr(one.get(key, ABSENT)) != repr(two.get(key, ABSENT))
    }
    found = compare(first, second)
    assert {tuple(key): repr(pair) for key, pair in found.items()} == {
        key: repr(pair) for key, pair in expected.items()
    }
    assert list(found) == sorted(found)
