"""Random frames of every kind, whole, cut and damaged, read by ICICI Direct's official SDK and by our decoders: equal
on every field.

MCX arrays are left out: the SDK's parser shifts them (docs/brokers/icicidirect.md, section 8); they are judged in tests/brokers/icicidirect.
"""

import json
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import BooksMoved, CorruptFrame, OrderUpdate, Ready, Reply, SessionDead, Ticks
from onebroker.brokers.icicidirect import feed, order_feed, values
from onebroker.brokers.icicidirect.wire import ENDPOINTS
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import StreamAddress

LOGIN = Login(tokens={"user": "AB1", "session_key": "2"}, user_id="AB1", logged_in_at=0.0, expires_at=0.0)
ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=LOGIN)
ADDRESS = StreamAddress(url="ws://feed")
FRAMES = 250

LISTINGS = [
    Listing(broker_token=f"X:{exchange}:{token}", tradingsymbol="", exchange="", other_names=f"{exchange}!{token}")
    for exchange in ("1", "4", "8", "13")
    for token in (*map(str, range(100, 105)), "NIFTY 50")
]
QUOTE_FIELDS = {
    "last_price": "last", "average_price": "avgPrice", "open": "open", "high": "high", "low": "low", "previous_close": "close",
    "last_quantity": "ltq", "volume": "ttq", "buy_quantity": "totalBuyQt", "sell_quantity": "totalSellQ", "oi": "OI",
    "last_trade_time": "ltt",
}  # fmt: skip


def price(dice):
    return dice.choice((0, round(dice.random() * 10 ** dice.randrange(1, 6), 2), dice.randrange(1, 10**5)))


def count(dice):
    return dice.choice((0, dice.randrange(100), dice.randrange(10**9)))


def stamp(dice):
    return 1_739_246_902 + dice.randrange(10**7)


def quote(dice):
    room = f"{dice.choice(('1', '4', '8', '13'))}.1!{dice.randrange(100, 105)}"
    head = [room, *(price(dice) for _ in range(4)), round(dice.uniform(-9, 9), 2)]
    book = [price(dice), count(dice), price(dice), count(dice), count(dice), price(dice)]
    totals = [count(dice), count(dice), count(dice), "38.31C", dice.choice(("+", "-", ""))]
    tail = [price(dice), price(dice), stamp(dice), price(dice)]
    if dice.random() < 0.15:
        room = f"{dice.choice(('1', '4'))}.1!NIFTY 50"
        return [room, *head[1:], *[None] * 10, "+", None, None, *tail[2:]]
    if dice.random() < 0.5:
        return [*head, *book, *totals, *tail]
    return [*head, *book, count(dice), dice.choice((None, -5, 5)), *totals, *tail]


def depth(dice):
    exchange = dice.choice(("1", "4", "8", "13"))

    def side():
        wanted = {"1": 2, "8": 3}.get(exchange, 4)
        return [price(dice), count(dice), count(dice) % 1000, ""][:wanted]

    levels = [[*side(), *side()] for _ in range(dice.choice((5, 5, 1, 0)))]
    return [f"{exchange}.2!{dice.randrange(100, 105)}", stamp(dice), levels]


def order(dice):
    cash = dice.random() < 0.5
    message = [str(dice.randrange(10**6)) for _ in range(47)]
    message[11] = dice.choice("45" if cash else "67")
    message[13], message[14] = dice.choice(("NSE", "BSE") if cash else ("NFO", "BFO")), dice.choice(("ITC", "NIFTY"))
    at = order_feed.CASH if cash else order_feed.DERIVATIVE
    message[at.side], message[at.order_type] = dice.choice("BSbs"), dice.choice("LMSl")
    message[at.validity], message[at.product] = dice.choice("TIV"), dice.choice("CB" if cash else "FO")
    message[at.status] = dice.choice("RQOPEJXBDFCZ")
    message[at.quantity] = str(dice.randrange(1, 10**5))
    if message[at.status] == "E":  # executed: another fill than the whole is a contradiction, and no order
        message[at.executed] = message[at.quantity]
    for place in (at.rate, at.average, at.trigger):
        message[place] = f"{price(dice):.2f}"
    if not cash:
        message[at.right], message[at.strike] = dice.choice("CP*"), str(dice.randrange(100, 10**5) * 100)
        message[at.expiry] = f"{dice.randrange(1, 29):02d}-{dice.choice(('Feb', 'Sep'))}-2026"
    return message


