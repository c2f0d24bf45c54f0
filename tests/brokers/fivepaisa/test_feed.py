"""The one socket: its address, what is subscribed, market data put together, orders mapped from one number to the other."""

from datetime import datetime

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.events import (
    BooksMoved,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
    TradeUpdate,
)
from onebroker.brokers.fivepaisa import feed
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import StreamAddress
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)
QUOTE = {
    "Exch": "N", "ExchType": "C", "Token": 1660, "LastRate": 434.5, "LastQty": 5, "TotalQty": 900, "High": 436, "Low": 430,
    "OpenRate": 431, "PClose": 432, "AvgRate": 433.25, "Time": 36000, "BidQty": 7, "BidRate": 434.45, "OffQty": 8,
    "OffRate": 434.55, "TBidQ": 70, "TOffQ": 80, "TickDt": "/Date(1715238154000)/", "ChgPcnt": 0.5,
}  # fmt: skip
DEPTH = {
    "Exch": "N", "ExchType": "C", "Token": 1660, "TBidQ": 71, "TOffQ": 81, "TimeStamp": 0, "Time": "/Date(1715238153000)/",
    "Details": [
        {"Quantity": 5, "Price": 434.4, "NumberOfOrders": 2, "BbBuySellFlag": 66},
        {"Quantity": 0, "Price": 0, "NumberOfOrders": 0, "BbBuySellFlag": 66},
        {"Quantity": 6, "Price": 434.6, "NumberOfOrders": 3, "BbBuySellFlag": 83},
    ],
}  # fmt: skip


@pytest.fixture
def decoder(access, listings):
    return feed.decoder(access, StreamAddress(url="ws://feed"), listings)


@pytest.fixture
def say(decoder):
    return lambda message: decoder.receive(msgspec.json.encode(message).decode())


def url(access):
    with pytest.raises(StopIteration) as done:
        next(feed.address(access, NOW))
    return done.value.value.url


def with_token(access, token):
    return attrs.evolve(access, login=attrs.evolve(access.login, tokens={"AccessToken": token}))


def test_the_host_is_the_one_the_token_names_and_only_at_the_real_broker(access):
    b = with_token(access, "x.eyJSZWRpcmVjdFNlcnZlciI6IkIifQ.x")
    assert url(b) == "wss://bopenfeed.5paisa.com/feeds/api/chat?Value1=x.eyJSZWRpcmVjdFNlcnZlciI6IkIifQ.x%7CCLIENT_CODE"
    assert url(access).startswith("wss://openfeed.5paisa.com/")
    elsewhere = attrs.evolve(b, endpoints=attrs.evolve(b.endpoints, stream_url="ws://127.0.0.1:9001/feeds/api/chat"))
    assert url(elsewhere).startswith("ws://127.0.0.1:9001/feeds/api/chat?Value1=")
    assert "eyJ" not in repr(StreamAddress(url=url(b)))


def test_order_updates_are_asked_for_first(access):
    (message,) = feed.opening_messages(access)
    assert msgspec.json.decode(message) == {
        "Method": "OrderTradeConfirmations", "Operation": "Subscribe", "ClientCode": "CLIENT_CODE",
    }  # fmt: skip
    assert feed.ping_message() is None


def test_everything_there_is_is_subscribed_in_portions_of_fifty(access):
    def listing(token):
        return Listing(broker_token=token, tradingsymbol=token, exchange="")

    many = [listing(f"N:C:{code}") for code in range(1, 61)] + [listing("N:C:999920000"), listing("N:D:5")]
    messages = [msgspec.json.decode(message) for message in feed.subscribe_messages(access, many)]
    assert [(each["Method"], len(each["MarketFeedData"])) for each in messages] == [
        ("MarketFeedV3", 50), ("MarketFeedV3", 12), ("MarketDepthService", 50), ("MarketDepthService", 11),
        ("GetScripInfoForFuture", 1),
    ]  # fmt: skip
    assert messages[0]["MarketFeedData"][0] == {"Exch": "N", "ExchType": "C", "ScripCode": 1}
    assert {each["Operation"] for each in messages} == {"Subscribe"}
    gone = msgspec.json.decode(feed.unsubscribe_messages(access, many[:1])[0])
    assert (gone["Operation"], len(feed.unsubscribe_messages(access, many[:1]))) == ("Unsubscribe", 2)
    assert {each["ClientCode"] for each in (*messages, gone)} == {"CLIENT_CODE"}


