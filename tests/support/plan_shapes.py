"""Random plans as a caller writes them, of every kind the grammar has, around the price that a share has when they are placed
(order-engine 1): `plans` makes `synthetic` objects in which `{"at": percent}` stands for a price so far from it and
`{"span": percent}` for such a distance; `priced` puts real prices in their place.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from hypothesis import strategies as st

Object: TypeAlias = dict[str, Any]
"""An object of JSON."""

OTHER = {"BUY": "SELL", "SELL": "BUY"}
SIDES = st.sampled_from(["BUY", "BUY", "SELL"])
UNITS = st.sampled_from([12, 30, 60])


def priced(value: Any, at: Callable[[float], float], span: Callable[[float], float], second: str) -> Any:
    """Return the object with prices from `at(percent)`, distances from `span(percent)`, and the id `second` for `"SECOND"`."""
    if isinstance(value, dict):
        if value.keys() == {"at"}:
            return at(value["at"])
        if value.keys() == {"span"}:
            return span(value["span"])
        return {name: priced(one, at, span, second) for name, one in value.items()}
    if isinstance(value, list):
        return [priced(one, at, span, second) for one in value]
    return second if value == "SECOND" else value


def worse(side: str, percent: float) -> Object:
    """A price so many percent past the market for an order of that side; negative: away from it."""
    return {"at": percent if side == "BUY" else -percent}


def some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    """An object with any of the fields."""
    return st.fixed_dictionaries({}, optional=optional)


# --- prices ----------------------------------------------------------------------------------------------------------------


def fixed(side: str, percent: float) -> Object:
    return {"kind": "fixed", "price": worse(side, percent)}


MARKETABLE: st.SearchStrategy[Object] = st.sampled_from(
    [
        {"kind": "marketable"},
        {"kind": "marketable", "follow": True},
        {"kind": "marketable", "fill_within_seconds": 10},
        {"kind": "marketable", "reaches_size": True, "maximum_cost_bps": 200},
    ]
)


@cache
def limits(side: str) -> st.SearchStrategy[Object]:
    """Limits of orders that open something."""
    return st.sampled_from([fixed(side, percent) for percent in (-2, -1, 1)])


@cache
def moving(side: str) -> st.SearchStrategy[Object]:
    return st.sampled_from(
        [
            {"kind": "peg"},
            {"kind": "peg", "reference": "mid", "offset_ticks": 2},
            {"kind": "chase", "step_seconds": 3, "cross_after_seconds": 20},
            {"kind": "cap", "worst_price": worse(side, 0.5), "of": {"kind": "marketable", "follow": True}},
            {"kind": "cap", "worst_price": worse(side, -1), "of": {"kind": "peg"}},
        ]
    )


@cache
def whole_prices(side: str) -> st.SearchStrategy[Object]:
    """What goes out in one piece."""
    return st.one_of(
        limits(side),
        MARKETABLE,
        moving(side),
        st.sampled_from(
            [
                {"kind": "discretion", "price": worse(side, -1), "points": {"span": 1}},
                {"kind": "discretion", "price": worse(side, -1), "points": {"span": 1}, "quantity": 5},
                {
                    "kind": "follow_instrument",
                    "watch_instrument_id": "SECOND",
                    "delta": 1,
                    "base_price": worse(side, -1),
                },
                {"kind": "native_stop", "trigger_price": worse(side, 1), "limit_price": worse(side, 2)},
                {"kind": "trail", "percent": 1, "limit_offset": {"span": 1}},
            ]
        ),
    )


@cache
def stops(side: str) -> st.SearchStrategy[Object]:
    """Stops of orders that close what was opened at about the price of the start; `side` is their own."""
    trigger, limit, late = worse(side, 4), worse(side, 5), {"marketable_after_seconds": 5}
    step = {"limit_offset": {"span": 0.5}}
    return st.sampled_from(
        [
            {"kind": "native_stop", "trigger_price": trigger, "limit_price": limit},
            {"kind": "native_stop", "trigger_price": trigger, "limit_price": limit, **late},
            {"kind": "native_stop", "trigger_price": trigger},
            {"kind": "trail", "points": {"span": 2}, **step},
            {"kind": "trail", "points": {"span": 2}, "atr": {"bar_minutes": 1, "periods": 2}, **step},
            {"kind": "stages", "stop_price": trigger, **step,
             "rules": [{"gain": {"span": 1}, "stop_at_gain": {"span": 0.5}}, {"gain": {"span": 3}, "trail_points": {"span": 1}}]},
            {"kind": "from_parent_fill", "order": "stop", "percent": 3, **step},
        ]
    )  # fmt: skip


@cache
def targets(side: str) -> st.SearchStrategy[Object]:
    """How what was opened is sold at a profit; `side` is their own."""
    away = fixed(side, -3)
    return st.sampled_from(
        [
            {"price": away},
            {"price": away, "hold": True},
            {"price": {"kind": "from_parent_fill", "order": "limit", "percent": 2}},
            {"price": {"kind": "marketable", "follow": True}, "when": {"price": {"level": worse(side, -2)}}},
            {"price": {"kind": "marketable"}, "when": {"bar_close": {"level": worse(side, -2), "bar_minutes": 1}}},
            {"price": {"kind": "marketable", "follow": True}, "when": {"time": "10:02"}},
        ]
    )


# --- exits -----------------------------------------------------------------------------------------------------------------


@cache
def exits(side: str) -> st.SearchStrategy[Object]:
    """What hangs on an order; `side` is that of the exits."""
    own = {"transaction_type": side}
    stop = st.builds(lambda price: {**own, "price": price}, stops(side))
    target = st.builds(lambda way: {**own, **way}, targets(side))
    pair = st.tuples(stop, target).map(list)
    return st.one_of(
        stop,
        target,
        st.builds(lambda both: {"part": "one_cancels_others", "rule": "shrink", "children": both}, pair),
        st.builds(
            lambda one, first: {
                "part": "one_cancels_others", "rule": "shrink",
                "children": [one, {**first, "quantity": {"share": 0.5}}, {**own, "quantity": {"share": 0.5}, "price": fixed(side, -4)}],
            },
            stop, target,
        ),
        st.builds(lambda both: {"part": "one_cancels_others", "rule": "trigger", "children": _hidden(side, both)}, stop),
        st.builds(lambda both: {"part": "one_cancels_others", "children": both}, pair),
        st.sampled_from(
            [
                {**own, "price": {"kind": "from_fill", "order": "limit", "percent": 2}},
                {**own, "price": {"kind": "from_fill", "order": "stop", "percent": 2, "limit_offset": {"span": 1}}},
                {**own, "instrument_id": "SECOND", "quantity": {"from_fill": {"ratio": 0.5}}, "price": {"kind": "marketable"}},
            ]
        ),
    )  # fmt: skip


def _hidden(side: str, backstop: Object) -> list[Object]:
    """A stop kept in the engine, with a real one further off."""
    hidden: Object = {
        "transaction_type": side,
        "price": {"kind": "marketable", "follow": True},
        "when": {"price": {"level": worse(side, 2)}},
    }
    return [hidden, backstop]


# --- entries ---------------------------------------------------------------------------------------------------------------

WHENS: st.SearchStrategy[Object] = st.sampled_from(
    [
        {"price": {"level": {"at": 1}, "direction": "above"}},
        {"price": {"level": {"at": -1}}},
        {"bar_close": {"level": {"at": 1}, "bar_minutes": 1}},
        {"time": "10:01"},
        {"any": [{"time": "10:02"}, {"price": {"level": {"at": -2}}}]},
        {"all": [{"time": "10:01"}, {"price": {"field": "offer", "level": {"at": 3}, "direction": "below"}}]},
    ]
)
LIFETIMES: st.SearchStrategy[Object] = st.builds(
    lambda end, on_end, to: {**end, "on_end": on_end, **to},
    st.sampled_from(
        [{"after_minutes": 0.5}, {"after_minutes": 2}, {"when": {"price": {"level": {"at": 2}}}}, {"at_time": "10:02"}]
    ),
    st.sampled_from(["cancel", "marketable", "close_filled"]),
    some(applies_to=st.sampled_from(["waiting", "working"])),
)
TIMED: st.SearchStrategy[Object] = st.sampled_from(
    [
        {"kind": "twap", "slices": 3, "over_minutes": 1},
        {"kind": "vwap", "slices": 3, "over_minutes": 1, "volume_profile": [3, 1, 2]},
        {"kind": "front_loaded", "slices": 4, "over_minutes": 1},
        {"kind": "participation", "percent": 20, "most_slices": 9},
        {"kind": "top_up", "piece_quantity": 9, "every_seconds": 10},
        {"kind": "top_up", "piece_quantity": 9, "every_seconds": 10, "wait_for_fill": False},
    ]
)
ICEBERGS: st.SearchStrategy[Object] = st.sampled_from(
    [{"kind": "iceberg", "slice_quantity": 7}, {"kind": "iceberg", "slice_quantity": 10, "randomise_percent": 30}]
)


@cache
def ways(side: str) -> st.SearchStrategy[Object]:
    """Price and execution together."""
    ladder: Object = {"kind": "ladder", "from_price": worse(side, -1), "to_price": worse(side, -3), "steps": 3}
    price: Callable[[st.SearchStrategy[Object]], st.SearchStrategy[Object]]
    price = lambda prices: st.fixed_dictionaries({"price": prices})  # noqa: E731
    pieces = st.one_of(limits(side), MARKETABLE, moving(side))
    return st.one_of(
        price(whole_prices(side)),
        st.builds(lambda limit: {"price": limit, "hold": True}, limits(side)),
        st.builds(lambda limit: {"price": limit, "validity": "IOC"}, limits(side)),
        st.fixed_dictionaries({"price": pieces, "execution": TIMED}),
        st.fixed_dictionaries({"price": pieces, "execution": ICEBERGS}),
        st.builds(lambda limit, execution: {"price": limit, "execution": execution, "hold": True}, limits(side), TIMED),
        st.sampled_from(
            [
                {"execution": ladder},
                {"execution": {**ladder, "one_at_a_time": True}},
                {"execution": {**ladder, "restore": True}},
                {"execution": {"kind": "book_depth", "limit_price": worse(side, 1), "minimum_quantity": 5}},
                {"execution": {"kind": "freeze_limit"}, "price": fixed(side, -1)},
                {"execution": {"kind": "daily", "arm_at": "09:20", "valid_days": 3}, "price": fixed(side, -1)},
            ]
        ),
    )


@cache
@st.composite
def entries(draw: st.DrawFn, side: str) -> Object:
    """One order that opens something, with what hangs on it."""
    part: Object = {"transaction_type": side, "quantity": draw(UNITS), **draw(ways(side))}
    for name, values in (("when", WHENS), ("lifetime", LIFETIMES)):
        if draw(st.integers(0, 3)) == 3:
            part[name] = draw(values)
    if draw(st.integers(0, 3)):
        part["each_fill"] = draw(exits(OTHER[side]))
    return part


@cache
@st.composite
def roots(draw: st.DrawFn) -> Object:
    side = draw(SIDES)
    entry = entries(side)
    kind = draw(st.sampled_from(["order", "order", "order", "sequence", "together", "cancel", "shrink", "trigger"]))
    children: Object | list[Object]
    match kind:
        case "order":
            return draw(entry)
        case "sequence":
            then = {
                "transaction_type": OTHER[side],
                "quantity": {"from_fill": {"ratio": 1}},
                **draw(targets(OTHER[side])),
            }
            return {
                "part": "sequence",
                "first": draw(entry),
                "then": then,
                "start_then": draw(st.sampled_from(["filled", "done"])),
            }
        case "together" | "cancel":
            children = {"children": [draw(entry), draw(entries(OTHER[side]))]}
            group = {"part": "together"} if kind == "together" else {"part": "one_cancels_others", "rule": "cancel"}
            return {**group, **children}
        case "shrink":
            units = {"transaction_type": side, "quantity": draw(UNITS)}
            children = [
                {**units, "price": draw(entry_stops(side))},
                {**units, **draw(targets(side).filter(_stands_alone))},
            ]
            return {"part": "one_cancels_others", "rule": "shrink", "children": children}
        case _:
            units = {"quantity": draw(UNITS)}
            stop = {"transaction_type": side, "price": draw(entry_stops(side))}
            return {"part": "one_cancels_others", "rule": "trigger",
                    "children": [{**units, **one} for one in _hidden(side, stop)]}  # fmt: skip


def _stands_alone(way: Object) -> bool:
    kind: str = way["price"]["kind"]
    return kind != "from_parent_fill"


@cache
def entry_stops(side: str) -> st.SearchStrategy[Object]:
    """Stops that hang on nothing."""
    return stops(side).filter(lambda price: price["kind"] not in ("from_parent_fill", "stages"))


plans: st.SearchStrategy[Object] = st.builds(
    lambda root, rest: {"type": "plan", "root": root, **rest},
    roots(),
    some(hold_limits=st.just(True), closes_position=st.just(True)),
)