def frame(dice):
    """A frame, or a part of one, or one with a character changed."""
    kind = dice.random()
    if kind < 0.08:
        text = dice.choice(
            (
                '0{"sid":"a","pingInterval":25000,"pingTimeout":20000}',
                "2",
                '40{"sid":"b"}',
                '44{"message":"no"}',
                "41",
                "6",
            )
        )
    elif kind < 0.45:
        text = f"42{json.dumps(['stock', quote(dice)])}"
    elif kind < 0.7:
        text = f"42{json.dumps(['stock', depth(dice)])}"
    else:
        text = f"42{json.dumps(['order', order(dice)])}"
    damage = dice.random()
    if damage < 0.1 and text.startswith("42"):
        return text[: dice.randrange(3, len(text))]
    return text


def same_tick(tick, told):
    for field, name in QUOTE_FIELDS.items():
        value = told.get(name)
        if field in ("average_price", "open", "high", "low", "previous_close"):
            value = value or None  # zero is no price
        assert getattr(tick, field) == value, (field, told)


def same_depth(tick, told):
    sides = {"Buy": [], "Sell": []}
    for place, level in enumerate(told["depth"], 1):
        for side, levels in sides.items():
            rate, units = level[f"Best{side}Rate-{place}"], level[f"Best{side}Qty-{place}"]
            if rate and units:
                levels.append(DepthLevel(rate, units, level.get(f"{side}NoOfOrders-{place}")))
    assert (tick.buy, tick.sell) == (tuple(sides["Buy"]), tuple(sides["Sell"]))


def same_order(row, told):
    """The SDK turns the letters into the words of the order book; quantities and rates have a name each."""
    cash = told["messageType"] in "45"
    assert row.order_id == told["orderReference"]
    assert row.exchange == told["orderExchangeCode"]
    assert row.status == values.STATUSES.reads.get(told["orderStatus"].upper(), told["orderStatus"])
    assert row.transaction_type == values.SIDES.read(told["orderFlow"])
    assert row.order_type == values.ORDER_TYPES.read(told["limitMarketFlag"])
    assert row.validity == values.VALIDITIES.read(told["orderType"])
    assert row.product == values.PRODUCTS.read(told["productType"])
    assert row.quantity == int(told["orderQuantity" if cash else "orderTotalQuantity"])
    assert row.filled_quantity == int(told["orderExecutedQuantity" if cash else "executedQuantity"])
    assert row.price == float(told["orderLimitRate" if cash else "limitRate"])
    assert row.trigger_price == float(told["orderStopLossTrigger" if cash else "stopLossTrigger"])
    assert row.average_price == float(told["averageExecutedRate"])
    name = row.instrument_token.split(":")
    assert name[1] == told["stockCode"]
    if not cash:
        assert values.day(name[2]) == values.day(told["expiryDate"])
        option = values.right(told["optionType"])
        assert name[3:] == ([] if option is None else [str(int(told["strikePrice"]) // 100), option])


def compare(decoder, stream, text, told):
    """Return whether there was something to compare."""
    ticks, orders = decoder.receive(text), stream.receive(text)
    for events in (ticks, orders):
        assert events
        if told is None:
            assert not any(isinstance(event, Ticks | OrderUpdate | BooksMoved) for event in events), text
            assert any(isinstance(event, CorruptFrame) for event in events), text
    if told is None:
        return True
    if told["event"] == "order":
        (event,) = orders
        assert isinstance(event, OrderUpdate), text
        same_order(event.order, told["value"])
    elif told["event"] == "stock" and told["value"]["quotes"] == "Quotes Data":
        if not told["value"]["last"]:
            return False
        (event,) = ticks
        same_tick(event.ticks[0], told["value"])
    elif told["event"] == "stock":
        for event in ticks:
            if isinstance(event, Ticks):
                same_depth(event.ticks[0], told["value"])
    else:
        wanted = {
            "engine 0": Reply,
            "engine 2": Reply,
            "socket 0": Ready,
            "socket 4": SessionDead,
            "socket 1": SessionDead,
        }
        assert isinstance(ticks[0], wanted.get(told["event"], object))
        assert ticks == orders
    return True


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_the_sdk_and_we_read_the_same_frames(run_driver, seed):
    dice = random.Random(seed)
    frames = [frame(dice) for _ in range(FRAMES)]
    steps = run_driver("icicidirect_decode.py", {"frames": frames})
    decoder, stream = feed.decoder(ACCESS, ADDRESS, {}), order_feed.decoder(ACCESS, ADDRESS, {})
    decoder.subscribing(LISTINGS)
    compared = sum(compare(decoder, stream, text, steps[str(place)]) for place, text in enumerate(frames))
    assert compared > FRAMES / 2
