"""Lives of orders that are sent in pieces: by time, by volume, by size, or on rungs."""

from tests.demo.lives.judging import cancel_parent
from tests.demo.lives.lives import life
from tests.demo.lives.prices import on_tick, past_touch
from tests.demo.lives.said import ANY, cancel, modify, place
from tests.demo.lives.waiting import TIMED_PATIENCE_SECONDS

SENT = ("open", "pending", "complete")
"""A slice that a broker has taken; it may have traded since."""


@life("twap", "the first slice works", "the second slice works", lull=4)
def twap(run):
    run.place({"slices": 2, "over_minutes": 0.1})
    run.begins()
    yield "the first slice works"
    run.fill()
    run.working(1)
    yield "the second slice works"
    run.fill()
    run.ends()
    return [place("BUY", 5, run.at(-3)), place("BUY", 5, run.at(-3))]


@life("vwap", "the first slice works", "the second slice works", lull=8)
def vwap(run):
    run.place({"slices": 2, "over_minutes": 0.2, "volume_profile": [2, 3]})
    run.begins()
    yield "the first slice works"
    run.fill()
    run.working(1)
    yield "the second slice works"
    run.fill()
    run.ends()
    return [place("BUY", 4, run.at(-3)), place("BUY", 6, run.at(-3))]


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
    moved = modify("BUY", ANY, past_touch(run, "BUY"))
    run.ends()
    return [place("BUY", 5, run.at(-3)), place("BUY", 5, run.at(-3)), moved, moved]


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


def traded(run):
    """(units traded today, the exchange's second of it)"""
    quote = run.demo.read("/api/instruments/quote", instrument_id=run.share["instrument_id"])
    return quote["volume"], quote["exchange_time"]


def units_a_second(run):
    """How fast its market trades, in a minute of which enough is left: it trades evenly in a minute, and otherwise in the next."""
    run.wait(lambda: traded(run)[1] % 60 < 40, "the next minute")
    units, second = traded(run)
    run.wait(lambda: traded(run)[1] >= second + 3, "three seconds of trade")
    units_now, second_now = traded(run)
    return (units_now - units) / (second_now - second)


@life("participation", "a piece works", "the rest works", lull=70)
def participation(run):
    run.patience = 120.0
    rate = run.wait(lambda: units_a_second(run), "its market to trade")
    percent = min(100.0, round(25 / rate, 4))  # a unit in four seconds: one when it first looks
    began = traded(run)[0]
    run.place({"participation_percent": percent}, order_type="LIMIT", price=run.at(-3), quantity=4)
    (piece,) = run.working(1)
    first, before = piece["quantity"], traded(run)[0]
    assert first == 1 or first <= (before - began) * percent / 100, "more than its share"  # a slow machine looks late
    yield "a piece works"
    run.wait(lambda: (traded(run)[0] - before) * percent / 100 > 4, "its share to be more than it wants")
    run.fill()
    run.working(1)
    yield "the rest works"
    run.fill()
    run.ends()
    return [place("BUY", first, run.at(-3)), place("BUY", 4 - first, run.at(-3))]


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


@life("liquidity_seeking", "it waits for size")
def liquidity_seeking(run):
    run.place()
    yield "it waits for size"
    run.move(-5)
    run.ends()
    return [place("BUY", 10, run.at(-4))]


@life("iceberg", "the first slice works", "the second slice works", "the last slice works")
def iceberg(run):
    run.place()
    for state in ("the first slice works", "the second slice works", "the last slice works"):
        run.working(1)
        yield state
        run.fill()
    run.ends()
    return [place("BUY", 4, run.at(-3)), place("BUY", 4, run.at(-3)), place("BUY", 2, run.at(-3))]


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


@life("ladder", "every rung rests", "the first rung has filled")
def ladder(run):
    run.place({"steps": 3})
    run.working(3)
    yield "every rung rests"
    first = max(run.legs(states=("open",)), key=lambda leg: leg["price"])
    run.fill_leg(first, first["pending_quantity"])
    run.working(2)
    yield "the first rung has filled"
    run.fill()
    run.fill()
    run.ends()
    middle = on_tick(run.share, (run.at(-2) + run.at(-4)) / 2)
    return [{place("BUY", 4, run.at(-2)), place("BUY", 3, middle), place("BUY", 3, run.at(-4))}]


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


@life(
    "scale_with_profit_taker",
    "the first rung works", "a part has its profit order", "the second rung works", "both profit orders work",
)  # fmt: skip
def scale_with_profit_taker(run):
    step = run.example().settings["step_points"]
    first, profit = run.at(-3), round(run.at(-3) + step, 2)
    second = round(first - step, 2)
    run.place()
    run.working(1)
    yield "the first rung works"
    run.move(-2.5)
    run.fill(2)
    run.working(2)
    yield "a part has its profit order"
    run.fill(part="root")
    run.wait(lambda: run.leg("root.each_fill")["quantity"] == 5, "the profit order to grow")
    run.working(2)
    yield "the second rung works"
    run.move(-3.5)
    run.fill(part="root")
    run.working(2, "root.each_fill")
    yield "both profit orders work"
    run.fill()
    run.fill()
    run.ends()
    return [
        place("BUY", 5, first),
        place("SELL", 2, profit),
        {modify("SELL", 5), place("BUY", 5, second)},
        place("SELL", 5, first),
    ]
