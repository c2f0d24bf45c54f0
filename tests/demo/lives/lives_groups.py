"""Lives of several orders that belong together: baskets, spreads, hedges, both sides of a quote, and a plan of one's own."""

from tests.demo.lives.judging import cancel_parent
from tests.demo.lives.lives import life
from tests.demo.lives.prices import bid_of_other, on_tick, past_touch, ticks, ticks_from
from tests.demo.lives.said import ANY, cancel, modify, place
from tests.demo.lives.waiting import parts_work, rests_at


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


@life("oca", "both work", "one has begun to fill")
def oca(run):
    run.place()
    run.working(2)
    yield "both work"
    run.fill(4, "root.children.0")
    run.working(1)
    yield "one has begun to fill"
    run.fill()
    run.ends()
    return [{place("BUY", 10, run.at(-3)), place("BUY", 5, run.at(-4))}, cancel("BUY")]


@life("oto", "the first rests", "the first is partly filled", "the second rests")
def oto(run):
    run.place()
    run.working(1)
    yield "the first rests"
    run.fill(4)
    yield "the first is partly filled"
    run.fill()
    run.working(1, "root.then")
    yield "the second rests"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3)), place("SELL", 10, run.at(3))]


@life("legged_spread", "the first leg rests", "it has followed", "a part has its second leg")
def legged_spread(run):
    bid = bid_of_other(run)
    run.place({"net_price": round(run.at(-2) - bid, 2)}, price=run.at(-1))
    run.working(1)
    yield "the first leg rests"
    run.price(ticks_from(run.other, run.at(0, run.other), 4), run.other)
    higher = bid_of_other(run, above=bid)
    followed = on_tick(run.share, round(run.at(-2) + higher - bid, 2))
    run.wait(lambda: run.leg("root")["price"] == followed, f"the first leg to follow to {followed}")
    yield "it has followed"
    run.fill(4, "root")
    run.wait(lambda: run.legs("root.each_fill", ("complete",)), "the second leg of a part")
    yield "a part has its second leg"
    run.fill(part="root")
    run.ends()
    taken = ticks_from(run.other, higher, -2)
    return [
        place("BUY", 10, run.at(-2)),
        modify("BUY", ANY, followed),
        place("SELL", 4, taken, number=2),
        place("SELL", 6, taken, number=2),
    ]


@life("attached_hedge", "the entry rests", "half of it is hedged")
def attached_hedge(run):
    run.place()
    run.working(1)
    hedge = place("SELL", 5, past_touch(run, "SELL", run.other), number=2)
    yield "the entry rests"
    run.fill(5)
    run.wait(lambda: run.part("root.each_fill")["filled_quantity"] == 5, "the hedge to fill")
    yield "half of it is hedged"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3)), hedge, hedge]


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
