"""ICICI Direct's order stream: what its messages say of orders, and which of them only move the books."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.events import (
    BooksMoved,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
)
from onebroker.brokers.icicidirect import feed, order_feed
from tests.brokers.icicidirect.frames import ADDRESS, VALUES, event

# orders
CASH = ["1", "", "AB123456", "", "249", "5", "7", "10-03-2025", "14:13:22", "Intraday Calls", "N", "4", "85", "NSE", "ITC", "B", "L", "T", "420.00", "C", "P", "10-Mar-2025", "10-Mar-2025", "20250310N300001234", "10", "4", "6", "0", "0", "0", "0", "N", "420.00", "25", "WEB", "NSE", "1", "Cash", "N", "", "10-Mar-2025", "", "419.95", "N", "N", "0", ""]  # fmt: skip
DERIVATIVE = ["1", "", "AB123456", "", "249", "5", "8", "10-03-2025", "14:13:22", "Intraday Calls", "N", "6", "85", "NFO", "NIFTY", "O", "C", "E", "2355000", "13-Feb-2025", "13-Feb-2025", "S", "S", "I", "6.00", "R", "202503101400001234", "75", "0", "0", "0", "6.05", "N", "25", "WEB", "N", "10-Mar-2025", "ACK", "450.00", "0.00", "0", "N", "N", "Y", "N", "N", ""]  # fmt: skip


@pytest.fixture
def stream(access, option):
    return order_feed.decoder(access, ADDRESS, {option.broker_token: option})


def updated(decoder, message):
    (seen,) = decoder.receive(event("order", message))
    assert isinstance(seen, OrderUpdate), seen
    return seen.order


def test_a_share_order_is_read(stream):
    row = updated(stream, CASH)
    assert (row.order_id, row.status, row.transaction_type, row.product) == ("20250310N300001234", "OPEN", "BUY", "CNC")
    assert (row.quantity, row.filled_quantity, row.pending_quantity) == (10, 6, 4)
    assert (row.price, row.average_price, row.order_type, row.validity) == (420.0, 419.95, "LIMIT", "DAY")
    assert (row.instrument_token, row.exchange, row.tag) == ("NSE:ITC", "NSE", None)


def test_a_derivatives_strike_is_the_reading_that_is_listed(stream, access):
    row = updated(stream, DERIVATIVE)
    assert row.instrument_token == "NFO:NIFTY:2025-02-13:23550:CE"
    assert (row.status, row.transaction_type, row.order_type, row.validity) == ("PENDING", "SELL", "SL", "IOC")
    assert (row.price, row.trigger_price, row.quantity) == (6.0, 6.05, 75)
    plain = [*DERIVATIVE[:18], "23550", *DERIVATIVE[19:]]
    assert updated(stream, plain).instrument_token == "NFO:NIFTY:2025-02-13:23550:CE"
    unlisted = order_feed.decoder(access, ADDRESS, {})
    assert updated(unlisted, DERIVATIVE).instrument_token == "NFO:NIFTY:2025-02-13:23550:CE"
    future = [*DERIVATIVE[:15], "F", "*", "E", "0", *DERIVATIVE[19:]]
    assert updated(stream, future).instrument_token == "NFO:NIFTY:2025-02-13"


def test_a_rate_that_may_be_scaled_is_left_to_the_book(stream):
    scaled = [*DERIVATIVE[:24], "600", *DERIVATIVE[25:39], "0", *DERIVATIVE[40:]]
    assert stream.receive(event("order", scaled)) == [BooksMoved()]


@pytest.mark.parametrize(
    ("letter", "status"),
    [("R", "PENDING"), ("Q", "PENDING"), ("O", "OPEN"), ("P", "OPEN"), ("F", "OPEN"), ("J", "REJECTED"),
     ("X", "EXPIRED"), ("B", "EXPIRED"), ("D", "CANCELLED"), ("C", "CANCELLED"), ("Z", "Z")],
)  # fmt: skip
def test_every_status_letter_is_read(stream, letter, status):
    row = updated(stream, [*CASH[:20], letter, *CASH[21:]])
    assert row.status == status
    ended = status in ("REJECTED", "EXPIRED", "CANCELLED")
    assert (row.filled_quantity, row.pending_quantity) == (6, 0 if ended else 4)
    assert row.cancelled_quantity == (4 if status in ("EXPIRED", "CANCELLED") else 0)


def test_an_order_said_to_be_executed_is_complete_where_all_of_it_is(stream):
    executed = [*CASH[:20], "E", *CASH[21:]]
    corrupt, moved = stream.receive(event("order", executed))  # 6 of 10: what is true, the books say
    assert isinstance(corrupt, CorruptFrame)
    assert moved == BooksMoved()
    row = updated(stream, [*executed[:25], "0", "10", *executed[27:]])
    assert (row.status, row.filled_quantity, row.pending_quantity) == ("COMPLETE", 10, 0)


def test_another_kind_of_message_moves_the_books_and_a_strategy_does_not(stream):
    assert stream.receive(event("order", [*CASH[:11], "9", *CASH[12:]])) == [BooksMoved()]
    for length in (19, 28):
        assert stream.receive(event("order", ["x"] * length)) == [Heartbeat()]


@pytest.mark.parametrize("message", [None, [], CASH[:5], CASH[:30], [*CASH[:23], "", *CASH[24:]], [*CASH[:24], "1.5", *CASH[25:]], [*CASH[:24], "0", *CASH[25:]]])  # fmt: skip
def test_a_message_that_names_no_order_is_a_corrupt_frame(stream, message):
    assert isinstance(stream.receive(event("order", message))[0], CorruptFrame)


def test_an_order_that_cannot_be_read_still_moves_the_books(stream):
    without_fills = [*CASH[:26], "", *CASH[27:]]
    for message in ([*CASH[:24], "1.5", *CASH[25:]], without_fills):
        seen = stream.receive(event("order", message))
        assert isinstance(seen[0], CorruptFrame)
        assert seen[1:] == [BooksMoved()]


@pytest.mark.parametrize("module", [feed, order_feed])
@pytest.mark.parametrize("frame", ["42" + "[" * 5000, "44" + "[" * 5000, '42["stock",[' + "9" * 400 + "]]"])
def test_no_odd_json_raises(access, module, frame):
    module.decoder(access, ADDRESS, {}).receive(frame)


@given(
    kind=st.sampled_from(["4", "5", "6", "7", "8"]),
    length=st.integers(12, 51),
    spoilt=st.dictionaries(st.integers(0, 50), VALUES, max_size=6),
)
def test_no_order_message_raises(access, kind, length, spoilt):
    message = [spoilt.get(place, kind if place == order_feed.MESSAGE_TYPE else "1") for place in range(length)]
    order_feed.decoder(access, ADDRESS, {}).receive(event("order", message))
