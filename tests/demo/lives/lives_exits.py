"""Lives of exits, and of entries that bring their exits along."""

from datetime import datetime
from decimal import Decimal

from tests.demo.lives.lives import life
from tests.demo.lives.prices import down, exact, past_touch, points
from tests.demo.lives.said import ANY, cancel, modify, place
from tests.demo.lives.waiting import SOON_MINUTES, TIMED_PATIENCE_SECONDS

BAR_SECONDS, SHORT_BAR_SECONDS = 15, 4.5


@life("bracket", "armed", "protected")
def bracket(run):
    run.place()
    yield "armed"
    run.move(-2)
    run.working(1, "root.each_fill.children.0")
    yield "protected"
    run.move(4)
    run.ends()
    return [
        place("BUY", 10, run.at(-2)),
        place("SELL", 10, run.at(-5), run.at(-4)),
        place("SELL", 10, run.at(4)),
        cancel("SELL"),
    ]


def _resting(run, part):
    return sum(leg["pending_quantity"] for leg in run.legs(part))


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


@life("oco", "both sides work", "the target is partly filled")
def oco(run):
    run.place()
    run.working(2)
    yield "both sides work"
    run.fill(4)
    left = run.leg("root.children.1")["pending_quantity"]
    run.wait(lambda: run.leg("root.children.0")["quantity"] == left, "the stop to be made smaller")
    yield "the target is partly filled"
    run.fill()
    run.ends()
    return [
        {place("SELL", 10, run.at(-5), run.at(-4)), place("SELL", 10, run.at(4))},
        modify("SELL", 6),
        cancel("SELL"),
    ]


@life(
    "scale_out", "the entry rests", "a part is protected", "all is protected", "one target has filled, the stop is even"
)
def scale_out(run):
    run.place({"hold_limits": False, "breakeven_after": 1}, status=200)
    run.working(1)
    yield "the entry rests"
    run.fill(4)
    run.working(4)
    yield "a part is protected"
    run.fill(part="root")
    run.working(3)
    run.wait(lambda: sorted(leg["quantity"] for leg in run.legs()) == [5, 5, 10], "the exits to grow")
    yield "all is protected"
    run.fill(part="root.each_fill.children.1")
    stop = "root.each_fill.children.0"
    run.wait(lambda: (run.leg(stop)["quantity"], run.leg(stop)["trigger_price"]) == (5, run.at(-2)), "the stop to move")
    yield "one target has filled, the stop is even"
    run.fill(part="root.each_fill.children.2")
    run.ends()
    even = round(run.at(-2) - run.at(-4) + run.at(-5), 2)
    return [
        place("BUY", 10, run.at(-2)),
        {place("SELL", 4, run.at(-5), run.at(-4)), place("SELL", 2, run.at(3)), place("SELL", 2, run.at(4))},
        [modify("SELL", 10), modify("SELL", 5), modify("SELL", 5)],
        modify("SELL", 5),
        modify("SELL", ANY, even, run.at(-2)),
        cancel("SELL"),
    ]


@life("daily_stop", "the day's stop rests", "triggered, the market is past its limit")
def daily_stop(run):
    run.place()
    run.working(1)
    yield "the day's stop rests"
    run.move(-6)
    run.wait(lambda: run.is_in_the_book(run.leg()), "the stop to be triggered")
    yield "triggered, the market is past its limit"
    run.move(-4.5)
    run.ends()
    return [place("SELL", 10, run.at(-5), run.at(-4))]


@life("hidden_stop", "armed, its backstop rests")
def hidden_stop(run):
    run.place({"backstop_price": run.at(-5), "backstop_limit_price": run.at(-6)}, status=200)
    run.working(1)
    yield "armed, its backstop rests"
    run.move(-4)
    bid, _ = run.offer()
    run.ends()
    return [
        place("SELL", 10, run.at(-6), run.at(-5)),
        cancel("SELL"),
        place("SELL", 10, round(bid - 2 * run.share["tick_size"], 2)),
    ]


def _bar(run, seconds):
    """The number of the present bar of the day, and how many seconds of it have passed."""
    now = datetime.fromisoformat(run.now())
    return divmod(now.hour * 3600 + now.minute * 60 + now.second + now.microsecond / 1e6, seconds)


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
    closing = place("SELL", 10, past_touch(run, "SELL"))
    run.ends()
    return [place("SELL", 10, run.at(-6), run.at(-5.5)), cancel("SELL"), closing]


@life("time_stop", "a part has filled", lull=20)
def time_stop(run):
    run.place({"minutes": SOON_MINUTES})
    run.working(1)
    run.fill(6)
    yield "a part has filled"
    run.ends()
    return [place("BUY", 10, run.at(-3)), cancel("BUY"), place("SELL", 6, past_touch(run, "SELL"))]


@life("trailing_stop", "it waits for the price to begin at", "the stop rests", "the stop has followed")
def trailing_stop(run):
    trigger = lambda percent: down(run, exact(run.at(percent)) * Decimal("0.98"))  # noqa: E731
    limit = lambda percent: round(trigger(percent) - points(run, 1), 2)  # noqa: E731
    settings = {"trail_percent": 2, "stop_limit_offset": points(run, 1), "activate_at": run.at(1)}
    run.place(settings, status=202)
    yield "it waits for the price to begin at"
    run.move(1)
    run.working(1)
    yield "the stop rests"
    run.move(3)
    run.wait(lambda: run.leg()["trigger_price"] == trigger(3), "the stop to follow")
    yield "the stop has followed"
    run.price(trigger(3))
    run.ends()
    return [place("SELL", 10, limit(1), trigger(1)), modify("SELL", ANY, limit(3), trigger(3))]


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


@life("stepped_stop", "the stop rests", "it is even", "it trails")
def stepped_stop(run):
    offset = points(run, 1)
    rules = [{"gain": points(run, 2), "stop_at_gain": 0}, {"gain": points(run, 4), "trail_points": points(run, 3)}]
    trail = round(run.at(4) - points(run, 3), 2)
    run.buy_first(10)
    run.place({"stop_limit_offset": offset, "rules": rules})
    run.working(1)
    yield "the stop rests"
    run.move(2)
    run.wait(lambda: run.leg()["trigger_price"] == run.at(0), "the stop to be even")
    yield "it is even"
    run.move(4)
    run.wait(lambda: run.leg()["trigger_price"] == trail, "the stop to trail")
    yield "it trails"
    run.price(trail)
    run.ends()
    return [
        place("SELL", 10, round(run.at(-4) - offset, 2), run.at(-4)),
        modify("SELL", ANY, round(run.at(0) - offset, 2), run.at(0)),
        modify("SELL", ANY, round(trail - offset, 2), trail),
    ]
