"""`execution` of an order part (order-engine 1.5), and the pricing kinds that each execution accepts. Pure; raises Refusal."""

from collections.abc import Callable, Mapping
from datetime import time
from decimal import Decimal
from itertools import pairwise

from onebroker.actors.engine.plan.execution_kinds import (
    AllAtOnce,
    BookDepth,
    Daily,
    Execution,
    FreezeLimit,
    FrontLoaded,
    Iceberg,
    Ladder,
    Participation,
    TopUp,
    Twap,
    Vwap,
)
from onebroker.actors.engine.plan.kinds import EXECUTIONS, WORDS
from onebroker.actors.engine.plan.market import Terms
from onebroker.actors.engine.plan.pieces.cutting import rungs
from onebroker.actors.engine.plan.price_kinds import Cap, Price, is_stop
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.reading_context import Traded
from onebroker.actors.engine.plan.reading.value_rules import (
    Unfit,
    above_zero,
    above_zero_to,
    at_least,
    choice,
    flag,
    minute_of_day,
    not_below_zero,
    number_from,
    price,
    whole_from,
)
from onebroker.config.messages import plan as texts
from onebroker.config.money import plain

MOST_SLICES = 60
MOST_STEPS = 20

_TIMED = frozenset({"fixed", "marketable", "peg", "chase"})
_PAIRS: Mapping[str, frozenset[str]] = {
    "iceberg": _TIMED | {"follow_instrument", "option_model"},
    "twap": _TIMED,
    "vwap": _TIMED,
    "front_loaded": _TIMED,
    "participation": _TIMED,
    "top_up": _TIMED,
    "ladder": frozenset({"fixed"}),
    "freeze_limit": frozenset({"fixed", "marketable"}),
}
"""Execution -> the price kinds it takes. An execution not named here takes every kind. A stop goes only with `all_at_once` and `daily`."""
_UNCAPPED = frozenset({"ladder"})
"""Executions that take no cap."""
_WHOLE_STOPS = (AllAtOnce, Daily)


def execution_kind(fields: Fields) -> str:
    """Return the kind that the `execution` of a part names. Refusal for an unknown kind."""
    given = fields.inner("execution")
    if given is None:
        return "all_at_once"
    return given.judge(choice(tuple(EXECUTIONS)), given.given.get("kind"), "execution kind")


def read_execution(fields: Fields, traded: Traded) -> Execution:
    """Read the `execution` of a part; a part without one sends one leg (`all_at_once`)."""
    given = fields.inner("execution")
    return AllAtOnce() if given is None else _READERS[execution_kind(fields)](given, traded)


def check_pair(fields: Fields, found: Price, execution: Execution, *, given: bool) -> None:
    """Refuse a price kind that does not go with the execution. `given`: the part has a price object of its own."""
    if is_stop(found):
        if not isinstance(execution, _WHOLE_STOPS):
            raise fields.refusal(texts.STOP_NOT_SLICED)
        return
    kind, inner = WORDS[type(execution)], found
    while isinstance(inner, Cap):
        inner = inner.of
    capped = isinstance(found, Cap) and kind in _UNCAPPED
    if kind == "book_depth":
        fits = not given
    else:
        fits = kind not in _PAIRS or (not capped and WORDS[type(inner)] in _PAIRS[kind])
    if not fits:
        raise fields.refusal(texts.pair(WORDS[type(found if capped else inner)], kind))


# --- one reader a kind -----------------------------------------------------------------------------------------------------


def _all_at_once(given: Fields, _: Traded) -> AllAtOnce:
    given.only("kind")
    return AllAtOnce()


def _iceberg(given: Fields, _: Traded) -> Iceberg:
    given.only("kind", "slice_quantity", "randomise_percent")
    return Iceberg(
        slice_quantity=given.required("slice_quantity", at_least(1)), randomise_percent=_randomise_percent(given)
    )


def _twap(given: Fields, _: Traded) -> Twap:
    given.only("kind", "slices", "over_minutes")
    return Twap(slices=_slices(given), over_minutes=given.required("over_minutes", above_zero))


def _vwap(given: Fields, _: Traded) -> Vwap:
    given.only("kind", "slices", "over_minutes", "volume_profile")
    slices = _slices(given)
    minutes = given.required("over_minutes", above_zero)
    return Vwap(slices=slices, over_minutes=minutes, volume_profile=read_volume_profile(given, slices))


