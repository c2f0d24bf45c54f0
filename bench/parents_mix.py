"""Five hundred parents of two dozen kinds, each with the rule by which `parents_replay` judges it.

Their levels are 0.6 to 6 % away from the share's price at the time of placing. So a market that moves 4.5 % either way reaches most of them and
leaves the rest.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import attrs

from bench.parents_replay import (
    BarPast,
    BehindBid,
    Either,
    Fires,
    Follows,
    FollowsOther,
    Judged,
    Rule,
    Stepped,
    Touch,
    Trailed,
    snapped,
)
from tests.support.trading import plain

NEAREST_PERCENT, FARTHEST_PERCENT = 0.6, 6.0
BAR_SECONDS = 15
PEG_TICKS = 20


@attrs.frozen
class Share:
    instrument_id: str
    tick: Decimal
    base: Decimal
    """The share's price in rupees while parents are placed."""

    def at(self, percent: float) -> Decimal:
        """Return the price that is `percent` away, rounded down to a tick."""
        return snapped(self.base * (100 + Decimal(repr(round(percent, 4)))) / 100, self.tick, up=False)


@attrs.define
class Parent:
    """One order of the mix, and its outcome."""

    kind: str
    body: Mapping[str, Any]
    judged: Judged
    parent_id: str = ""
    sent_now: bool = False
    """Whether an order left at once (200)."""


@attrs.frozen
class Making:
    """The inputs of one parent."""

    share: Share
    other: Share
    dice: random.Random

    def far(self) -> float:
        return self.dice.uniform(NEAREST_PERCENT, FARTHEST_PERCENT)

    def level(self) -> tuple[bool, Decimal]:
        """Return a side of the market (true for above), and a price on that side."""
        above = self.dice.random() < 0.5
        return above, self.share.at(self.far() if above else -self.far())

    def parent(self, kind: str, synthetic: Mapping[str, Any], rule: Rule, **body: Any) -> Parent:
        fields = {
            "instrument_id": self.share.instrument_id, "transaction_type": "BUY", "product": "MIS", "order_type": "MARKET",
            "quantity": 1, **body, "synthetic": {"type": kind, **synthetic},
        }  # fmt: skip
        watches = frozenset((self.share.instrument_id, self.other.instrument_id))
        given = {name: value for name, value in fields.items() if value is not None}
        return Parent(kind, plain(given), Judged(watches, rule))

    def touch(self, above: bool, level: Decimal) -> Touch:
        return Touch(self.share.instrument_id, level, above)

    def held(self, limit: Decimal, *, buy: bool) -> Either:
        """The condition that releases a held limit: the other side's best price, or the last price, is at the limit or better."""
        touch = Touch(self.share.instrument_id, limit, not buy, "offer" if buy else "bid")
        return Either([touch, Touch(self.share.instrument_id, limit, not buy)])


Kind: TypeAlias = Callable[[Making], Parent]


def _direction(above: bool) -> str:
    return "above" if above else "below"


def _market_if_touched(make: Making) -> Parent:
    above, level = make.level()
    side = make.dice.choice(("BUY", "SELL"))
    settings = {"trigger_price": level, "trigger_direction": _direction(above)}
    return make.parent("market_if_touched", settings, Fires([make.touch(above, level)]), transaction_type=side)


def _limit_if_touched(make: Making) -> Parent:
    """The limit is sometimes beyond the trigger, and is then held."""
    level = make.share.at(-make.far())
    limit = level - make.dice.choice((0, 0, 10)) * make.share.tick
    rule = Fires([make.touch(False, level), make.held(limit, buy=True)])
    return make.parent("limit_if_touched", {"trigger_price": level, "limit_price": limit}, rule)


def _gtt(make: Making) -> Parent:
    above, level = make.level()
    settings = {"trigger_price": level, "limit_price": level, "trigger_direction": _direction(above)}
    return make.parent("gtt", settings, Fires([make.touch(above, level), make.held(level, buy=True)]))


def _gtt_pair(make: Making) -> Parent:
    low, high = make.share.at(-make.far()), make.share.at(make.far())
    settings = {
        "trigger_price": low, "limit_price": low, "second_trigger_price": high, "second_limit_price": high, "hold_limits": False,
    }  # fmt: skip
    rule = Fires([Either([make.touch(False, low), make.touch(True, high)])])
    return make.parent("gtt", settings, rule, transaction_type="SELL")


def _hidden_stop(make: Making) -> Parent:
    above, level = make.level()
    settings = {"trigger_price": level}
    rule = Fires([make.touch(above, level)])
    return make.parent("hidden_stop", settings, rule, transaction_type="BUY" if above else "SELL")


def _backstopped(make: Making) -> Parent:
    """The backstop has to be cancelled first."""
    level = make.share.at(-make.far())
    settings = {
        "trigger_price": level,
        "backstop_price": make.share.at(-6.4),
        "backstop_limit_price": make.share.at(-6.8),
    }
    rule = Fires([make.touch(False, level)], part="root.children.0", immediate=False)
    return make.parent("hidden_stop", settings, rule, transaction_type="SELL")


