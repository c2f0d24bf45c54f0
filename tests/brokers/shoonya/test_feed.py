"""The one socket: login, images, order updates, and frames that are none. Random frames beside the official client's reader are in
tests/sdk."""

from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.events import (
    BooksMoved,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
    TradeUpdate,
)
from onebroker.brokers.records import DepthLevel
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.shoonya import feed
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
ADDRESS = StreamAddress(url="ws://feed")
TICKS = (Path(__file__).resolve().parents[2] / "data" / "shoonya" / "ticks.jsonl").read_text().splitlines()
UPDATE = {
    "t": "om", "norenordno": "20", "uid": "FA12345", "actid": "FA12345", "exch": "NSE", "tsym": "TCS-EQ", "trantype": "B",
    "qty": "10", "prc": "3100.00", "pcode": "I", "status": "OPEN", "reporttype": "Fill", "prctyp": "LMT", "ret": "DAY",
    "exchordid": "77", "remarks": "tag", "norentm": "10:00:00 23-11-2026", "exch_tm": "23-11-2026 10:00:01",
    "fillshares": "4", "avgprc": "3099.50", "flid": "101", "flqty": "4", "flprc": "3099.50", "fltm": "23-11-2026 10:00:01",
}  # fmt: skip


@pytest.fixture
def decoder(access, listings):
    return feed.decoder(access, ADDRESS, listings)


def text(**fields):
    return msgspec.json.encode(fields).decode()


def ticks(events):
    (event,) = events
    assert isinstance(event, Ticks)
    return event.ticks


def test_the_address_needs_no_call_and_the_first_frame_is_the_login(access):
    with pytest.raises(StopIteration) as done:
        next(feed.address(access, NOW))
    assert done.value.value.url == "wss://api.shoonya.com/NorenWSAPI/"
    (opening,) = feed.opening_messages(access)
    expected = {"t": "a", "uid": "FA12345", "actid": "FA12345", "accesstoken": "token", "source": "API"}
    assert msgspec.json.decode(opening) == expected


def test_after_the_login_orders_are_asked_for_and_subscriptions_may_go(decoder):
    reply, ready = decoder.receive('{"t":"ak","uid":"FA12345","s":"OK"}')
    assert isinstance(reply, Reply)
    assert msgspec.json.decode(reply.message) == {"t": "o", "actid": "FA12345"}
    assert isinstance(ready, Ready)


@pytest.mark.parametrize(
    "frame",
    ['{"t":"ak","s":"Not_Ok"}', '{"t":"ck"}', '{"stat":"Not_Ok","emsg":"Session Expired : Invalid Session Key"}'],
)
def test_a_login_that_is_not_taken_is_dead(decoder, frame):
    (event,) = decoder.receive(frame)
    assert isinstance(event, SessionDead)


def test_recorded_ticks_snapshot_then_change(decoder):
    (whole,) = ticks(decoder.receive(TICKS[0]))
    assert (whole.broker_token, whole.last_price, whole.high, whole.low) == ("NSE|11630", 118.55, 118.65, 118.1)
    assert (whole.average_price, whole.volume, whole.open, whole.exchange_time) == (118.39, 162220, None, None)
    assert (whole.buy, whole.sell) == ((DepthLevel(118.45, 26),), (DepthLevel(118.5, 6325),))
    (change,) = ticks(decoder.receive(TICKS[1].encode()))
    assert change == msgspec.structs.replace(whole, last_price=118.6)


def test_each_scrip_has_its_own_image_and_a_snapshot_begins_it_anew(decoder):
    decoder.receive(text(t="dk", e="NSE", tk="1", lp="10", v="5", oi="7"))
    decoder.receive(text(t="dk", e="NFO", tk="1", lp="20"))
    assert ticks(decoder.receive(text(t="df", e="NSE", tk="1", v="6")))[0].volume == 6
    (other,) = ticks(decoder.receive(text(t="df", e="NFO", tk="1", lp="21")))
    assert (other.last_price, other.volume) == (21.0, None)
    (anew,) = ticks(decoder.receive(text(t="dk", e="NSE", tk="1", lp="11")))
    assert (anew.volume, anew.oi) == (None, None)


