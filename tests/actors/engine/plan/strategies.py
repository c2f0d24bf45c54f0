"""Random valid plans as a caller sends them, of all kinds of the grammar and within its limits, and the instruments they name."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeAlias

import attrs
from hypothesis import strategies as st

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.plan.reading.reading_context import Defaults
from onebroker.brokers.records import Listing
from onebroker.config.calendars import Calendar, Session, always_open
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, calendar_of, future, option, security
from onebroker.config.sections import EngineSettings

Object: TypeAlias = dict[str, Any]
"""An object of JSON."""

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
BROKERS = ("dhan", "zerodha")


def listed(identity: Identity, *, lot: int = 1, tick: float | None = 0.05, freeze: int | None = None) -> Instrument:
    """An instrument that both brokers list and agree on."""
    listing = Listing(
        broker_token="1", tradingsymbol="T", exchange="NSE", lot_size=lot, tick_size=tick, freeze_quantity=freeze
    )
    return Instrument(
        instrument_id=identity.instrument_id, identity=identity, name="N", isin=None, lot_size=lot, tick_size=tick,
        freeze_quantity=freeze, listings=dict.fromkeys(BROKERS, listing),
    )  # fmt: skip


SHARE = listed(security("nse", "equities", "INFY"))
FUTURE = listed(future("nse", "equity_futures", "INFY", date(2026, 11, 26)), lot=50, freeze=1_800)
OPTION = listed(option("nse", "equity_options", "INFY", date(2026, 11, 26), 1500, "CE"), lot=50, freeze=1_800)
UNTICKED = listed(security("bse", "equities", "OLD"), tick=None)
INDEX = listed(security("nse", "equity_indices", "NIFTY 50"))
TRADED = (SHARE, FUTURE, OPTION, UNTICKED)


@attrs.frozen(kw_only=True)
class World:
    """Today, with the instruments above."""

    now: datetime = NOW
    mapping_date: date = date(2026, 11, 23)
    brokers: tuple[str, ...] = BROKERS
    freeze_table: dict[str, int] = attrs.field(factory=dict)
    known: tuple[Instrument, ...] = (*TRADED, INDEX)
    settings: EngineSettings = attrs.field(factory=EngineSettings)
    calendar: Calendar = attrs.field(factory=always_open)

    def instrument(self, instrument_id: str) -> Instrument | None:
        return next((one for one in self.known if one.instrument_id == instrument_id), None)

    def sessions(self, instrument: Instrument, day: date) -> tuple[Session, ...]:
        return self.calendar.sessions(instrument.identity.exchange, calendar_of(instrument.identity.segment), day)

    def pre_open(self, instrument: Instrument, day: date) -> Session | None:
        return self.calendar.pre_open(instrument.identity.exchange, day)


def body(**changes: Any) -> Defaults:
    """The body's own fields: 300 shares bought intraday at a limit of 100."""
    fields: dict[str, Any] = {
        "instrument": SHARE, "transaction_type": "BUY", "product": "MIS", "order_type": "LIMIT", "quantity": 300,
        "price": Decimal("100"), **changes,
    }  # fmt: skip
    return Defaults(**fields)


# --- values ----------------------------------------------------------------------------------------------------------------

prices = st.integers(1, 100_000).map(lambda ticks: ticks * 5 / 100)
above_zero = st.one_of(st.integers(1, 1_000), st.floats(0.01, 1_000).map(lambda number: round(number, 4)))
numbers = st.one_of(st.integers(-1_000, 1_000), st.floats(-1_000, 1_000).map(lambda number: round(number, 4)))
steps = st.integers(1, 5)
times_to_come = st.sampled_from(["10:00", "14:30", "15:10:30", "23:59"])
sides = st.sampled_from(["BUY", "SELL", "buy"])
products = st.sampled_from(["CNC", "MIS", "NRML", "nrml"])
position_products = st.sampled_from(["delivery", "intraday", "carry", "margin_trading", "cover", "bracket", "Intraday"])
directions = st.sampled_from(["above", "below", "ABOVE"])
traded = st.sampled_from(TRADED)
id_lists = st.lists(traded, min_size=1, max_size=3).map(lambda found: [one.instrument_id for one in found])
watched = st.sampled_from([*TRADED, INDEX])


