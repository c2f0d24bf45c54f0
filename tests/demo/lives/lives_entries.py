"""Lives of entries: those that wait for a price, a figure, a time or the market's trade, and those that rest at once."""

import threading
from contextlib import contextmanager

from tests.demo.lives.lives import OPENING, life
from tests.demo.lives.prices import bid_of_other, points, ticks, ticks_from
from tests.demo.lives.said import ANY, cancel, modify, place
from tests.demo.lives.waiting import SOON_MINUTES, parts_work

MARGIN_VALUE = 10_000_000
"""Rupees of shares that an order of a rich account asks for: a fifth of them is blocked, far more than all others block meanwhile."""
LOCK_SECONDS = 300
_figures = threading.Lock()
VALID_MINUTES = 16 / 60
"""How long an order of `good_till_time` lives: long enough to strike it before, short enough to wait for."""


@life("simple", "it rests")
def simple(run):
    run.place(order_type="LIMIT", price=run.at(-3))
    run.working(1)
    yield "it rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3), None)]


@contextmanager
def _alone():
    """The account's figures are everyone's: only one order at a time waits for them."""
    assert _figures.acquire(timeout=LOCK_SECONDS), "another order waits for the account's figures still"
    try:
        yield
    finally:
        _figures.release()


def _blocked(run):
    return run.demo.read("/api/portfolio/funds")["summary"]["margin_utilized"]


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


@life("cross_instrument", "armed", "triggered, its limit is held")
def cross_instrument(run):
    run.place({"trigger_price": run.at(-4, run.other)})
    yield "armed"
    run.move(-4, run.other)
    run.wait(lambda: run.part()["state"] == "held", "the trigger to be seen")
    yield "triggered, its limit is held"
    run.move(-1)
    run.ends()
    return [place("BUY", 10, run.at(-1))]


@life("indicator_triggered", "armed", "its limit rests")
def indicator_triggered(run):
    bid_of_other(run)
    watched = {
        "watch_field": "bid",
        "watch_instrument_id": run.other["instrument_id"],
        "trigger_price": run.at(1, run.other),
    }
    answer = run.place({**watched, "limit_price": run.at(-3), "hold_limits": False})
    assert answer["trigger_direction"] == "above"
    yield "armed"
    run.move(2, run.other)
    run.working(1)
    yield "its limit rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3))]


@life("limit_if_touched", "armed", "touched and held")
def limit_if_touched(run):
    run.place({"trigger_price": run.at(-2), "limit_price": run.at(-4)})
    yield "armed"
    run.move(-3)
    run.wait(lambda: run.part()["state"] == "held", "its limit to be held")
    yield "touched and held"
    run.move(-4)
    run.ends()
    return [place("BUY", 10, run.at(-4))]


@life("market_if_touched", "armed")
def market_if_touched(run):
    run.place({"buffer_ticks": 3})
    yield "armed"
    run.move(-4)
    run.ends()
    return [place("BUY", 10, ticks_from(run.share, run.offer()[1], 3))]


@life("gtt", "both triggers wait", "the second has triggered, its limit rests")
def gtt(run):
    run.place(
        {
            "limit_price": run.at(-5), "second_trigger_price": run.at(4), "second_limit_price": run.at(5), "hold_limits": False,
        },
        transaction_type="SELL",
    )  # fmt: skip
    yield "both triggers wait"
    run.move(4)
    run.working(1, "root.children.1")
    yield "the second has triggered, its limit rests"
    run.fill()
    run.ends()
    return [place("SELL", 10, run.at(5))]


@life("good_till_time", "it rests", lull=17)
def good_till_time(run):
    run.place({"until_time": run.near(VALID_MINUTES), "at_expiry": "marketable"})
    run.working(1)
    yield "it rests"
    _, offer = run.offer()
    run.ends()
    return [place("BUY", 10, run.at(-3)), modify("BUY", ANY, round(offer + 2 * run.share["tick_size"], 2))]