def test_a_change_without_a_snapshot_and_one_without_a_price_make_no_tick(decoder):
    assert decoder.receive(text(t="df", e="NSE", tk="1", v="6")) == [Heartbeat()]
    assert ticks(decoder.receive(text(t="df", e="NSE", tk="1", lp="9")))[0].volume == 6
    assert decoder.receive(text(t="dk", e="NSE", tk="2", lp="0.00")) == [Heartbeat()]


def test_quantities_are_in_units_and_unknown_where_the_factor_is(decoder):
    gold = text(t="dk", e="MCX", tk="477176", lp="123500", v="250", oi="30", bp1="123499", bq1="20", bo1="2")
    (tick,) = ticks(decoder.receive(gold))
    assert (tick.volume, tick.oi, tick.buy, tick.sell) == (25, 3, (DepthLevel(123499.0, 2, 2),), ())
    (unknown,) = ticks(decoder.receive(text(t="dk", e="MCX", tk="9", lp="5", v="250", bq1="1", bp1="4")))
    assert (unknown.last_price, unknown.volume, unknown.buy) == (5.0, None, None)


def test_the_last_trades_day_is_known_only_where_something_was_traded_on_it(decoder):
    sent = int(NOW.timestamp())
    (tick,) = ticks(decoder.receive(text(t="dk", e="NSE", tk="1", lp="9", ft=str(sent), ltt="09:59:58", v="4")))
    assert (tick.exchange_time, tick.last_trade_time) == (sent, sent - 2)
    for change in ({"v": "0"}, {"v": "4", "ltt": "15:29:59"}, {"ltt": "nonsense"}):
        assert ticks(decoder.receive(text(t="df", e="NSE", tk="1", **change)))[0].last_trade_time is None


def test_an_index_has_neither_depth_nor_volume(decoder):
    (tick,) = ticks(
        decoder.receive(text(t="dk", e="NSE", tk="26000", lp="26050.10", o="26000", c="25990", ft="1780000000"))
    )
    assert (tick.previous_close, tick.buy, tick.volume) == (25990.0, None, None)


def test_a_fill_is_an_order_as_it_stands_and_a_trade(decoder):
    order, trade = decoder.receive(msgspec.json.encode(UPDATE))
    assert isinstance(order, OrderUpdate)
    assert isinstance(trade, TradeUpdate)
    assert (order.order.instrument_token, order.order.product, order.order.status) == ("NSE|11536", "MIS", "OPEN")
    assert (order.order.filled_quantity, order.order.pending_quantity, order.order.average_price) == (4, 6, 3099.5)
    assert (trade.trade.trade_id, trade.trade.quantity, trade.trade.price) == ("101", 4, 3099.5)


def test_a_later_update_without_fills_does_not_take_them_back(decoder):
    decoder.receive(msgspec.json.encode(UPDATE))
    later = {
        name: value
        for name, value in UPDATE.items()
        if not name.startswith("fl") and name not in ("fillshares", "avgprc")
    }
    (order,) = decoder.receive(msgspec.json.encode({**later, "reporttype": "Canceled", "status": "CANCELED"}))
    assert (order.order.status, order.order.filled_quantity, order.order.cancelled_quantity) == ("CANCELLED", 4, 6)
    assert order.order.average_price == 3099.5


def test_a_later_update_may_leave_out_the_average(decoder):
    decoder.receive(msgspec.json.encode(UPDATE))
    later = {name: value for name, value in UPDATE.items() if not name.startswith("fl") and name != "avgprc"}
    (order,) = decoder.receive(msgspec.json.encode({**later, "fillshares": "4"}))
    assert (order.order.filled_quantity, order.order.average_price) == (4, 3099.5)