def _virtual_limit(make: Making) -> Parent:
    buy = make.dice.random() < 0.5
    price = make.share.at(-make.far() if buy else make.far())
    rule = Fires([make.held(price, buy=buy)])
    side = "BUY" if buy else "SELL"
    return make.parent("virtual_limit", {}, rule, order_type="LIMIT", price=price, transaction_type=side)


def _cross_instrument(make: Making) -> Parent:
    """Watches another share. Its own limit is far enough away to be reached at once."""
    above = make.dice.random() < 0.5
    level, limit = make.other.at(make.far() if above else -make.far()), make.share.at(6)
    watch = make.other.instrument_id
    settings = {
        "watch_instrument_id": watch, "trigger_price": level, "trigger_direction": _direction(above), "limit_price": limit,
    }  # fmt: skip
    return make.parent("cross_instrument", settings, Fires([Touch(watch, level, above), make.held(limit, buy=True)]))


def _indicator_triggered(make: Making) -> Parent:
    field, (above, level) = make.dice.choice(("bid", "offer", "last_price")), make.level()
    settings = {
        "watch_field": field, "trigger_price": level, "trigger_direction": _direction(above),
        "limit_price": make.share.at(6), "hold_limits": False,
    }  # fmt: skip
    return make.parent("indicator_triggered", settings, Fires([Touch(make.share.instrument_id, level, above, field)]))


def _candle_close_stop(make: Making) -> Parent:
    above, level = make.level()
    settings = {"trigger_price": level, "bar_minutes": BAR_SECONDS / 60}
    rule = Fires([BarPast(make.share.instrument_id, level, above, BAR_SECONDS)], immediate=False)
    return make.parent("candle_close_stop", settings, rule, transaction_type="BUY" if above else "SELL")


def _bracket(make: Making) -> Parent:
    price = make.share.at(-make.far())
    away = make.share.base * Decimal("0.02")
    settings = {
        "stop_price": snapped(price - away, make.share.tick, up=False), "target_price": snapped(price + away, make.share.tick, up=False),
        "stop_limit_price": snapped(price - 2 * away, make.share.tick, up=False),
    }  # fmt: skip
    return make.parent(
        "bracket", settings, Fires([make.held(price, buy=True)], part="root"), order_type="LIMIT", price=price
    )


def _oco(make: Making) -> Parent:
    """The target is a held limit."""
    target = make.share.at(make.far())
    settings = {
        "stop_price": make.share.at(-6.2), "stop_limit_price": make.share.at(-6.8), "target_price": target, "hold_limits": True,
    }  # fmt: skip
    rule = Fires([make.held(target, buy=False)], part="root.children.1")
    return make.parent("oco", settings, rule, transaction_type="SELL")


def _activated_trail(make: Making) -> Parent:
    """Sent when the activation price is reached."""
    activate_at = make.share.at(make.far())
    settings = {"trail_percent": 4, "stop_limit_offset": 1, "activate_at": activate_at}
    return make.parent("trailing_stop", settings, Fires([make.touch(True, activate_at)]), transaction_type="SELL")


def _trail(kind: str, *, sell: bool, settings: Mapping[str, Any] | None = None) -> Kind:
    def made(make: Making) -> Parent:
        points = snapped(make.share.base * Decimal("0.05"), make.share.tick, up=False)
        price = Trailed(make.share.instrument_id, make.share.tick, sell, points=points)
        side = "SELL" if sell else "BUY"
        given = {"trail_points": points, "stop_limit_offset": 1, **(settings or {})}
        return make.parent(kind, given, Follows(price, "trigger_price"), transaction_type=side)

    return made


def _stepped_stop(make: Making) -> Parent:
    part = lambda percent: snapped(make.share.base * Decimal(percent) / 100, make.share.tick, up=False)  # noqa: E731
    stop, gain, trail_gain, trail = make.share.at(-5), part("1.5"), part("3"), part("4")
    settings = {
        "entry_price": make.share.base, "stop_price": stop, "stop_limit_offset": 1,
        "rules": [{"gain": gain, "stop_at_gain": -part("3")}, {"gain": trail_gain, "trail_points": trail}],
    }  # fmt: skip
    price = Stepped(
        make.share.instrument_id, make.share.tick, entry=make.share.base, stop=stop, gain=gain, stop_at_gain=-part("3"),
        trail_gain=trail_gain, trail_points=trail,
    )  # fmt: skip
    return make.parent("stepped_stop", settings, Follows(price, "trigger_price"), transaction_type="SELL")


def _peg(make: Making) -> Parent:
    rule = Follows(BehindBid(make.share.instrument_id, PEG_TICKS * make.share.tick), "price")
    return make.parent("peg", {"reference": "own_touch", "offset_ticks": PEG_TICKS}, rule)


def _underlying_peg(make: Making) -> Parent:
    price = make.share.at(-5.5)
    delta = (make.share.base / make.other.base * Decimal("0.1")).quantize(Decimal("0.00001"))
    settings = {"watch_instrument_id": make.other.instrument_id, "delta": delta}
    rule = Follows(FollowsOther(make.other.instrument_id, make.share.tick, price, delta), "price")
    return make.parent("underlying_peg", settings, rule, order_type="LIMIT", price=price)