def given(
    required: Mapping[str, st.SearchStrategy[Any]] | None = None, **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[Object]:
    """An object with all of `required` and any of the optional fields; a field left out may also stand there as null."""
    return st.fixed_dictionaries(
        required or {}, optional={name: st.one_of(values, st.none()) for name, values in optional.items()}
    )


def paise(price: float) -> float:
    """Arithmetic of floats as a caller would write its result."""
    return round(price, 2)


# --- conditions and lifetimes ----------------------------------------------------------------------------------------------


def _level(field: str) -> st.SearchStrategy[float]:
    return numbers if field == "change_percent" else prices


_quote_fields = st.sampled_from(
    ["last_price", "bid", "offer", "mid", "average_price", "volume", "oi", "change_percent", "sell_quantity"]
)
price_conditions = _quote_fields.flatmap(
    lambda field: given(
        {"field": st.just(field), "level": _level(field)},
        instrument_id=watched.map(lambda one: one.instrument_id),
        direction=directions,
    )
).map(lambda inner: {"price": inner})
bar_conditions = given(
    {"level": prices}, field=st.just("last_price"), direction=directions, bar_minutes=above_zero
).map(lambda inner: {"bar_close": inner})
account_conditions = given(
    {
        "field": st.sampled_from(
            ["day_pnl", "realized_pnl", "unrealized_pnl", "available_balance", "total_balance",
             "margin_utilized", "margin_cushion_percent"]
        ),
        "level": numbers,
    },
    direction=directions,
).map(lambda inner: {"account": inner})  # fmt: skip
_which: st.SearchStrategy[Object] = st.one_of(
    st.fixed_dictionaries({"instrument_ids": id_lists}), st.just({"every_instrument": True})
)
pnl_conditions = st.builds(
    lambda which, rest: {"pnl": {**which, **rest}},
    _which,
    given({"loss": above_zero}, profit=above_zero, give_back=above_zero, product=position_products,
          since=st.sampled_from(["placement", "day"])),
)  # fmt: skip
single_conditions: st.SearchStrategy[Object] = st.one_of(
    price_conditions, bar_conditions, times_to_come.map(lambda at: {"time": at}), account_conditions, pnl_conditions
)
conditions: st.SearchStrategy[Object] = st.one_of(
    single_conditions,
    st.builds(
        lambda word, inner: {word: inner},
        st.sampled_from(["all", "any"]),
        st.lists(single_conditions, min_size=2, max_size=5),
    ),
)
_ends: dict[str, st.SearchStrategy[Any]] = {
    "at_time": times_to_come, "after_minutes": above_zero, "after_days": st.integers(1, 365), "when": conditions,
}  # fmt: skip
lifetimes = st.sampled_from(sorted(_ends)).flatmap(
    lambda end: given(
        {end: _ends[end]},
        **{name: values for name, values in _ends.items() if name != end},
        applies_to=st.sampled_from(["waiting", "working", "both"]),
        on_end=st.sampled_from(["cancel", "marketable", "close_filled"]),
    )
)

# --- prices ----------------------------------------------------------------------------------------------------------------


def _kind(
    word: str, required: Mapping[str, st.SearchStrategy[Any]] | None = None, **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[Object]:
    return given({"kind": st.sampled_from([word, word.upper()]), **(required or {})}, **optional)


def _two_prices(draw_order: Callable[[Iterable[float]], list[float]]) -> st.SearchStrategy[list[float]]:
    return st.tuples(prices, prices).map(draw_order)


def _bounds(kind: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    """A price object with a lowest and a highest price in their order."""
    return st.tuples(kind, _two_prices(sorted)).map(
        lambda both: {**both[0], "lowest_price": both[1][0], "highest_price": both[1][1]}
    )


def _distances() -> st.SearchStrategy[Object]:
    return st.one_of(
        st.fixed_dictionaries({"distance": st.one_of(st.just(0), above_zero)}),
        st.fixed_dictionaries({"percent": above_zero}),
    )


def _after_seconds() -> dict[str, st.SearchStrategy[float]]:
    return {"marketable_after_seconds": above_zero}


fixed = _kind("fixed", {"price": prices})
marketable = _kind(
    "marketable", buffer_ticks=st.integers(0, 9), reaches_size=st.booleans(), maximum_cost_bps=above_zero,
    fill_within_seconds=above_zero, follow=st.booleans(),
)  # fmt: skip
peg = _kind(
    "peg", reference=st.sampled_from(["own_touch", "mid", "opposite_touch", "Mid"]), offset_ticks=st.integers(-5, 5),
    cap_price=prices,
)  # fmt: skip


@cache
def chase(side: str) -> st.SearchStrategy[Object]:
    """The cap on the far side of the body's limit of 100."""
    cap = prices.map(lambda past: paise(100 + past) if side == "BUY" else min(past, 99.95))
    return _kind("chase", step_ticks=steps, step_seconds=above_zero, cap_price=cap, cross_after_seconds=above_zero)


@cache
def stop_prices(side: str, linked: bool) -> st.SearchStrategy[Object]:
    """The kinds that rest as stops."""
    sign = 1 if side == "BUY" else -1
    limits = prices.map(lambda past: paise(5_001 + sign * past))
    native = st.one_of(
        _kind("native_stop", {"trigger_price": prices.map(lambda past: paise(50 + past))}, limit_offset=st.floats(0.01, 50),
              **_after_seconds()),
        _kind("native_stop", {"trigger_price": st.just(5_001), "limit_price": limits}, **_after_seconds()),
    )  # fmt: skip
    trail_fields = {"limit_offset": above_zero}
    rest = {"step_ticks": steps, "activate_at": prices, **_after_seconds()}
    atr = given(bar_minutes=above_zero, periods=st.integers(2, 49), multiple=above_zero)
    trail = st.one_of(
        _kind("trail", {"points": above_zero, **trail_fields}, atr=atr, **rest),
        _kind("trail", {"percent": st.integers(1, 99), **trail_fields}, **rest),
    )
    entry = {} if linked else {"entry_price": st.just(5_000)}
    stop = prices.map(lambda past: paise(5_000 + past) if side == "BUY" else max(paise(5_000 - past), 0.05))
    stages = _kind("stages", {**entry, "stop_price": stop, "limit_offset": above_zero, "rules": milestones()},
                   step_ticks=steps, **_after_seconds())  # fmt: skip
    return st.one_of(native, trail, stages)


@cache
def milestones() -> st.SearchStrategy[list[Object]]:
    return st.builds(
        lambda gains, share, trailing: [
            {"gain": gain, "trail_points": share} if trailing and gain == max(gains) else
            {"gain": gain, "stop_at_gain": gain - share}
            for gain in sorted(gains)
        ],
        st.sets(st.integers(2, 1_000), min_size=1, max_size=20), st.floats(0.5, 1_500).map(lambda one: round(one, 2)),
        st.booleans(),
    )  # fmt: skip


@cache
def watching(own: int) -> st.SearchStrategy[Object]:
    """Prices that follow another instrument than TRADED[own]."""
    others = [one for one in (*TRADED, INDEX) if one is not TRADED[own]]
    follow = _bounds(
        _kind(
            "follow_instrument",
            {"watch_instrument_id": st.sampled_from(others).map(lambda one: one.instrument_id), "delta": numbers},
            base_price=prices, anchor=st.sampled_from(["start", "zero"]),
            watch_field=st.sampled_from(["last_price", "bid", "offer"]), step_ticks=steps,
        )
    )  # fmt: skip
    model = _bounds(
        _kind(
            "option_model",
            {"watch_instrument_id": st.just(INDEX.instrument_id), "volatility": st.integers(1, 500)},
            interest_rate=numbers, step_ticks=steps,
        )
    )  # fmt: skip
    return st.one_of(follow, model) if TRADED[own] is OPTION else follow


@cache
def from_fills() -> st.SearchStrategy[Object]:
    """Limits measured from what has filled."""
    limit = {"order": st.just("limit")}
    return st.one_of(
        st.tuples(_kind("from_parent_fill", limit), _distances()),
        st.tuples(_kind("from_fill", limit, basis=st.sampled_from(["fill", "limit"])), _distances()),
    ).map(lambda both: {**both[0], **both[1]})


@cache
def fill_stops() -> st.SearchStrategy[Object]:
    stop = {"order": st.just("stop")}
    rest = {"limit_offset": above_zero, **_after_seconds()}
    return st.one_of(
        st.tuples(_kind("from_parent_fill", stop, **rest), _distances()),
        st.tuples(_kind("from_fill", stop, basis=st.sampled_from(["fill", "limit"]), **rest), _distances()),
    ).map(lambda both: {**both[0], **both[1]})


def capped(inner: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    return st.builds(
        lambda kind, worst, of: {"kind": kind, "worst_price": worst, "of": of}, st.just("cap"), prices, inner
    )


# --- executions, and order parts that fit them --------------------------------------------------------------------------------

timed_slices: dict[str, st.SearchStrategy[float]] = {"slices": st.integers(2, 60), "over_minutes": above_zero}
randomise = {"randomise_percent": st.integers(0, 50)}


@cache
def executions(lot: int) -> st.SearchStrategy[Object]:
    """All that cut a fixed quantity; sizes in whole lots."""
    lots = st.integers(1, 9).map(lambda count: count * lot)
    vwap = st.integers(2, 60).flatmap(
        lambda slices: _kind(
            "vwap",
            {
                "slices": st.just(slices),
                "over_minutes": above_zero,
                "volume_profile": st.lists(st.integers(0, 9), min_size=slices - 1, max_size=slices - 1).map(
                    lambda weights: [1, *weights]
                ),
            },
        )
    )
    return st.one_of(
        _kind("iceberg", {"slice_quantity": lots}, **randomise),
        _kind("twap", timed_slices),
        vwap,
        _kind("front_loaded", timed_slices, urgency=st.floats(0, 1)),
        _kind("participation", {"percent": st.integers(1, 100)}, most_slices=st.integers(1, 99)),
        _kind("top_up", {"piece_quantity": lots}, every_seconds=st.integers(1, 3_600), wait_for_fill=st.booleans(),
              catch_up=st.booleans(), **randomise),
    )  # fmt: skip


@cache
def ladders() -> st.SearchStrategy[Object]:
    """Rungs at least a rupee apart, up or down."""

    def ladder(low: float, apart: int, steps: int, up: bool, rest: Object) -> Object:
        high = paise(low + apart * steps)
        return {**rest, "from_price": low if up else high, "to_price": high if up else low, "steps": steps}

    rest = _kind("ladder", one_at_a_time=st.booleans(), restore=st.booleans())
    return st.builds(ladder, prices, st.integers(1, 500), st.integers(2, 20), st.booleans(), rest)


daily = _kind("daily", arm_at=st.sampled_from(["09:20", "15:00"]), valid_days=st.integers(1, 365))


@cache
def _wholes(own: int, side: str, linked: bool, hangs: bool) -> st.SearchStrategy[Object]:
    """Prices that go out in one piece; fill-priced ones where there is a part to hang on."""
    timed = _timed(side)
    return st.one_of(
        timed, stop_prices(side, linked), watching(own), capped(timed), *((from_fills(), fill_stops()) if hangs else ()),
        _kind("discretion", {"price": prices, "points": prices}, quantity=st.just(TRADED[own].lot_size)),
    )  # fmt: skip


@cache
def _timed(side: str) -> st.SearchStrategy[Object]:
    return st.one_of(fixed, marketable, peg, chase(side))


@cache
def _cut_prices(own: int, side: str, kind: str) -> st.SearchStrategy[Object]:
    timed = _timed(side)
    inner = st.one_of(timed, watching(own)) if kind == "iceberg" else timed
    return given(price=st.one_of(inner, capped(inner)))


@cache
def _strikes(lot: int) -> st.SearchStrategy[Object]:
    least = st.integers(1, 9).map(lambda count: count * lot)
    return _kind("book_depth", {"limit_price": prices, "minimum_quantity": least})


@cache
def _daily_prices(side: str, linked: bool) -> st.SearchStrategy[Object]:
    return st.one_of(stop_prices(side, linked), fixed)


_at_once = given(execution=_kind("all_at_once"), validity=st.sampled_from(["DAY", "IOC", "ioc"]))
_may_be_fixed = given(price=fixed)
_freeze = _kind("freeze_limit")
_freeze_prices = given(price=st.one_of(fixed, marketable, capped(marketable)))
_may_be_held = given(hold=st.booleans())
_shapes = st.sampled_from(["whole", "bare", "daily", "cut", "ladder", "freeze", "book"])


def _draw_way(draw: st.DrawFn, own: int, side: str, linked: bool, hangs: bool) -> Object:
    """What fits together of price, execution and validity."""
    way: Object
    lot, way = TRADED[own].lot_size, {}
    match draw(_shapes):
        case "whole":
            way = {"price": draw(_wholes(own, side, linked, hangs)), **draw(_at_once)}
        case "daily":
            way = {"price": draw(_daily_prices(side, linked)), "execution": draw(daily)}
        case "cut":
            execution = draw(executions(lot))
            way = {"execution": execution, **draw(_cut_prices(own, side, execution["kind"].lower()))}
        case "ladder":
            way = {"execution": draw(ladders()), **draw(_may_be_fixed)}
        case "freeze":
            way = {"execution": draw(_freeze), **draw(_freeze_prices)}
        case "book":
            way = {"execution": draw(_strikes(lot))}
    price: Object = way.get("price") or {}
    return way | draw(_may_be_held) if price.get("kind", "").lower() == "fixed" else way


@cache
def _units(lot: int, slices: int) -> st.SearchStrategy[int]:
    """A quantity that every way can cut: at least a lot a piece, and below the freeze quantity where there is one piece."""
    return st.integers(max(slices, 10), max(slices, 30)).map(lambda lots: lots * lot)


_positions = st.builds(
    lambda which, rest, most: {"position": {**which, **rest}, **most},
    st.one_of(st.just({}), _which),
    given(product=position_products, ratio=st.sampled_from([1, 2]), cancel_resting_first=st.booleans()),
    given(most=st.integers(1, 500)),
)
_from_fills = given(ratio=above_zero, round=st.sampled_from(["nearest", "down", "up"])).map(
    lambda inner: {"from_fill": inner}
)
_exposures = given(
    {
        "instruments": st.lists(
            given({"instrument_id": watched.map(lambda one: one.instrument_id)}, weight=numbers), min_size=1, max_size=3
        ),
        "band": above_zero,
    },
    measure=st.sampled_from(["value", "units"]), target=numbers, hedge_weight=above_zero, most=st.integers(1, 500),
    product=position_products,
).map(lambda inner: {"exposure": inner})  # fmt: skip


def _quantities(own: int, way: Object, linked: bool, hangs: bool) -> st.SearchStrategy[Any]:
    execution: Object = way.get("execution") or {"kind": "all_at_once"}
    slices = execution.get("slices") or execution.get("steps") or 10
    price = (way.get("price") or {}).get("kind", "").lower()
    closes = execution["kind"].lower() == "all_at_once" and price in ("marketable", "peg")
    return _sizes(TRADED[own].lot_size, slices, "closes" if closes else execution["kind"].lower(), linked, hangs)


@cache
def _sizes(lot: int, slices: int, kind: str, linked: bool, hangs: bool) -> st.SearchStrategy[Any]:
    forms: list[st.SearchStrategy[Any]] = [_units(lot, slices)]
    if kind == "closes":
        forms.append(_positions)
    elif kind == "top_up":
        forms.append(_exposures)
    if hangs:
        forms.append(_from_fills)
    if linked:
        forms += [st.none(), st.just({"share": 0.25})]  # without any: what has filled
    return st.one_of(forms)


_rest_of_an_order = given(
    part=st.sampled_from(["order", "Order"]), product=products, tag=st.just("T1"),
    broker=st.sampled_from([*BROKERS, "DHAN"]), closes=st.booleans(), when=conditions, lifetime=lifetimes,
)  # fmt: skip
_rest_of_a_group = given(when=conditions, lifetime=lifetimes)
_group_kinds = st.sampled_from(["sequence", "together", "one_cancels_others"])
_start_then = given(start_then=st.sampled_from(["filled", "done"]))
_rule = given(rule=st.sampled_from(["cancel", "shrink", "trigger"]))
_own = st.integers(0, len(TRADED) - 1)


@cache
@st.composite
def order_parts(draw: st.DrawFn, depth: int, linked: bool = False, hangs: bool = False) -> Object:
    own, side = draw(_own), draw(sides)
    way = _draw_way(draw, own, side.upper(), linked, hangs)
    quantity = draw(_quantities(own, way, linked, hangs))
    part: Object = {
        "instrument_id": TRADED[own].instrument_id,
        "transaction_type": side,
        **way,
        **({} if quantity is None else {"quantity": quantity}),
        **draw(_rest_of_an_order),
    }
    if depth > 0 and draw(st.booleans()):
        part["each_fill"] = draw(parts(depth - 1, linked=True, hangs=True))
    return part


@cache
@st.composite
def group_parts(draw: st.DrawFn, depth: int, linked: bool = False, hangs: bool = False) -> Object:
    """A group of at most three, so that a quarter for each never makes more than the whole."""
    kind = draw(_group_kinds)
    part: Object = {"part": kind, **draw(_rest_of_a_group)}
    if kind == "sequence":
        part |= {"first": draw(parts(depth - 1, linked, hangs)), "then": draw(parts(depth - 1, linked, hangs=True))}
        return part | draw(_start_then)
    least = 2 if kind == "one_cancels_others" else 1
    part["children"] = [draw(parts(depth - 1, linked, hangs)) for _ in range(draw(st.integers(least, 3)))]
    return part | draw(_rule) if kind == "one_cancels_others" else part


@cache
def parts(depth: int, linked: bool = False, hangs: bool = False) -> st.SearchStrategy[Object]:
    """Any part with at most `depth` levels below it."""
    one = order_parts(depth, linked, hangs)
    return one if depth == 0 else st.one_of(one, group_parts(depth, linked, hangs))


plans: st.SearchStrategy[Object] = st.builds(
    lambda root, rest: {"type": "plan", "root": root, **rest},
    st.integers(0, 2).flatmap(parts),
    given(hold_limits=st.booleans(), closes_position=st.booleans()),
)
"""`synthetic` objects that are read without a refusal against `body()` and `World()`."""
