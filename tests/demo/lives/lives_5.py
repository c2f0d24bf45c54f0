"""Lives of the order types whose names begin with tr to vw, of a simple order, and of a plan of one's own (order-engine 3.36, 3.41, 3.48 to
3.55)."""

from decimal import ROUND_FLOOR, Decimal

from tests.demo.lives.judging import cancel_parent
from tests.demo.lives.lives import life
from tests.demo.lives.said import ANY, cancel, modify, place


def points(run, percent):
    """So many percent of the share's first price, in rupees on its tick."""
    return round(run.at(percent) - run.at(0), 2)


def ticks(run, percent):
    """So many percent of the share's first price, in ticks."""
    return round(points(run, percent) / run.share["tick_size"])


def down(run, price):
    """A price on the share's tick, below or at the one given."""
    tick = Decimal(str(run.share["tick_size"]))
    return float((price / tick).to_integral_value(ROUND_FLOOR) * tick)


def exact(price):
    return Decimal(repr(price))


def parts_work(run, *parts):
    """Wait until orders of exactly these parts work, one of each."""
    run.wait(lambda: sorted(leg["part"] for leg in run.legs()) == sorted(parts), f"orders of {parts} to work")


def rests_at(run, price, part=None):
    """Wait until its newest order (of a part) works at that price."""
    run.wait(
        lambda: (run.leg(part)["state"], run.leg(part)["price"]) == ("open", price), f"an order to rest at {price}"
    )


@life("simple", "it rests")
def simple(run):
    run.place(order_type="LIMIT", price=run.at(-3))
    run.working(1)
    yield "it rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3), None)]


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


@life(
    "two_sided_quote",
    "both quotes rest",
    "the bid has traded and stands again, both are lower",
    "both have followed the middle",
    "the offer has traded, both stand evenly again",
)
def two_sided_quote(run):
    """It goes on until its session or its caller ends it."""
    bid, offer = "root.children.0", "root.children.1"
    quote = lambda percent, away: round(run.at(percent) + away * run.share["tick_size"], 2)  # noqa: E731
    half, skew = ticks(run, 2), ticks(run, 0.5)
    run.place({"half_spread_ticks": half, "skew_ticks": skew})
    run.working(2)
    yield "both quotes rest"
    run.fill(part=bid)
    rests_at(run, quote(0, -half - skew), bid)
    rests_at(run, quote(0, half - skew), offer)
    yield "the bid has traded and stands again, both are lower"
    run.move(1)
    rests_at(run, quote(1, -half - skew), bid)
    rests_at(run, quote(1, half - skew), offer)
    yield "both have followed the middle"
    run.fill(part=offer)
    rests_at(run, quote(1, -half), bid)
    rests_at(run, quote(1, half), offer)
    yield "the offer has traded, both stand evenly again"
    cancel_parent(run)
    run.ends("cancelled")
    return [
        {place("BUY", 10, quote(0, -half)), place("SELL", 10, quote(0, half))},
        {place("BUY", 10, quote(0, -half - skew)), modify("SELL", ANY, quote(0, half - skew))},
        {modify("BUY", ANY, quote(1, -half - skew)), modify("SELL", ANY, quote(1, half - skew))},
        {modify("BUY", ANY, quote(1, -half)), place("SELL", 10, quote(1, half))},
        {cancel("BUY"), cancel("SELL")},
    ]


@life("underlying_peg", "it rests", "it has followed", "it stands at its highest price")
def underlying_peg(run):
    one, other = points(run, 1), round(run.at(1, run.other) - run.at(0, run.other), 2)
    delta = round(one / other, 4)
    followed = down(run, exact(run.at(-3)) + exact(delta) * exact(other))
    run.place({"delta": delta, "highest_price": run.at(-1)})
    run.working(1)
    yield "it rests"
    run.move(1, run.other)
    rests_at(run, followed)
    yield "it has followed"
    run.move(4, run.other)
    rests_at(run, run.at(-1))
    yield "it stands at its highest price"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3)), modify("BUY", ANY, followed), modify("BUY", ANY, run.at(-1))]


@life("volatility", "it rests", "it has followed", "it stands at the worst price accepted")
def volatility(run):
    """With next to no volatility an option in the money is worth what exercising it gives, whatever time is left."""
    strike, lot = run.option["strike_price"], run.option["lot_size"]
    deeper = 1 if run.option["option_type"] == "CE" else -1
    worth = lambda percent: round(abs(run.at(deeper * percent, run.other) - strike), 2)  # noqa: E731
    settings = {"volatility": 0.1, "lowest_price": None, "highest_price": None}
    run.place(settings, price=worth(2))
    run.working(1)
    yield "it rests"
    run.move(deeper, run.other)
    rests_at(run, worth(1))
    yield "it has followed"
    run.move(4 * deeper, run.other)
    rests_at(run, worth(2))
    yield "it stands at the worst price accepted"
    run.fill()
    run.ends()
    return [place("BUY", lot, worth(0)), modify("BUY", ANY, worth(1)), modify("BUY", ANY, worth(2))]


def _tree(run):
    """Buys ten; then guards six of them by a stop and a target, and offers the other four when the market has risen."""
    sell = lambda units, price, **more: {"transaction_type": "SELL", "quantity": units, "price": price, **more}  # noqa: E731
    stop = {"kind": "native_stop", "trigger_price": run.at(-4), "limit_price": run.at(-5)}
    guard = [sell(6, stop), sell(6, {"kind": "fixed", "price": run.at(3)})]
    risen = {"price": {"level": run.at(1), "direction": "above"}}
    then = [
        {"part": "one_cancels_others", "rule": "shrink", "children": guard},
        sell(4, {"kind": "fixed", "price": run.at(4)}, when=risen),
    ]
    return {"part": "sequence", "first": {}, "then": {"part": "together", "children": then}}


@life(
    "plan",
    "the entry rests",
    "six are guarded, four wait for the price",
    "the four are offered",
    "the target has filled in part, the stop has shrunk",
)
def plan(run):
    stop, target, rest = (f"root.then.children.{path}" for path in ("0.children.0", "0.children.1", "1"))
    run.place({"root": _tree(run)}, order_type="LIMIT", price=run.at(-2))
    run.working(1)
    yield "the entry rests"
    run.fill()
    parts_work(run, stop, target)
    yield "six are guarded, four wait for the price"
    run.move(1)
    parts_work(run, stop, target, rest)
    yield "the four are offered"
    run.fill(2, part=target)
    run.wait(lambda: run.leg(stop)["quantity"] == 4, "the stop to shrink")
    yield "the target has filled in part, the stop has shrunk"
    run.fill(part=target)
    run.fill(part=rest)
    run.ends()
    return [
        place("BUY", 10, run.at(-2), None),
        {place("SELL", 6, run.at(-5), run.at(-4)), place("SELL", 6, run.at(3), None)},
        place("SELL", 4, run.at(4), None),
        modify("SELL", 4),
        cancel("SELL"),
    ]
