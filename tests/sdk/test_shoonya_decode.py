"""Random frames of every kind, read by Shoonya's official client and by our decoder: equal on every field.

The client hands a frame of changes on as it is, so the image of a scrip is kept here once more, by the broker's page's words: a
whole frame begins it anew, a frame of changes replaces the fields it names.
"""

import random
from datetime import datetime
from decimal import Decimal

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.events import CorruptFrame, Heartbeat, OrderUpdate, Ready, SessionDead, Ticks, TradeUpdate
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.shoonya import feed
from onebroker.brokers.shoonya.wire import ENDPOINTS
from onebroker.config.clock import IST

ACCESS = Access(endpoints=ENDPOINTS, credentials={"user_id": "U1"}, login=None)
ADDRESS = StreamAddress(url="ws://feed")
FRAMES = 400
UNITS = {"NSE|22": 1, "NSE|26000": 1, "NFO|7": 1, "CDS|5": 1000, "MCX|9": 100}
LISTINGS = {
    key: Listing(broker_token=key, tradingsymbol=f"S{key[-1]}", exchange=key.partition("|")[0], contract_units=units)
    for key, units in UNITS.items()
}
PRICES = (
    "lp",
    "o",
    "h",
    "l",
    "c",
    "ap",
    "pc",
    "uc",
    "lc",
    "52h",
    "52l",
    *(f"{side}p{n}" for side in "bs" for n in range(1, 6)),
)
COUNTS = (
    "v",
    "ltq",
    "tbq",
    "tsq",
    "oi",
    "poi",
    "toi",
    *(f"{side}{kind}{n}" for side in "bs" for kind in "qo" for n in range(1, 6)),
)
INDEX = ("lp", "pc", "o", "h", "l", "c", "ft")


def fields(dice, scrip, portion):
    """Return some of a market frame's fields."""
    made = {name: f"{dice.choice((0, dice.randrange(1, 10**7))) / 100:.2f}" for name in PRICES}
    made |= {name: str(dice.choice((0, dice.randrange(1, 10**9)))) for name in COUNTS}
    made |= {
        "ft": str(1_780_000_000 + dice.randrange(10**6)),
        "ltt": f"{dice.randrange(24):02d}:{dice.randrange(60):02d}:09",
    }
    names = INDEX if scrip == "NSE|26000" else tuple(made)
    return {name: made[name] for name in names if dice.random() < portion}


def market_frame(dice):
    scrip = dice.choice(tuple(UNITS))
    exchange, _, token = scrip.partition("|")
    kind = dice.choice(("tk", "dk", "tf", "df", "df", "df"))
    head = {"t": kind, "e": exchange, "tk": token}
    if kind in ("tk", "dk"):
        return {**head, "ts": "X", "pp": "2", "ls": "1", "ti": "0.05", **fields(dice, scrip, 0.9)}
    return {**head, **fields(dice, scrip, 0.2)}


def order_frame(dice, number):
    scrip = dice.choice(tuple(UNITS))
    quantity = dice.randrange(1, 500)
    status = dice.choice(("PENDING", "OPEN", "TRIGGER_PENDING", "COMPLETE", "CANCELED", "REJECTED", "SOMETHING_NEW"))
    # Another fill than the whole of a complete order is a contradiction, and no order.
    filled = quantity if status == "COMPLETE" else dice.choice((0, quantity, dice.randrange(quantity + 1)))
    frame = {
        "t": "om", "norenordno": str(number), "uid": "U1", "actid": "U1", "exch": scrip.partition("|")[0],
        "tsym": LISTINGS[scrip].tradingsymbol, "trantype": dice.choice("BS"), "qty": str(quantity), "prc": "10.50",
        "pcode": dice.choice("CIMHBF"), "status": status, "reporttype": "New", "prctyp": dice.choice(("LMT", "SL-LMT", "MKT")),
        "ret": dice.choice(("DAY", "IOC", "EOS")), "remarks": "t", "norentm": "10:00:00 23-11-2026",
        "exch_tm": "01-01-1980 00:00:00",
    }  # fmt: skip
    if filled:
        frame |= {"fillshares": str(filled), "avgprc": "10.4500", "flid": "77", "flqty": str(filled), "flprc": "10.45",
                  "fltm": "23-11-2026 10:00:01"}  # fmt: skip
    return frame


