"""Whatever a model can write crosses the wire, and what fits is left as it is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from taulong.bench.wire import HIGHEST, wire_safe

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


def leaves(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


@given(VALUES)
def test_everything_fits_in_64_bits_finite_numbers_and_utf_8(value):
    sent = wire_safe(value)
    json.dumps(sent, allow_nan=False).encode()
    for leaf in leaves(sent):
        if isinstance(leaf, int) and not isinstance(leaf, bool):
            assert abs(leaf) <= HIGHEST
        if isinstance(leaf, str):
            leaf.encode("utf-8")
    assert wire_safe(sent) == sent


def test_what_fits_is_left_as_it_is_and_the_rest_is_text():
    assert wire_safe({"a": [1, 2.5, "ä", None, True]}) == {"a": [1, 2.5, "ä", None, True]}
    assert wire_safe([10**30, float("inf"), "\ud800"]) == [str(10**30), "inf", "\\ud800"]
