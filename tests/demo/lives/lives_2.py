"""Lives: cross_instrument, daily_stop, discretionary, exposure_hedge, freeze_slicer, good_till_time, grid, gtt, hidden_stop, iceberg,
implementation_shortfall (order-engine 3.12 to 3.22)."""

from tests.demo.lives.judging import cancel_parent
from tests.demo.lives.lives import life
from tests.demo.lives.said import ANY, cancel, modify, place

SOON = 16 / 60
"""Minutes: long enough to strike an order before, short enough to wait for."""


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


@life("exposure_hedge", "brought to its target", "brought back into its band")
def exposure_hedge(run):
    """It makes the exposure that it keeps: a hundred shares, of which three are too many when each is worth 4 % more."""
    run.place({"target_exposure": 100.5 * run.at(0), "band": 2 * run.at(0), "check_seconds": 1})
    _, offer = run.offer()
    run.wait(lambda: run.part()["filled_quantity"] == 100, "the first hedge")
    yield "brought to its target"
    run.move(4)
    bid, _ = run.offer()
    run.wait(lambda: run.part()["filled_quantity"] == 103, "the second hedge")
    yield "brought back into its band"
    cancel_parent(run)
    past = 2 * run.share["tick_size"]
    return [place("BUY", 100, round(offer + past, 2)), place("SELL", 3, round(bid - past, 2))]


@life("freeze_slicer", "its orders rest", option=True)
def freeze_slicer(run):
    freeze, lot = run.option["freeze_quantity"], run.option["lot_size"]
    price = run.at(-3, run.option)
    run.place(instrument_id=run.option["instrument_id"], quantity=freeze + lot, price=price)
    run.working(2)
    yield "its orders rest"
    run.fill()
    run.fill()
    run.ends()
    return [{place("BUY", freeze, price), place("BUY", lot, price)}]


@life("good_till_time", "it rests", lull=17)
def good_till_time(run):
    run.place({"until_time": run.near(SOON), "at_expiry": "marketable"})
    run.working(1)
    yield "it rests"
    _, offer = run.offer()
    run.ends()
    return [place("BUY", 10, run.at(-3)), modify("BUY", ANY, round(offer + 2 * run.share["tick_size"], 2))]


@life("grid", "its rungs rest", "a rung has filled, its opposite rests", "the rung is back")
def grid(run):
    middle, below, above = run.at(0), "root.children.0", "root.children.1"
    step = round(run.at(0) - run.at(-1), 2)
    rungs = [(side, round(middle - sign * n * step, 2)) for side, sign in (("BUY", 1), ("SELL", -1)) for n in (1, 2)]
    run.place({"step_points": step})
    run.working(4)
    yield "its rungs rest"
    run.move(-1)
    run.working(1, f"{below}.each_fill")
    yield "a rung has filled, its opposite rests"
    run.move(0)
    run.working(2, below)
    run.working(2, above)
    yield "the rung is back"
    cancel_parent(run)
    run.ends("cancelled")
    return [
        {place(side, 10, price) for side, price in rungs},
        place("SELL", 10, middle),
        place("BUY", 10, rungs[0][1]),
        [cancel("BUY"), cancel("BUY"), cancel("SELL"), cancel("SELL")],
    ]


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


@life("iceberg", "the first slice works", "the second slice works", "the last slice works")
def iceberg(run):
    run.place()
    for state in ("the first slice works", "the second slice works", "the last slice works"):
        run.working(1)
        yield state
        run.fill()
    run.ends()
    return [place("BUY", 4, run.at(-3)), place("BUY", 4, run.at(-3)), place("BUY", 2, run.at(-3))]


@life("implementation_shortfall", "the first slice works", "both slices work", lull=22)
def implementation_shortfall(run):
    run.place({"over_minutes": 0.36})
    run.begins()
    yield "the first slice works"
    run.working(2)
    yield "both slices work"
    run.fill()
    run.fill()
    run.ends()
    return [place("BUY", 8, run.at(-3)), place("BUY", 2, run.at(-3))]