@pytest.mark.parametrize("change", [{"flprc": "0"}, {"fillshares": "1.5"}, {"norenordno": ""}, {"status": None}])
def test_an_update_that_cannot_be_read_still_has_the_books_read(decoder, change):
    seen = decoder.receive(msgspec.json.encode({**UPDATE, **change}))
    assert isinstance(seen[0], CorruptFrame)
    assert seen[1:] == [BooksMoved()]


def test_an_update_of_what_is_not_listed_has_the_books_read(decoder, access, listings):
    unknown = msgspec.json.encode({**UPDATE, "tsym": "NOBODY-EQ"})
    assert decoder.receive(unknown) == [BooksMoved()]
    (order, _) = decoder.receive(msgspec.json.encode({**UPDATE, "tsym": "NOBODY-EQ", "token": "5"}))
    assert order.order.instrument_token == "NSE|5"
    later = feed.decoder(access, ADDRESS, listings)
    assert later.receive(unknown) == [BooksMoved()]
    listings["NSE|7"] = msgspec.structs.replace(listings["NSE|11536"], broker_token="NSE|7", tradingsymbol="NOBODY-EQ")
    assert later.receive(unknown)[0].order.instrument_token == "NSE|7"


def test_signs_of_life_and_refusals(decoder):
    for kind in ("h", "ok", "uok", "uk", "udk"):
        assert decoder.receive(text(t=kind)) == [Heartbeat()]
    assert decoder.receive(text(t="ms")) == []
    assert decoder.receive(text(stat="Not_Ok", emsg="Invalid Input")) == [StreamRefused("Invalid Input")]


def test_subscriptions_go_in_hundreds(listings):
    many = [msgspec.structs.replace(listings["NSE|11536"], broker_token=f"NSE|{n}") for n in range(150)]
    first, second = map(msgspec.json.decode, feed.subscribe_messages(None, many))
    assert first["t"] == second["t"] == "d"
    assert (first["k"].count("#"), second["k"].count("#")) == (99, 49)
    assert msgspec.json.decode(feed.unsubscribe_messages(None, many[:2])[0]) == {"t": "ud", "k": "NSE|0#NSE|1"}
    assert feed.subscribe_messages(None, []) == []
    assert feed.ping_message() == '{"t":"h"}'


@pytest.mark.parametrize(
    "frame",
    ["", "{", "[]", "null", b"\xff\xfe", '{"a":1}', '{"t":"df"}', '{"t":"df","e":"NSE"}', '{"t":"om"}', "[" * 100000],
)
def test_what_is_no_frame_is_corrupt_and_changes_nothing(decoder, frame):
    decoder.receive(TICKS[0])
    event, *_ = decoder.receive(frame)
    assert isinstance(event, CorruptFrame)
    assert ticks(decoder.receive(TICKS[1]))[0].last_price == 118.6


FIELDS = st.dictionaries(
    st.sampled_from(
        ["lp", "v", "bq1", "bp1", "bo1", "ft", "ltt", "oi", "qty", "fillshares", "flid", "flqty", "s", "emsg"]
    ),
    st.one_of(
        st.text(max_size=6), st.integers(), st.floats(), st.none(), st.lists(st.none()), st.just("1e400"), st.just("-5")
    ),
)
FRAMES = st.one_of(
    st.binary(max_size=50),
    st.text(max_size=50),
    st.tuples(st.sampled_from(["ak", "tk", "tf", "dk", "df", "om", "h", "x"]), FIELDS).map(
        lambda pair: msgspec.json.encode({**UPDATE, "e": "NSE", "tk": "22", **pair[1], "t": pair[0]})
    ),
    st.integers(0, 200).map(lambda cut: msgspec.json.encode(UPDATE)[:cut]),
)


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(frames=st.lists(FRAMES, max_size=8))
def test_no_frame_makes_the_decoder_raise_or_tell_an_impossible_price(access, listings, frames):
    decoder = feed.decoder(access, ADDRESS, listings)
    for frame in frames:
        for event in decoder.receive(frame):
            if isinstance(event, Ticks):
                assert all(0 < tick.last_price < float("inf") for tick in event.ticks)
