"""Lives: account_conditional, accumulation, atr_trail, attached_hedge, basket, candle_close_stop, chaser, close_on_trigger,
closing_price, cover (order-engine 3.1 to 3.11; the bracket stands in lives_worked)."""

import threading
from contextlib import contextmanager
from datetime import datetime

from tests.demo.lives.lives import life
from tests.demo.lives.said import ANY, cancel, modify, place

BAR_SECONDS, SHORT_BAR_SECONDS = 15, 4.5
TIMED_PATIENCE_SECONDS = 35.0
"""For what comes with the clock, even when it was struck."""
SENT = ("open", "pending", "complete")
"""A slice that a broker has taken; it may have traded since."""
BUFFER_TICKS = 2
"""How far past the opposite touch a marketable order goes (1.4)."""
MARGIN_VALUE = 10_000_000
"""Rupees of shares that an order of a rich account asks for: a fifth of them is blocked, far more than all others block meanwhile."""
LOCK_SECONDS = 300
_figures = threading.Lock()


@contextmanager
def _alone():
    """The account's figures are everyone's: only one order at a time waits for them."""
    assert _figures.acquire(timeout=LOCK_SECONDS), "another order waits for the account's figures still"
    try:
        yield
    finally:
        _figures.release()


@contextmanager
def _margin_blocked(run):
    """Have an order at the broker, in an instrument that no life trades, that lifts the blocked margin by a fifth of its value; what it blocked is
    free again afterwards, so that the next one begins without it."""
    listed = run.demo.control("GET", "/instruments?shape=security&limit=1000")
    funds = [one for one in listed if one["segment"] == "nse_exchange_traded_funds" and run.broker in one["brokers"]]
    fund = max(funds, key=lambda one: one["last_price"])
    order_id = run.place_beside(
        instrument_id=fund["instrument_id"], transaction_type="BUY", product="MIS", order_type="LIMIT",
        quantity=int(MARGIN_VALUE / fund["last_price"]), price=run.at(-3, fund), synthetic={"type": "simple"},
    )  # fmt: skip
    try:
        yield
    finally:
        seen = [_blocked(run)]

        def freed():
            """What others block meanwhile may hide a part of it."""
            seen.append(_blocked(run))
            return seen[-1] < max(seen) - MARGIN_VALUE / 10

        run.demo.until(lambda: run.demo.cancel(order_id, broker=run.broker).status != 503, "its cancel to be taken", 60)
        run.demo.until(freed, "the margin to be free again")


def _blocked(run):
    return run.demo.read("/api/portfolio/funds")["summary"]["margin_utilized"]


def _marketable(run, side, share=None):
    """The price of a marketable order now."""
    bid, offer = run.offer(share)
    past = BUFFER_TICKS * (share or run.share)["tick_size"]
    return round(offer + past if side == "BUY" else bid - past, 2)


def _bar(run, seconds):
    """The number of the present bar of the day, and how many seconds of it have passed."""
    now = datetime.fromisoformat(run.now())
    return divmod(now.hour * 3600 + now.minute * 60 + now.second + now.microsecond / 1e6, seconds)


@life("account_conditional", "armed", "the figure was reached, its limit is held")
def account_conditional(run):
    with _alone():
        level = round(_blocked(run) + MARGIN_VALUE / 10, 2)
        run.place({"watch_field": "margin_utilized", "trigger_level": level}, order_type="LIMIT", price=run.at(-3))
        yield "armed"
        with _margin_blocked(run):
            run.wait(lambda: run.part()["state"] == "held", "the figure to be seen")
    yield "the figure was reached, its limit is held"
    run.move(-3)
    run.ends()
    return [place("BUY", 10, run.at(-3))]


@life("accumulation", "the first piece works", "the second piece works", lull=4)
def accumulation(run):
    run.place({"every_seconds": 2})
    run.working(1)
    yield "the first piece works"
    run.fill()
    run.working(1)
    yield "the second piece works"
    run.fill()
    run.ends()
    return [place("BUY", 5, run.at(-3)), place("BUY", 5, run.at(-3))]


@life("atr_trail", "the stop rests", "it has followed at the average range")
def atr_trail(run):
    """It rests where `trail_points` puts it; when the market rises it follows, nearer by the range that bars had by then. A step wider
    than the trail keeps it where it is otherwise, however long the market stands still."""
    offset, swing = run.at(-4) - run.at(-6), run.at(0) - run.at(-0.8)
    step = round((run.at(0) - run.at(-4.3)) / run.share["tick_size"])
    run.place(
        {
            "trail_points": round(run.at(0) - run.at(-4), 2),
            "stop_limit_offset": round(offset, 2),
            "bar_minutes": SHORT_BAR_SECONDS / 60,
            "periods": 2,
            "atr_multiple": 3,
            "step_ticks": step,
        }
    )
    run.working(1)
    yield "the stop rests"
    in_time = _swing(run, bars=6)
    run.move(3)
    run.wait(lambda: run.leg()["trigger_price"] > run.at(0), "the stop to follow")
    trigger = run.leg()["trigger_price"]
    assert trigger < run.at(3)
    if in_time():
        assert 1.5 * swing <= run.at(3) - trigger <= 3 * swing + 0.001, (trigger, swing)
    yield "it has followed at the average range"
    run.move(0.3)
    run.ends()
    return [
        place("SELL", 10, run.at(-6), run.at(-4)),
        modify("SELL", ANY, round(trigger - offset, 2), trigger),
    ]


