"""Lives of entries that wait for a price or for the market's trade, of those that choose or come one after the other, and of oco."""

from decimal import ROUND_FLOOR, Decimal

from tests.demo.lives.lives import OPENING, life
from tests.demo.lives.said import ANY, cancel, modify, place


def on_tick(share, rupees):
    """The price of a buy order at so many rupees: on the tick below."""
    tick = Decimal(str(share["tick_size"]))
    return float((Decimal(repr(rupees)) / tick).to_integral_value(ROUND_FLOOR) * tick)


def ticks_from(share, price, ticks):
    return round(price + ticks * share["tick_size"], 2)


def bid_of_other(run, above=0.0):
    """The other share's best bid, once it is quoted above a price: the first quotes of an instrument may be without its book."""
    quoted = lambda: run.demo.read("/api/instruments/quote", instrument_id=run.other["instrument_id"])["depth"]["buy"]  # noqa: E731
    higher = lambda: next((level["price"] for level in quoted()[:1] if level["price"] > above), None)  # noqa: E731
    return run.wait(higher, f"a bid above {above}")


# --- they wait for a price ----------------------------------------------------------------------------------------------


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


@life("liquidity_seeking", "it waits for size")
def liquidity_seeking(run):
    run.place()
    yield "it waits for size"
    run.move(-5)
    run.ends()
    return [place("BUY", 10, run.at(-4))]


# --- they wait for time or trade --------------------------------------------------------------------------------------------


@life("opening_auction", "it waits for its time", "it rests for the auction", now=OPENING, lull=26)
def opening_auction(run):
    run.place({"at_time": run.near(0.4)}, status=202)
    yield "it waits for its time"
    run.working(1)
    yield "it rests for the auction"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-2))]


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


# --- they work at once --------------------------------------------------------------------------------------------------


@life("marketable_limit", "it rests at its worst price")
def marketable_limit(run):
    run.place({"fill_within_seconds": 600}, order_type="LIMIT", price=run.at(-3))
    run.working(1)
    yield "it rests at its worst price"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3))]


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


# --- one of several, one after the other ------------------------------------------------------------------------------------


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
