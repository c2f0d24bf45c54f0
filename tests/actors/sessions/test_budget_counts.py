"""The budget's counts as stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.sessions.budget_counts import decode_counts, encode_counts
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import BudgetCounts, MinuteCount

whole = st.integers(0, 10_000)
counts = st.builds(
    BudgetCounts,
    dumped_at=st.floats(1e9, 2e9),
    minutes=st.lists(
        st.builds(MinuteCount, minute=whole, kinds=st.dictionaries(st.sampled_from(CallKind), whole)), max_size=5
    ).map(tuple),
    day=st.dates().map(str),
    day_orders=whole,
    day_calls=whole,
)


@given(counts)
def test_counts_are_read_back_as_they_were(value):
    assert decode_counts(encode_counts(value)) == value


@pytest.mark.parametrize("body", [None, b"", b"{", b"[]", b'{"dumped_at": "x"}', b'{"minutes": []}'])
def test_counts_that_cannot_be_read_are_none(body):
    assert decode_counts(body) is None
