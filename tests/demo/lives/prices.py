"""Prices that several lives ask for: on the tick, past the touch, so many percent away."""

from decimal import ROUND_FLOOR, Decimal


def points(run, percent):
    """So many percent of the share's first price, in rupees on its tick."""
    return round(run.at(percent) - run.at(0), 2)


def ticks(run, percent):
    """So many percent of the share's first price, in ticks."""
    return round(points(run, percent) / run.share["tick_size"])


def on_tick(share, rupees):
    """The price of a buy order at so many rupees: on the tick below."""
    tick = Decimal(str(share["tick_size"]))
    return float((Decimal(repr(rupees)) / tick).to_integral_value(ROUND_FLOOR) * tick)


def ticks_from(share, price, ticks):
    return round(price + ticks * share["tick_size"], 2)


def down(run, price):
    """A price on the share's tick, below or at the one given."""
    tick = Decimal(str(run.share["tick_size"]))
    return float((price / tick).to_integral_value(ROUND_FLOOR) * tick)


def exact(price):
    return Decimal(repr(price))


def past_touch(run, side, share=None):
    """The limit of a marketable order: two ticks past the best price of the other side."""
    share = share or run.share
    bid, offer = run.offer(share)
    away = 2 * share["tick_size"]
    return round(offer + away if side == "BUY" else bid - away, 2)


def bid_of_other(run, above=0.0):
    """The other share's best bid, once it is quoted above a price: the first quotes of an instrument may be without its book."""
    quoted = lambda: run.demo.read("/api/instruments/quote", instrument_id=run.other["instrument_id"])["depth"]["buy"]  # noqa: E731
    higher = lambda: next((level["price"] for level in quoted()[:1] if level["price"] > above), None)  # noqa: E731
    return run.wait(higher, f"a bid above {above}")