@life("opening_auction", "it waits for its time", "it rests for the auction", now=OPENING, lull=26)
def opening_auction(run):
    run.place({"at_time": run.near(0.4)}, status=202)
    yield "it waits for its time"
    run.working(1)
    yield "it rests for the auction"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-2))]


@life("scheduled", "it waits for its time", "it rests", lull=20)
def scheduled(run):
    run.place({"at_time": run.near(SOON_MINUTES), "hold_limits": False}, order_type="LIMIT", price=run.at(-3))
    yield "it waits for its time"
    run.working(1)
    yield "it rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3))]


@life("marketable_limit", "it rests at its worst price")
def marketable_limit(run):
    run.place({"fill_within_seconds": 600}, order_type="LIMIT", price=run.at(-3))
    run.working(1)
    yield "it rests at its worst price"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3))]


@life("post_only", "it rests")
def post_only(run):
    run.place()
    run.working(1)
    yield "it rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3))]


@life("discretionary", "it shows its limit", "a part is taken within reach")
def discretionary(run):
    run.place({"discretion_quantity": 4})
    run.working(1)
    yield "it shows its limit"
    run.move(-2.5)
    _, offer = run.offer()
    run.wait(lambda: run.leg()["filled_quantity"] == 4, "the discretion to be used")
    run.working(1)
    yield "a part is taken within reach"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3)), modify("BUY", 6), place("BUY", 4, offer)]


@life("virtual_limit", "held", "released, it rests")
def virtual_limit(run):
    run.place({"release_ticks": ticks(run, 1.5)})
    yield "held"
    run.move(-2)
    run.working(1)
    yield "released, it rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3), None)]


@life("trailing_entry", "armed", "the stop rests", "it has followed")
def trailing_entry(run):
    away, offset = points(run, 3), points(run, 1)
    begun, followed = (round(run.at(percent) + away, 2) for percent in (-1, -3))
    settings = {"trail_percent": None, "trail_points": away, "stop_limit_offset": offset, "activate_at": run.at(-1)}
    run.place(settings, status=202)
    yield "armed"
    run.move(-1)
    run.working(1)
    yield "the stop rests"
    run.move(-3)
    run.wait(lambda: run.leg()["trigger_price"] == followed, "the stop to follow")
    yield "it has followed"
    run.price(followed)
    run.ends()
    return [
        place("BUY", 10, round(begun + offset, 2), begun),
        modify("BUY", ANY, round(followed + offset, 2), followed),
    ]


@life(
    "two_sided_breakout",
    "both stops wait",
    "one is triggered, its limit rests",
    "half has filled and is protected",
    "all is protected",
)
def two_sided_breakout(run):
    bought, stop, target = (
        "root.children.0",
        "root.children.0.each_fill.children.0",
        "root.children.0.each_fill.children.1",
    )
    run.place({
        "buy_trigger": run.at(1), "buy_limit": run.at(2), "sell_trigger": run.at(-3), "sell_limit": run.at(-4),
        "stop_distance": points(run, 2), "stop_limit_offset": points(run, 1), "target_distance": points(run, 3),
    })  # fmt: skip
    run.working(2)
    yield "both stops wait"
    run.move(3)
    run.quiet()  # a broker without a word for it shows the triggered stop as before
    yield "one is triggered, its limit rests"
    run.fill_leg(run.leg(bought), 5)
    parts_work(run, bought, stop, target)
    yield "half has filled and is protected"
    run.fill_leg(run.leg(bought), 5)
    parts_work(run, stop, target)
    run.wait(lambda: [leg["quantity"] for leg in run.legs()] == [10, 10], "the exits to grow")
    yield "all is protected"
    run.fill(part=target)
    run.ends()
    trigger, takes = round(run.at(2) - points(run, 2), 2), round(run.at(2) + points(run, 3), 2)
    return [
        {place("BUY", 10, run.at(2), run.at(1)), place("SELL", 10, run.at(-4), run.at(-3))},
        {
            cancel("SELL"),
            place("SELL", 5, round(trigger - points(run, 1), 2), trigger),
            place("SELL", 5, takes, None),
        },
        modify("SELL", 10),
        modify("SELL", 10),
        cancel("SELL"),
    ]