def _chaser(make: Making) -> Parent:
    """Its price steps by the clock."""
    settings = {"step_seconds": 20, "cap_price": make.share.at(-5)}
    return make.parent("chaser", settings, None, order_type="LIMIT", price=make.share.at(-5.5))


def _discretionary(make: Making) -> Parent:
    """Not judged: a move cannot be told apart from a fill by the exchange at the resting price."""
    price = make.share.at(-make.far())
    return make.parent(
        "discretionary", {"discretion_points": 10 * make.share.tick}, None, order_type="LIMIT", price=price
    )


def _two_sided_breakout(make: Making) -> Parent:
    """Two stops at the exchange. The service acts only after their fills."""
    at = make.share.at
    settings = {
        "buy_trigger": at(5), "buy_limit": at(6), "sell_trigger": at(-5), "sell_limit": at(-6),
        "stop_distance": 2, "stop_limit_offset": 1, "target_distance": 3,
    }  # fmt: skip
    return make.parent("two_sided_breakout", settings, None)


def _liquidity_seeking(make: Making) -> Parent:
    limit = make.share.at(-make.far())
    rule = Fires([Touch(make.share.instrument_id, limit, False, "offer")])
    return make.parent("liquidity_seeking", {"limit_price": limit, "minimum_quantity": 1}, rule)


def _plan(make: Making) -> Parent:
    """Either of two levels, one of them on another share."""
    above, level = make.level()
    low = make.other.at(-make.far())
    prices = [
        {"price": {"level": level, "direction": _direction(above)}},
        {"price": {"instrument_id": make.other.instrument_id, "level": low, "direction": "below"}},
    ]
    rule = Fires([Either([make.touch(above, level), Touch(make.other.instrument_id, low, False)])])
    return make.parent("plan", {"root": {"when": {"any": prices}, "price": {"kind": "marketable"}}}, rule)


def _of_position(kind: str) -> Kind:
    def made(make: Making) -> Parent:
        above, level = make.level()
        settings = {"trigger_price": level, "trigger_direction": _direction(above)}
        rule = Fires([make.touch(above, level)], immediate=False)
        return make.parent(kind, settings, rule, quantity=None)

    return made


KINDS: Mapping[str, tuple[int, Kind]] = {
    "market_if_touched": (60, _market_if_touched),
    "limit_if_touched": (50, _limit_if_touched),
    "gtt": (40, _gtt),
    "gtt, two": (20, _gtt_pair),
    "hidden_stop": (60, _hidden_stop),
    "hidden_stop, backstop": (10, _backstopped),
    "virtual_limit": (50, _virtual_limit),
    "cross_instrument": (40, _cross_instrument),
    "indicator_triggered": (30, _indicator_triggered),
    "candle_close_stop": (20, _candle_close_stop),
    "bracket": (30, _bracket),
    "oco": (15, _oco),
    "trailing_stop, activated": (20, _activated_trail),
    "trailing_stop": (12, _trail("trailing_stop", sell=True)),
    "trailing_entry": (12, _trail("trailing_entry", sell=False)),
    "atr_trail": (8, _trail("atr_trail", sell=True, settings={"bar_minutes": 60})),
    "stepped_stop": (10, _stepped_stop),
    "peg": (3, _peg),
    "underlying_peg": (2, _underlying_peg),
    "chaser": (5, _chaser),
    "discretionary": (10, _discretionary),
    "two_sided_breakout": (10, _two_sided_breakout),
    "liquidity_seeking": (15, _liquidity_seeking),
    "plan": (20, _plan),
}
"""Name -> (its number in a total of about 560, its maker)."""
OF_POSITIONS: Mapping[str, Kind] = {
    "close_on_trigger": _of_position("close_on_trigger"),
    "stop_and_reverse": _of_position("stop_and_reverse"),
}
"""These need a position, close all of it, and cancel other orders that would close it. So each has its own share."""


def make_parents(count: int, shares: Sequence[Share], own_shares: Sequence[Share], seed: int) -> list[Parent]:
    """Return `count` parents: one of OF_POSITIONS for each of `own_shares`, the rest by weight, over all shares in turn."""
    dice = random.Random(seed)
    makers = list(OF_POSITIONS.items())
    parents = []
    for number, share in enumerate(own_shares[:count]):
        name, kind = makers[number % len(makers)]
        parents.append(attrs.evolve(kind(Making(share, shares[0], dice)), kind=name))
    names = [name for name, (weight, _) in KINDS.items() for _ in range(weight)]
    dice.shuffle(names)
    first = list(KINDS) if count >= len(KINDS) + len(parents) else []  # one of each kind, whatever chance gives
    for number, name in enumerate([*first, *names * (count // len(names) + 1)][: count - len(parents)]):
        share, other = shares[number % len(shares)], shares[(number * 7 + 1) % len(shares)]
        other = other if other is not share else shares[(number + 1) % len(shares)]
        parents.append(attrs.evolve(KINDS[name][1](Making(share, other, dice)), kind=name))
    return parents