def read_volume_profile(given: Fields, slices: int) -> tuple[Decimal, ...]:
    """Read the weights of the slices: one for each slice, none below zero, not all zero."""

    def weights(value: object, name: str) -> tuple[Decimal, ...]:
        try:
            found = tuple(not_below_zero(weight, name) for weight in value) if isinstance(value, list) else ()
        except Unfit:
            found = ()
        if len(found) != slices or not any(found):
            raise Unfit(texts.volume_profile(slices))
        return found

    return given.judge(weights, given.given.get("volume_profile"), "volume_profile")


def _front_loaded(given: Fields, _: Traded) -> FrontLoaded:
    given.only("kind", "slices", "over_minutes", "urgency")
    return FrontLoaded(
        slices=_slices(given),
        over_minutes=given.required("over_minutes", above_zero),
        urgency=given.optional("urgency", number_from(0, 1), Decimal("0.5")),
    )


def _participation(given: Fields, _: Traded) -> Participation:
    given.only("kind", "percent", "most_slices")
    return Participation(
        percent=given.required("percent", above_zero_to(100, zero="0")),
        most_slices=given.optional("most_slices", at_least(1), 60),
    )


def _book_depth(given: Fields, traded: Traded) -> BookDepth:
    given.only("kind", "limit_price", "minimum_quantity")
    return BookDepth(
        limit_price=given.required("limit_price", price(traded.tick)),
        minimum_quantity=given.required("minimum_quantity", at_least(1)),
    )


def _top_up(given: Fields, _: Traded) -> TopUp:
    given.only("kind", "piece_quantity", "every_seconds", "randomise_percent", "wait_for_fill", "catch_up")
    return TopUp(
        piece_quantity=given.required("piece_quantity", at_least(1)),
        every_seconds=given.optional("every_seconds", number_from(1, 3600), Decimal(60)),
        randomise_percent=_randomise_percent(given),
        wait_for_fill=given.optional("wait_for_fill", flag, True),
        catch_up=given.optional("catch_up", flag, False),
    )


def _daily(given: Fields, _: Traded) -> Daily:
    given.only("kind", "arm_at", "valid_days")
    return Daily(
        arm_at=given.optional("arm_at", minute_of_day, time(9, 20)),
        valid_days=given.optional("valid_days", whole_from(1, 365), 30),
    )


def _ladder(given: Fields, traded: Traded) -> Ladder:
    given.only("kind", "from_price", "to_price", "steps", "one_at_a_time", "restore")
    ladder = Ladder(
        from_price=given.required("from_price", price(traded.tick)),
        to_price=given.required("to_price", price(traded.tick)),
        steps=given.required("steps", whole_from(2, MOST_STEPS)),
        one_at_a_time=given.optional("one_at_a_time", flag, False),
        restore=given.optional("restore", flag, False),
    )
    check_rungs(given, ladder, traded)
    return ladder


def check_rungs(given: Fields, ladder: Ladder, traded: Traded) -> None:
    """Refuse a ladder whose two prices are equal, or with two rungs on one tick."""
    if ladder.from_price == ladder.to_price:
        raise given.refusal(texts.MUST_DIFFER)
    prices = [rung.price for rung in rungs(ladder, ladder.steps, traded.side, Terms(tick=traded.tick))]
    twice = next((price for price, after in pairwise(prices) if price == after), None)
    if twice is not None:
        raise given.refusal(texts.rungs_on_one_tick(plain(twice)))


def _freeze_limit(given: Fields, _: Traded) -> FreezeLimit:
    given.only("kind")
    return FreezeLimit()


def _slices(given: Fields) -> int:
    return given.required("slices", whole_from(2, MOST_SLICES))


def _randomise_percent(given: Fields) -> Decimal:
    return given.optional("randomise_percent", number_from(0, 50), Decimal(0))


_READERS: Mapping[str, Callable[[Fields, Traded], Execution]] = {
    "all_at_once": _all_at_once,
    "iceberg": _iceberg,
    "twap": _twap,
    "vwap": _vwap,
    "front_loaded": _front_loaded,
    "participation": _participation,
    "book_depth": _book_depth,
    "top_up": _top_up,
    "daily": _daily,
    "ladder": _ladder,
    "freeze_limit": _freeze_limit,
}
