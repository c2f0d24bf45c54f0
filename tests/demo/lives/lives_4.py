"""Lives of entries, exits and guards whose names begin with p to t (order-engine 3.35 to 3.47)."""

from tests.demo.lives.lives import life
from tests.demo.lives.said import ANY, cancel, modify, place

SOON_MINUTES = 0.3
"""When an order of a life falls due: late enough to be struck before."""


def points(run, percent):
    """So many percent of the share's first price, in rupees on its tick."""
    return round(run.at(percent) - run.at(0), 2)


def past_touch(run, side, share=None):
    """The limit of a marketable order: two ticks past the best price of the other side."""
    share = share or run.share
    bid, offer = run.offer(share)
    away = 2 * share["tick_size"]
    return round(offer + away if side == "BUY" else bid - away, 2)


@life("peg", "it rests at the bid", "it has followed", "it stands at its cap")
def peg(run):
    bid, _ = run.offer()
    run.place({"cap_price": run.at(1)})
    run.working(1)
    yield "it rests at the bid"
    run.move(0.5)
    followed, _ = run.offer()
    run.wait(lambda: run.leg()["price"] == followed, "the order to follow")
    yield "it has followed"
    run.move(2)
    run.wait(lambda: run.leg()["price"] == run.at(1), "the order to stand at its cap")
    yield "it stands at its cap"
    run.fill()
    run.ends()
    return [place("BUY", 10, bid), modify("BUY", ANY, followed), modify("BUY", ANY, run.at(1))]


@life("post_only", "it rests")
def post_only(run):
    run.place()
    run.working(1)
    yield "it rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3))]


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


@life("scheduled", "it waits for its time", "it rests", lull=20)
def scheduled(run):
    run.place({"at_time": run.near(SOON_MINUTES), "hold_limits": False}, order_type="LIMIT", price=run.at(-3))
    yield "it waits for its time"
    run.working(1)
    yield "it rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3))]


@life("square_off", "it waits for its time beside a resting order", lull=20)
def square_off(run):
    run.buy_first(10)
    run.rest_first("SELL", 10, run.at(4))
    run.place({"at_time": run.near(SOON_MINUTES)})
    yield "it waits for its time beside a resting order"
    run.ends()
    return [cancel("SELL"), place("SELL", 10, past_touch(run, "SELL"))]


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


@life("stop_and_reverse", "armed beside a resting order")
def stop_and_reverse(run):
    run.buy_first(10)
    run.rest_first("SELL", 10, run.at(4))
    run.place(status=202)
    yield "armed beside a resting order"
    run.move(-4)
    run.ends()
    return [cancel("SELL"), place("SELL", 20, past_touch(run, "SELL"))]


@life("strategy_stop", "it watches beside a resting order")
def strategy_stop(run):
    run.buy_first(10)
    run.buy_first(5, run.other)
    run.rest_first("SELL", 10, run.at(4))
    guarded = [run.share["instrument_id"], run.other["instrument_id"]]
    run.place({"instrument_ids": guarded, "max_loss": -10 * points(run, -2)}, status=202)
    yield "it watches beside a resting order"
    run.move(-3)
    run.ends()
    other = place("SELL", 5, past_touch(run, "SELL", run.other), number=2)
    return [cancel("SELL"), {place("SELL", 10, past_touch(run, "SELL")), other}]


@life("time_stop", "a part has filled", lull=20)
def time_stop(run):
    run.place({"minutes": SOON_MINUTES})
    run.working(1)
    run.fill(6)
    yield "a part has filled"
    run.ends()
    return [place("BUY", 10, run.at(-3)), cancel("BUY"), place("SELL", 6, past_touch(run, "SELL"))]


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
