"""ICICI Direct's streams: Socket.IO framing, quote and depth arrays, order messages; the SDK reads the same frames in
tests/sdk."""

from datetime import datetime

import msgspec
import pytest
from hypothesis import given
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
)
from onebroker.brokers.icicidirect import feed, order_feed
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import StreamAddress
from onebroker.config.clock import IST

NOW = datetime(2025, 2, 12, 11, 12, 20, tzinfo=IST)
ADDRESS = StreamAddress(url="ws://feed")
LTT = NOW.timestamp()


def event(name, argument):
    return f"42{msgspec.json.encode([name, argument]).decode()}"


@pytest.fixture
def market(access, share, index, option, bse_option):
    commodity = Listing(broker_token="MCX:ZINC:2026-12-31", tradingsymbol="", exchange="MCX", other_names="6!4001")
    bse = Listing(broker_token="BSE:RELIND", tradingsymbol="RELIND", exchange="BSE", other_names="1!500325")
    decoder = feed.decoder(access, ADDRESS, {})
    decoder.subscribing([share, index, option, bse_option, commodity, bse])
    return decoder


def ticked(decoder, array):
    (seen,) = decoder.receive(event("stock", array))
    assert isinstance(seen, Ticks), seen
    (tick,) = seen.ticks
    return tick


# framing


@pytest.mark.parametrize(("module", "host"), [(feed, "livestream"), (order_feed, "livefeeds")])
def test_the_address_asks_for_a_websocket_of_engine_io_4(access, module, host):
    flow = module.address(access, NOW)
    with pytest.raises(StopIteration) as stopped:
        next(flow)
    address = stopped.value.value
    assert address.url.startswith(f"wss://{host}.icicidirect.com/socket.io/?transport=websocket&EIO=4&t=")
    assert address.headers == {"User-Agent": "python-socketio[client]/socket"}
    assert module.opening_messages(access) == []
    assert module.ping_message() is None


@pytest.mark.parametrize("module", [feed, order_feed])
def test_the_handshake_and_the_heartbeat_are_answered(access, module):
    decoder = module.decoder(access, ADDRESS, {})
    opened = '0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000}'
    assert decoder.receive(opened) == [Reply('40{"user":"AB123456","token":"98765432"}')]
    assert decoder.receive('40{"sid":"y"}') == [Ready()]
    assert decoder.receive("2") == [Reply("3"), Heartbeat()]
    assert decoder.receive("6") == decoder.receive("430[]") == [Heartbeat()]
    assert decoder.receive('44{"message":"bad credentials"}') == [SessionDead("bad credentials")]
    assert isinstance(decoder.receive("44")[0], SessionDead)
    assert isinstance(decoder.receive("41")[0], SessionDead)
    assert isinstance(decoder.receive("1")[0], StreamRefused)
    for odd in ("", "9", "hello", "42", "42{}", "42[]", "42[1]", "42[", b"\x04", '42["stock"'):
        assert isinstance(decoder.receive(odd)[0], CorruptFrame), odd
    assert decoder.receive('42["other",1]') == [Heartbeat()]
    assert "98765432" not in repr(decoder.receive(opened))


def test_rooms_are_joined_with_depth_where_there_is_any(share, index, option, bse_option):
    (message,) = feed.subscribe_messages(None, [share, index, option, bse_option])
    assert (
        message == '42["join",["4.1!2885","4.2!2885","4.1!NIFTY 50","4.1!51219","4.2!51219","8.1!844663","8.2!844663"]]'
    )
    assert feed.unsubscribe_messages(None, [share]) == ['42["leave","4.1!2885"]', '42["leave","4.2!2885"]']
    many = [
        Listing(broker_token=f"NSE:{n}", tradingsymbol="", exchange="NSE", other_names=f"4!{n}") for n in range(600)
    ]
    assert [len(msgspec.json.decode(each[2:])[1]) for each in feed.subscribe_messages(None, many)] == [500, 500, 200]
    nowhere = Listing(broker_token="NSE:X", tradingsymbol="X", exchange="NSE")
    assert feed.subscribe_messages(None, [nowhere]) == []


