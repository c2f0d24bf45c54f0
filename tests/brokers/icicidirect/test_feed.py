"""ICICI Direct's market stream: Socket.IO framing, quote and depth arrays; the SDK reads the same frames in tests/sdk."""

from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.events import (
    CorruptFrame,
    Heartbeat,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.icicidirect import feed, order_feed
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.config.clock import IST
from tests.brokers.icicidirect.frames import ADDRESS, VALUES, event

NOW = datetime(2025, 2, 12, 11, 12, 20, tzinfo=IST)
LTT = NOW.timestamp()


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