def test_quote_depth_and_open_interest_make_one_image(say):
    (first,) = say([QUOTE])
    (tick,) = first.ticks
    assert (tick.broker_token, tick.last_price, tick.average_price, tick.volume) == ("N:C:1660", 434.5, 433.25, 900)
    assert (tick.open, tick.high, tick.low, tick.previous_close) == (431.0, 436.0, 430.0, 432.0)
    assert (tick.buy, tick.sell) == ((DepthLevel(434.45, 7),), (DepthLevel(434.55, 8),)), "the best level, for a start"
    assert tick.exchange_time == 1715238154.0
    ((tick,),) = [event.ticks for event in say(DEPTH)]
    assert (tick.last_price, tick.buy_quantity) == (434.5, 71)
    assert (tick.buy, tick.sell) == ((DepthLevel(434.4, 5, 2),), (DepthLevel(434.6, 6, 3),))
    assert tick.exchange_time == 1715238154.0, "never older than before"
    ((tick,),) = [
        event.ticks for event in say([{"Exch": "N", "ExchType": "C", "Token": 1660, "LastRate": 0, "TotalQty": 905}])
    ]
    assert (tick.last_price, tick.volume, tick.high) == (434.5, 905, 436.0), "what is left out or zero stays"


def test_nothing_is_served_before_the_first_price(say):
    assert say(DEPTH) == [Heartbeat()]
    assert say({"Exch": "N", "ExchType": "D", "Token": 5, "OpenInterest": 5, "DayHiOI": 6, "DayLoOI": 4}) == [
        Heartbeat()
    ]
    ((tick,),) = [event.ticks for event in say([{"Exch": "N", "ExchType": "D", "Token": 5, "LastRate": 10}])]
    assert (tick.oi, tick.oi_day_high, tick.oi_day_low, tick.exchange_time) == (5, 6, 4, None)


def test_contracts_are_units_where_their_size_is_known(say):
    row = {"ExchType": "D", "Exch": "M", "LastRate": 5000, "TotalQty": 3, "BidQty": 1, "BidRate": 4999}
    (event,) = say([row | {"Token": 8002}, row | {"Token": 8001}])
    known, unknown = event.ticks
    assert (known.volume, known.buy[0].quantity) == (300, 100)
    assert (unknown.last_price, unknown.volume, unknown.buy) == (5000.0, None, None)


def order(**more):
    return {
        "ReqType": "P", "ClientCode": "CLIENT_CODE", "Exch": "N", "ExchType": "C", "ScripCode": 1660, "Symbol": "ITC",
        "Series": "EQ", "BrokerOrderID": 77, "ExchOrderID": "1202", "ExchOrderTime": "2024-05-09 11:32:30", "BuySell": "B",
        "Qty": 10, "Price": 434.15, "PendingQty": 10, "TradedQty": 0, "AtMarket": "N", "WithSL": "N", "SLTriggerRate": 0,
        "DisclosedQty": 0, "RemoteOrderId": "ob1", "Product": "D", "ReqStatus": 0, "Status": "Placed", "Remark": "", **more,
    }  # fmt: skip


def fill(**more):
    return {
        "ReqType": "T", "ClientCode": "CLIENT_CODE", "Exch": "N", "ExchType": "C", "ScripCode": 1660, "Symbol": "ITC",
        "ExchOrderID": "1202", "ExchTradeId": "t1", "ExchTradeTime": "2024-05-09 11:32:34", "BuySell": "B", "Qty": 4,
        "Price": 434.0, "PendingQty": 6, "TotalTradedQty": 4, "OrderQty": 10, "OrderPrice": 434.15, "RemoteOrderId": "ob1",
        "Product": "D", "ReqStatus": 0, "Status": "Partially Executed", "Remark": "", **more,
    }  # fmt: skip