# quotes and depth, with the figures of the recorded ticks

SHARE = ["4.1!2885", 1219.45, 1209.05, 1226.9, 1193.35, -2.09, 1209.05, 13, 1209.35, 34, 1, 1208.86, 10991550, 762919, 619405, "1328.72C", "", 1111.4, 1358.3, int(LTT), 1234.85]  # fmt: skip
OPTION = ["4.1!51219", 11.4, 8.5, 11.4, 3.1, -28.27, 8.5, 9300, 8.6, 8700, 75, 5.41, 4763100, None, 70816125, 1974300, 548625, "38.31C", "", 0.05, 39.15, int(LTT), 11.85]  # fmt: skip
INDEX = ["4.1!NIFTY 50", 24748.7, 25006.2, 25029.5, 24671.45, 1.03, *[None] * 10, "+", None, None, int(LTT), 24750.9]


def test_the_arrays_are_those_of_the_recorded_ticks(recorded, market):
    for name, array in (("share", SHARE), ("option", OPTION), ("index", INDEX)):
        told, tick = recorded["ticks"][name], ticked(market, array)
        assert (tick.last_price, tick.open, tick.high, tick.low, tick.previous_close) == tuple(
            told[field] for field in ("last", "open", "high", "low", "close")
        )
        assert (tick.volume, tick.buy_quantity, tick.sell_quantity, tick.last_quantity, tick.average_price) == tuple(
            told[field] for field in ("ttq", "totalBuyQt", "totalSellQ", "ltq", "avgPrice")
        )
        assert tick.oi == told.get("OI")
        assert (tick.buy, tick.sell, tick.last_trade_time, tick.exchange_time) == (None, None, LTT, LTT)


def levels_of(told):
    names = (
        "BestBuyRate",
        "BestBuyQty",
        "BuyNoOfOrders",
        "BuyFlag",
        "BestSellRate",
        "BestSellQty",
        "SellNoOfOrders",
        "SellFlag",
    )
    return [
        [level[f"{name}-{n}"] for name in names if f"{name}-{n}" in level] for n, level in enumerate(told["depth"], 1)
    ]


@pytest.mark.parametrize(("quote", "depth", "room"), [("option", "option_depth", "4.2!51219"), ("bse_option", "bse_option_depth", "8.2!844663")])  # fmt: skip
def test_depth_stands_beside_the_newest_quote(recorded, market, quote, depth, room):
    told = recorded["ticks"][depth]
    assert market.receive(event("stock", [room, int(LTT) + 3, levels_of(told)])) == [Heartbeat()]
    first = ticked(market, [room.replace(".2!", ".1!"), *OPTION[1:]])
    assert [level.price for level in first.buy] == [told["depth"][n - 1][f"BestBuyRate-{n}"] for n in range(1, 6)]
    assert first.buy[0] == DepthLevel(
        told["depth"][0]["BestBuyRate-1"], told["depth"][0]["BestBuyQty-1"], told["depth"][0]["BuyNoOfOrders-1"]
    )
    assert first.exchange_time == LTT + 3  # never before what was shown
    again = ticked(market, [room, int(LTT) + 9, levels_of(told)[:1]])
    assert (len(again.buy), again.last_price, again.exchange_time) == (1, 8.5, LTT + 9)


def test_bse_shares_have_levels_of_four_and_empty_levels_are_dropped(market):
    ticked(market, ["1.1!500325", *SHARE[1:]])
    tick = ticked(market, ["1.2!500325", int(LTT), [[420.0, 10, 420.5, 12], [0, 0, 421.0, 25], [419.0, 0, 0, 0]]])
    assert tick.buy == (DepthLevel(420.0, 10),)
    assert tick.sell == (DepthLevel(420.5, 12), DepthLevel(421.0, 25))