def _swing(run, bars):
    """Let the market go down and up by eight tenths of a percent in each of so many bars; return whether that is what the average is of
    now: on a slow machine the market may have stood still for a bar."""
    bar = lambda: _bar(run, SHORT_BAR_SECONDS)[0]  # noqa: E731
    first, swung = bar(), set()
    while (number := bar()) < first + bars:
        run.move(-0.8)
        run.move(0)
        swung.add(number)
    return lambda: len(swung) == bars and bar() <= first + bars + 1


@life("attached_hedge", "the entry rests", "half of it is hedged")
def attached_hedge(run):
    run.place()
    run.working(1)
    hedge = place("SELL", 5, _marketable(run, "SELL", run.other), number=2)
    yield "the entry rests"
    run.fill(5)
    run.wait(lambda: run.part("root.each_fill")["filled_quantity"] == 5, "the hedge to fill")
    yield "half of it is hedged"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3)), hedge, hedge]


@life("basket", "both work", "one is filled")
def basket(run):
    sells = {"transaction_type": "SELL", "order_type": "LIMIT", "price": run.at(3, run.other), "quantity": 5}
    buys = {"order_type": "LIMIT", "price": run.at(-3), "quantity": 10}
    run.place({"candidates": [buys, {"instrument_id": run.other["instrument_id"], **sells}]})
    run.working(2)
    yield "both work"
    run.fill(part="root.children.0")
    run.working(1)
    yield "one is filled"
    run.fill(part="root.children.1")
    run.ends()
    return [{place("BUY", 10, run.at(-3)), place("SELL", 5, run.at(3, run.other), number=2)}]


@life("candle_close_stop", "armed over its backstop", "a dip within a bar has not fired it", lull=26)
def candle_close_stop(run):
    settings = {"bar_minutes": BAR_SECONDS / 60, "backstop_price": run.at(-5.5), "backstop_limit_price": run.at(-6)}
    run.place(settings, status=200)
    run.working(1)
    placed_in, _ = _bar(run, BAR_SECONDS)
    yield "armed over its backstop"
    run.patience = TIMED_PATIENCE_SECONDS
    run.wait(lambda: _bar(run, BAR_SECONDS)[0] > placed_in and 1 < _bar(run, BAR_SECONDS)[1] < 5, "a bar to begin")
    dipped_in, _ = _bar(run, BAR_SECONDS)
    run.move(-4.5)
    run.move(0)
    run.wait(lambda: _bar(run, BAR_SECONDS)[0] > dipped_in and _bar(run, BAR_SECONDS)[1] > 2, "the bar to close")
    yield "a dip within a bar has not fired it"
    run.patience = TIMED_PATIENCE_SECONDS
    run.move(-4.5)
    closing = place("SELL", 10, _marketable(run, "SELL"))
    run.ends()
    return [place("SELL", 10, run.at(-6), run.at(-5.5)), cancel("SELL"), closing]


@life("chaser", "it rests where it began", "it rests at its cap", lull=10)
def chaser(run):
    """Two steps of a little more than half the way to its cap, the second cut short by it."""
    tick = run.share["tick_size"]
    step = round((run.at(-2) - run.at(-3)) / tick) // 2 + 1
    run.place({"step_ticks": step, "step_seconds": 8, "cap_price": run.at(-2)})
    run.working(1)
    yield "it rests where it began"
    run.patience = TIMED_PATIENCE_SECONDS
    run.wait(lambda: run.leg()["price"] == run.at(-2), "the order to reach its cap")
    yield "it rests at its cap"
    run.fill()
    run.ends()
    steps = [modify("BUY", ANY, round(run.at(-3) + step * tick, 2)), modify("BUY", ANY, run.at(-2))]
    return [place("BUY", 10, run.at(-3)), *steps]


@life("close_on_trigger", "armed beside a resting order")
def close_on_trigger(run):
    run.buy_first(10)
    run.rest_first("SELL", 10, run.at(4))
    run.place(status=202)
    yield "armed beside a resting order"
    run.move(-4)
    closing = place("SELL", 10, _marketable(run, "SELL"))
    run.ends()
    return [cancel("SELL"), closing]


@life("closing_price", "it waits for its window", "the first slice works", "both slices work", lull=26)
def closing_price(run):
    settings = {"from_time": run.near(10 / 60), "until_time": run.near(58 / 60)}
    run.place(settings, order_type="LIMIT", price=run.at(-3))
    yield "it waits for its window"
    run.patience = TIMED_PATIENCE_SECONDS
    run.wait(lambda: run.legs(states=SENT), "the first slice")
    yield "the first slice works"
    run.patience = TIMED_PATIENCE_SECONDS
    run.wait(lambda: len(run.legs(states=SENT)) == 2, "the second slice")
    yield "both slices work"
    run.patience = TIMED_PATIENCE_SECONDS
    moved = modify("BUY", ANY, _marketable(run, "BUY"))
    run.ends()
    return [place("BUY", 5, run.at(-3)), place("BUY", 5, run.at(-3)), moved, moved]


@life("cover", "the entry rests", "half of it is protected", "protected")
def cover(run):
    run.place({"hold_limits": False}, status=200)
    run.working(1)
    yield "the entry rests"
    run.fill(5)
    run.wait(lambda: _resting(run, "root.each_fill") == 5, "the stop to rest")
    yield "half of it is protected"
    run.fill(part="root")
    run.wait(lambda: _resting(run, "root.each_fill") == 10, "the stop to grow")
    yield "protected"
    run.move(-4)
    run.ends()
    return [
        place("BUY", 10, run.at(-2)),
        place("SELL", 5, run.at(-5), run.at(-4)),
        modify("SELL", 10),
    ]


def _resting(run, part):
    return sum(leg["pending_quantity"] for leg in run.legs(part))