def test_the_documented_place_and_fill_are_one_order(decoder, recorded):
    (placed,) = decoder.receive(recorded("placed").body.decode())
    assert isinstance(placed, OrderUpdate)
    assert (placed.order.order_id, placed.order.status, placed.order.tag) == ("672112771", "OPEN", "204059112343")
    traded, done = decoder.receive(recorded("fill").body.decode())
    assert isinstance(traded, TradeUpdate)
    assert (traded.trade.trade_id, traded.trade.order_id, traded.trade.price) == ("234495", "672112771", 434.2)
    row = done.order
    assert (row.order_id, row.status, row.filled_quantity, row.pending_quantity) == ("672112771", "COMPLETE", 1, 0)
    assert (row.average_price, row.exchange_timestamp) == (434.2, "2024-05-09T11:32:34+05:30")


def test_part_fills_are_open_with_the_average_of_what_filled_and_count_once(say):
    say(order())
    _, first = say(fill())
    assert (first.order.status, first.order.filled_quantity, first.order.average_price) == ("OPEN", 4, 434.0)
    assert say(fill()) == say(fill()), "told twice"
    _, done = say(fill(ExchTradeId="t2", Qty=6, Price=434.15, PendingQty=0, TotalTradedQty=10, Status="Fully Executed"))
    assert (done.order.status, done.order.filled_quantity) == ("COMPLETE", 10)
    assert done.order.average_price == 434.09
    _, late = say(fill())
    assert (late.order.status, late.order.filled_quantity) == ("COMPLETE", 10), "an old fill takes nothing back"


def test_a_fill_of_an_order_not_known_asks_for_the_books(say):
    assert say(fill()) == [BooksMoved()]
    assert say(fill(ReqType="S")) == [BooksMoved()]
    assert say(order(TradedQty=5, PendingQty=5)) == [BooksMoved()], "whose average is not known"
    say(order())
    traded, moved = say(fill(ExchTradeId="t9", Qty=4, TotalTradedQty=8, PendingQty=2))
    assert isinstance(traded, TradeUpdate)
    assert moved == BooksMoved(), "a fill before it was missed"


def test_each_exchange_counts_its_orders_by_itself(say):
    say(order())
    assert say(fill(Exch="B")) == [BooksMoved()]


def test_modify_cancel_and_rejection(say):
    say(order())
    (changed,) = say(order(ReqType="M", Qty=15, PendingQty=15, Status="Modified", ExchOrderTime="2024-05-09 11:40:00"))
    assert changed.order.order_timestamp == "2024-05-09T11:32:30+05:30", "when it was placed"
    assert changed.order.exchange_timestamp == "2024-05-09T11:40:00+05:30"
    assert (changed.order.status, changed.order.quantity) == ("OPEN", 15)
    (gone,) = say(order(ReqType="C", Qty=15, PendingQty=0, Status="Cancelled"))
    assert (gone.order.status, gone.order.cancelled_quantity, gone.order.pending_quantity) == ("CANCELLED", 15, 0)
    (no,) = say(order(ExchOrderID="0", BrokerOrderID=78, ReqStatus=1, Status="Rejected By 5P", Remark="No margin"))
    assert (no.order.status, no.order.status_message, no.order.exchange_order_id) == ("REJECTED", "No margin", None)


@pytest.mark.parametrize(
    "more", [{"ReqType": "M"}, {"ReqType": "C"}, {"Status": "Placed"}, {"BrokerOrderID": 0, "ReqStatus": 0}]
)
def test_a_request_that_failed_says_nothing_of_the_order(say, more):
    assert say(order(**{"ReqStatus": 1, **more})) == [BooksMoved()]


def test_a_stop_waits_until_it_is_triggered(say):
    (waiting,) = say(order(SLTriggerRate=433.0, WithSL="Y"))
    assert (waiting.order.status, waiting.order.order_type) == ("PENDING", "SL")
    (working,) = say({**fill(ReqType="S", Status="SL Triggered"), "SLTriggerRate": 433.0})
    assert (working.order.status, working.order.order_id) == ("OPEN", "77")
    (changed,) = say(order(ReqType="M", SLTriggerRate=433.0, WithSL="Y", Status="Modified"))
    assert changed.order.status == "OPEN"


def test_confirmations_may_come_as_a_list(say):
    events = say([order(), fill()])
    assert [type(event) for event in events] == [OrderUpdate, TradeUpdate, OrderUpdate]