def test_an_mcx_array_holds_its_levels(market):
    array = ["6.1!4001", 0, 0, 0, 1000, 350.5, 5, int(LTT), 349.8, 500, 450, "", 349.0, 348.0, 352.0, 347.0, 0, 12500, 300, 500.0, 100.0, 350500.0, [10, 350.4, 2, 0, 12, 350.6, 3, 0]]  # fmt: skip
    tick = ticked(market, array)
    assert (tick.last_price, tick.open, tick.high, tick.low, tick.previous_close) == (350.5, 348.0, 352.0, 347.0, 349.0)
    assert (tick.volume, tick.last_quantity, tick.oi, tick.average_price) == (1000, 5, 12500, 349.8)
    assert (tick.buy, tick.sell) == ((DepthLevel(350.4, 10, 2),), (DepthLevel(350.6, 12, 3),))


def test_a_room_nobody_subscribed_and_a_price_that_is_none_are_signs_of_life(market):
    for array in (["4.1!1", *SHARE[1:]], [SHARE[0], 0, 0, *SHARE[3:]], ["99.9!9999", 1, 2, 3]):
        assert market.receive(event("stock", array)) == [Heartbeat()]


@pytest.mark.parametrize("argument", [None, 7, [], [7], SHARE[:-1], [*SHARE, 1], ["4.2!2885"], ["4.2!2885", 1, 2], ["4.2!2885", 1, [[1]]], ["4.3!2885", 1, 2], ["6.1!4001", 1]])  # fmt: skip
def test_an_array_of_another_shape_is_a_corrupt_frame(market, argument):
    assert isinstance(market.receive(event("stock", argument))[0], CorruptFrame)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**18) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=9),
    max_leaves=12,
)  # fmt: skip


@given(
    room=st.sampled_from(["4.1!2885", "4.2!2885", "8.2!844663", "6.1!4001", "x"]), rest=st.lists(VALUES, max_size=24)
)
def test_no_array_raises(access, share, bse_option, room, rest):
    decoder = feed.decoder(access, ADDRESS, {})
    decoder.subscribing(
        [share, bse_option, Listing(broker_token="M", tradingsymbol="", exchange="MCX", other_names="6!4001")]
    )
    decoder.receive(event("stock", SHARE))
    assert decoder.receive(event("stock", [room, *rest]))


@given(
    frame=st.one_of(st.text(max_size=30), st.binary(max_size=30), st.text(max_size=30).map(lambda text: f"42{text}"))
)
def test_no_frame_raises(access, frame):
    for module in (feed, order_feed):
        module.decoder(access, ADDRESS, {}).receive(frame)


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


def test_what_was_seen_before_an_instrument_was_left_is_not_served_again(recorded, access, share):
    decoder = feed.decoder(access, ADDRESS, {})
    decoder.subscribing([share])
    quote = ["4.1!2885", 1, 100.5, 2, 1, 0, 100, 1, 101, 1, 1, 100, 10, 5, 5, "", "", 1, 2, LTT, 99]
    depth = ["4.2!2885", LTT + 900, [[100.0, 5, 1, "", 101.0, 5, 1, ""]]]
    assert ticked(decoder, quote).last_price == 100.5
    decoder.subscribing([share])
    assert decoder.receive(event("stock", depth)) == [Heartbeat()]


def test_a_stamp_that_is_no_time_does_not_stick(access, share):
    decoder = feed.decoder(access, ADDRESS, {})
    decoder.subscribing([share])
    quote = ["4.1!2885", 1, 100.5, 2, 1, 0, 100, 1, 101, 1, 1, 100, 10, 5, 5, "", "", 1, 2, LTT, 99]
    decoder.receive(event("stock", ["4.2!2885", 1e300, []]))
    assert ticked(decoder, quote).exchange_time == LTT


@given(
    kind=st.sampled_from(["4", "5", "6", "7", "8"]),
    length=st.integers(12, 51),
    spoilt=st.dictionaries(st.integers(0, 50), VALUES, max_size=6),
)
def test_no_order_message_raises(access, kind, length, spoilt):
    message = [spoilt.get(place, kind if place == order_feed.MESSAGE_TYPE else "1") for place in range(length)]
    order_feed.decoder(access, ADDRESS, {}).receive(event("order", message))