def a_frame(dice, number):
    kind = dice.random()
    if kind < 0.75:
        return msgspec.json.encode(market_frame(dice)).decode()
    if kind < 0.85:
        return msgspec.json.encode(order_frame(dice, number)).decode()
    whole = msgspec.json.encode(market_frame(dice)).decode()
    return dice.choice((
        '{"t":"ak","uid":"U1","s":"OK"}', '{"t":"ak","uid":"U1","s":"Not_Ok"}', '{"t":"h"}', '{"t":"ok"}', '{"t":"udk","k":"NSE|22"}',
        whole[: dice.randrange(1, len(whole))], whole.replace('"', "", 1), f"{whole}{whole}", "",
    ))  # fmt: skip


class Images:
    """What the broker's page says a client must keep."""

    def __init__(self):
        self.held = {}

    def tick(self, frame):
        scrip = f"{frame['e']}|{frame['tk']}"
        before = {} if frame["t"] in ("tk", "dk") else self.held.get(scrip, {})
        self.held[scrip] = image = {**before, **frame}
        price = lambda name: float(image.get(name, "0")) or None  # noqa: E731
        if price("lp") is None:
            return None
        units = UNITS[scrip]
        count = lambda name: int(image[name]) * units if name in image else None  # noqa: E731
        deep = any(f"{side}q{n}" in image for side in "bs" for n in range(1, 6))
        sides = {}
        for side, name in (("b", "buy"), ("s", "sell")):
            levels = [
                DepthLevel(price(f"{side}p{n}"), count(f"{side}q{n}"), int(image[f"{side}o{n}"]) if f"{side}o{n}" in image else None)
                for n in range(1, 6)
                if price(f"{side}p{n}") and count(f"{side}q{n}")
            ]  # fmt: skip
            sides[name] = tuple(levels) if deep else None
        sent = price("ft")
        return Tick(
            broker_token=scrip, last_price=price("lp"), average_price=price("ap"), open=price("o"), high=price("h"),
            low=price("l"), previous_close=price("c"), last_quantity=count("ltq"), volume=count("v"), buy_quantity=count("tbq"),
            sell_quantity=count("tsq"), oi=count("oi"), last_trade_time=self._traded(image, sent), exchange_time=sent, **sides,
        )  # fmt: skip

    def _traded(self, image, sent):
        if sent is None or "ltt" not in image or not int(image.get("v", "0")):
            return None
        hour, minute, second = map(int, image["ltt"].split(":"))
        told = datetime.fromtimestamp(sent, IST).replace(hour=hour, minute=minute, second=second).timestamp()
        return told if told <= sent + 60 else None


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_the_official_client_and_we_read_the_same(run_driver, seed):
    dice = random.Random(seed)
    frames = [a_frame(dice, number) for number in range(FRAMES)]
    answers = run_driver("shoonya_decode.py", {"frames": frames})["answers"]
    decoder, images = feed.decoder(ACCESS, ADDRESS, LISTINGS), Images()
    seen = set()
    for frame, answer in zip(frames, answers, strict=True):
        ours = decoder.receive(frame)
        if "failed" in answer:
            assert isinstance(ours[0], CorruptFrame), frame
            seen.add("failed")
            continue
        (kind, theirs) = answer["heard"][0] if answer["heard"] else (None, None)
        seen.add(kind)
        if kind == "market":
            expected = images.tick(theirs)
            assert ours == ([Heartbeat()] if expected is None else [Ticks((expected,))])
        elif kind == "order":
            same_order(ours, theirs)
        elif kind == "open":
            assert isinstance(ours[-1], Ready)
        elif kind == "error":
            assert isinstance(ours[0], SessionDead)
        else:
            assert ours == [Heartbeat()]
    assert seen >= {"market", "order", "failed"}


def same_order(ours, theirs):
    order = ours[0].order
    assert isinstance(ours[0], OrderUpdate)
    units = UNITS[order.instrument_token]
    assert order.order_id == theirs["norenordno"]
    assert (order.exchange, order.tradingsymbol, order.tag) == (theirs["exch"], theirs["tsym"], theirs["remarks"])
    assert order.quantity == int(theirs["qty"]) * units
    assert order.filled_quantity == int(theirs.get("fillshares", "0")) * units
    assert order.average_price == float(theirs.get("avgprc", "0"))
    assert order.price == float(theirs["prc"])
    trades = [event.trade for event in ours if isinstance(event, TradeUpdate)]
    assert len(trades) == ("flid" in theirs)
    for trade in trades:
        assert (trade.trade_id, trade.quantity, trade.price) == (
            theirs["flid"],
            int(theirs["flqty"]) * units,
            float(theirs["flprc"]),
        )
        assert Decimal(str(trade.price)) == Decimal(theirs["flprc"])
