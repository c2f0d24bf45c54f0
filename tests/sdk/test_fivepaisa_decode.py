"""Random market data through an independent reader (the SDK has none, so it is written from the documents) and our decoder."""

import json
import random

import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import CorruptFrame, Ticks
from onebroker.brokers.fivepaisa import feed
from onebroker.brokers.fivepaisa.wire import ENDPOINTS
from onebroker.brokers.requests import StreamAddress

ACCESS = Access(
    endpoints=ENDPOINTS, credentials={}, login=Login(tokens={}, user_id="52345678", logged_in_at=0.0, expires_at=0.0)
)
SCRIPS = [("N", "C", 1660), ("N", "C", 999920000), ("B", "C", 500325), ("N", "D", 51234), ("B", "D", 1180001)]
FIELDS = {
    "last_price": "LastRate", "last_quantity": "LastQty", "volume": "TotalQty", "high": "High", "low": "Low",
    "open": "OpenRate", "previous_close": "PClose", "average_price": "AvgRate", "buy_quantity": "TBidQ",
    "sell_quantity": "TOffQ", "oi": "OpenInterest", "oi_day_high": "DayHiOI", "oi_day_low": "DayLoOI",
}  # fmt: skip


def quote(dice, scrip):
    exchange, kind, code = scrip
    whole = {
        "LastRate": round(dice.uniform(1, 90_000), 2), "LastQty": dice.randrange(5000), "TotalQty": dice.randrange(10**9),
        "High": round(dice.uniform(1, 90_000), 2), "Low": round(dice.uniform(0, 1), 2) * dice.randrange(2),
        "OpenRate": round(dice.uniform(1, 90_000), 2), "PClose": round(dice.uniform(1, 90_000), 2),
        "AvgRate": dice.choice([0, round(dice.uniform(1, 90_000), 2)]), "TBidQ": dice.randrange(10**7),
        "TOffQ": dice.randrange(10**7), "ChgPcnt": round(dice.uniform(-20, 20), 4),
    }  # fmt: skip
    some = {name: value for name, value in whole.items() if dice.random() < 0.7}
    moment = dice.choice([f"/Date({1_715_238_154_000 + dice.randrange(10**8)})/", "/Date(-62135596800000)/"])
    return {"Exch": exchange, "ExchType": kind, "Token": code, **some, "TickDt": moment, "Time": dice.randrange(86_400)}


def depth(dice, scrip):
    exchange, kind, code = scrip
    details = [
        {
            "Quantity": dice.choice([0, dice.randrange(1, 10**6)]), "Price": round(dice.uniform(1, 90_000), 2),
            "NumberOfOrders": dice.randrange(1, 500), "BbBuySellFlag": flag,
        }
        for flag in [66] * 5 + [83] * 5
    ]  # fmt: skip
    return {
        "Exch": exchange, "ExchType": kind, "Token": code, "TBidQ": dice.randrange(10**7), "TOffQ": dice.randrange(10**7),
        "Details": details, "TimeStamp": 0, "Time": f"/Date({1_715_238_154_000 + dice.randrange(10**8)}+0530)/",
    }  # fmt: skip


def interest(dice, scrip):
    exchange, kind, code = scrip
    counts = {name: dice.randrange(10**8) for name in ("OpenInterest", "DayHiOI", "DayLoOI")}
    return {"Exch": exchange, "ExchType": kind, "Token": code, **counts}


def frame(dice):
    if dice.random() < 0.5:
        return json.dumps([quote(dice, dice.choice(SCRIPS)) for _ in range(dice.randrange(1, 4))])
    return json.dumps(dice.choice([depth, interest])(dice, dice.choice(SCRIPS)))


def damaged(dice, text):
    """Cut short, or with bytes behind: neither is a message."""
    return text[: dice.randrange(1, len(text))] if dice.random() < 0.5 else text + dice.choice(["}", "\x00{", "]]"])


@pytest.fixture(scope="module")
def batch(run_driver):
    dice = random.Random(5)
    connections = []
    for _ in range(60):
        frames = [frame(dice) for _ in range(40)]
        connections.append([damaged(dice, text) if dice.random() < 0.15 else text for text in frames])
    return connections, run_driver("fivepaisa_decode.py", {"connections": connections})["read"]


def test_both_read_the_same_ticks_in_the_same_frames(batch):
    connections, read = batch
    ticks = corrupt = 0
    for frames, wanted in zip(connections, read, strict=True):
        decoder = feed.decoder(ACCESS, StreamAddress(url="ws://feed"), {})
        for text, state in zip(frames, wanted, strict=True):
            events = decoder.receive(text)
            if state is None:
                corrupt += 1
                assert [type(event) for event in events] == [CorruptFrame]
                continue
            priced = {token: known for token, known in state.items() if known.get("LastRate")}
            ours = {tick.broker_token: tick for event in events if isinstance(event, Ticks) for tick in event.ticks}
            assert set(ours) == set(priced)
            for token, known in priced.items():
                ticks += 1
                same(ours[token], known)
    assert ticks > 1000
    assert corrupt > 100


def same(tick, known):
    for field, name in FIELDS.items():
        assert getattr(tick, field) == known.get(name), (field, tick, known)
    for side in ("buy", "sell"):
        levels = getattr(tick, side)
        if side in known:
            assert [[level.price, level.quantity, level.orders] for level in levels] == known[side]
        else:
            assert levels is None
    assert tick.exchange_time == (known["time"] / 1000 if "time" in known else None)