def test_signs_of_life_and_words_of_refusal(decoder, say):
    assert decoder.receive("PONG") == [Heartbeat()]
    assert decoder.receive("PING") == [Reply("PONG"), Heartbeat()]
    assert say([]) == [Heartbeat()]
    assert say({"Message": "Invalid Session", "Status": 9}) == [SessionDead("Invalid Session")]
    assert say({"Message": "Unknown method"}) == [StreamRefused("Unknown method")]


@pytest.mark.parametrize(
    "message", [5, "text", [5], [{**QUOTE, "LastQty": -1}], {**DEPTH, "Details": 5}]
)  # fmt: skip
def test_what_contradicts_itself_is_dropped_whole(say, message):
    assert [type(event) for event in say(message)] == [CorruptFrame]


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (None, [CorruptFrame]), (7, [CorruptFrame]), ("x", [CorruptFrame]), ([], [CorruptFrame]),
        ({**QUOTE, "LastQty": -1}, [CorruptFrame]), ({"ReqType": "P"}, [CorruptFrame, BooksMoved]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("behind", [False, True])
def test_an_odd_row_of_a_message_costs_itself(say, odd, told, behind):
    (whole,) = say([QUOTE])
    ticks, *others = say([QUOTE, odd] if behind else [odd, QUOTE])
    assert ticks == whole
    assert [type(event) for event in others] == told


@pytest.mark.parametrize("level", [None, 7, "x", []])
def test_a_level_that_is_none_leaves_the_depth_as_it_was(say, level):
    say([QUOTE])
    (before,) = say([DEPTH])
    moved = {**DEPTH, "Details": [{**one, "Price": one["Price"] + 1} for one in DEPTH["Details"]]}
    assert [type(event) for event in say([{**moved, "Details": [*moved["Details"], level]}])] == [CorruptFrame]
    (after,) = say([QUOTE])
    assert (after.ticks[0].buy, after.ticks[0].sell) == (before.ticks[0].buy, before.ticks[0].sell)
    (new,) = say([moved])
    assert new.ticks[0].buy != before.ticks[0].buy


@pytest.mark.parametrize(
    "message", [{**order(), "Qty": 1.5}, {"ReqType": "P"}, {**order(), "Status": None}, [{"ReqType": "P"}]]
)
def test_an_order_message_that_cannot_be_read_still_has_the_books_read(say, message):
    assert [type(event) for event in say(message)] == [CorruptFrame, BooksMoved]


def test_what_was_known_before_an_instrument_was_left_is_not_served_again(decoder, say, listings):
    share = listings["N:C:1660"]
    decoder.subscribing([share])
    assert say([QUOTE])[0].ticks
    decoder.subscribing([share])
    assert say(DEPTH) == [Heartbeat()]


def test_a_stamp_that_is_no_time_does_not_stick(say):
    say({**DEPTH, "Time": "/Date(999999999999999)/"})
    assert say([QUOTE])[0].ticks[0].exchange_time == 1715238154.0


WHOLE = [msgspec.json.encode(each).decode() for each in ([QUOTE], DEPTH, order(), fill())]


@given(st.sampled_from(WHOLE), st.integers(0, 2000), st.text(max_size=5))
def test_cut_and_damaged_messages_never_raise(text, at, noise):
    decoder = feed.FivepaisaFrames({})
    cut = at % len(text)
    assert all(not isinstance(event, Ticks | OrderUpdate) for event in decoder.receive(text[:cut]))
    decoder.receive(text[:cut] + noise + text[cut:])
    decoder.receive((text[:cut] + noise).encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(frame):
    feed.FivepaisaFrames({}).receive(frame)


@given(st.dictionaries(st.sampled_from([*order(), *fill(), *QUOTE, "Details", "OpenInterest", "SLTriggered"]), st.one_of(st.none(), st.booleans(), st.integers(-10, 2**70), st.floats(), st.text(max_size=4), st.sampled_from(["N", "C", "T", "P", "S", "1202"])), max_size=20))  # fmt: skip
def test_no_fields_make_it_raise(fields):
    decoder = feed.FivepaisaFrames({})
    decoder.receive(WHOLE[2])
    try:
        frame = msgspec.json.encode([fields, {**order(), **fields}, {**fill(), **fields}, {**QUOTE, **fields}])
    except OverflowError:
        return
    for part in msgspec.json.decode(frame):
        decoder.receive(msgspec.json.encode(part).decode())
    decoder.receive(frame)
