"""Prices worked out by hand for every kind and side, and what holds for all of them (rules 2.6)."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onebroker.actors.engine.orders.reference_values import PriceKind, PriceReference
from onebroker.actors.engine.references.pricing import resolve_price
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Side
from tests.support.every_case import every_case

TICK = Decimal("0.05")
BOOK = Tick(
    broker_token="1",
    last_price=100.0,
    average_price=99.98,
    buy=tuple(DepthLevel(price, 10) for price in (99.95, 99.9, 99.8, 99.7, 99.6)),
    sell=tuple(DepthLevel(price, 10) for price in (100.05, 100.1, 100.2, 100.3, 100.4)),
)


def worked(kind, side, quote=BOOK, tick=TICK, **fields):
    decimals = {
        name: Decimal(str(fields.pop(name))) for name in ("price", "buffer_percent", "offset_percent") if name in fields
    }
    return resolve_price(PriceReference(kind=PriceKind(kind), **decimals, **fields), Side(side), quote, tick)


def refused(kind, side, quote=BOOK, **fields) -> tuple[int, str]:
    with pytest.raises(Refusal) as refusal:
        worked(kind, side, quote, **fields)
    return refusal.value.status, refusal.value.sentence


@every_case(
    ("kind", "fields", "buy", "sell"),
    [
        # the figure itself, on its nearest tick
        ("last", {}, "100.00", "100.00"),
        ("vwap", {}, "100.00", "100.00"),  # 99.98 -> 100.00
        ("mid", {}, "100.00", "100.00"),
        ("bid_level", {}, "99.95", "99.95"),
        ("bid_level", {"level": 5}, "99.60", "99.60"),
        ("offer_level", {"level": 2}, "100.10", "100.10"),
        ("marketable", {}, "100.05", "99.95"),
        ("absolute", {"price": 101.02}, "101.00", "101.00"),
        ("absolute", {"price": "101.025"}, "101.00", "101.05"),  # half way: passive
        # ticks, towards filling
        ("last", {"offset_ticks": 2}, "100.10", "99.90"),
        ("last", {"offset_ticks": -2}, "99.90", "100.10"),
        ("marketable", {"offset_ticks": 2}, "100.15", "99.85"),
        # percents, rounded to the passive side: 100 x 1.0012 = 100.12, 100 x 0.9988 = 99.88
        ("last", {"buffer_percent": "0.12"}, "100.10", "99.90"),
        ("last", {"buffer_percent": "-0.12"}, "99.85", "100.15"),
        ("last", {"offset_percent": "0.12"}, "100.10", "99.90"),
        # marketable rounds towards the market: 100.05 x 1.001 = 100.15005, 99.95 x 0.999 = 99.85005
        ("marketable", {"buffer_percent": "0.1"}, "100.20", "99.85"),
        # one after the other, then the ticks: 100 x 1.01 x 1.01 = 102.01; 100 x 0.99 x 0.99 = 98.01
        ("last", {"buffer_percent": 1, "offset_percent": 1, "offset_ticks": 1}, "102.05", "98.00"),
        ("absolute", {"price": 200, "buffer_percent": 50, "offset_percent": -50}, "150.00", "150.00"),
    ],
)
def test_prices_worked_out_by_hand(kind, fields, buy, sell):
    assert worked(kind, "BUY", **fields) == Decimal(buy)
    assert worked(kind, "SELL", **fields) == Decimal(sell)


def test_a_middle_that_lies_half_way_between_two_ticks_goes_to_the_passive_one():
    tight = Tick(broker_token="1", last_price=100.0, buy=(DepthLevel(100.0, 1),), sell=(DepthLevel(100.05, 1),))
    assert worked("mid", "BUY", tight) == Decimal("100.00")
    assert worked("mid", "SELL", tight) == Decimal("100.05")


def test_the_number_is_judged_as_it_is_written_and_not_as_a_double_holds_it():
    assert worked("last", "BUY", Tick(broker_token="1", last_price=0.15)) == Decimal("0.15")
    assert worked("last", "SELL", Tick(broker_token="1", last_price=1.1500000000000001)) == Decimal("1.15")


def test_currency_ticks_have_four_decimals():
    quote = Tick(broker_token="1", last_price=84.1261)
    assert worked("last", "BUY", quote, Decimal("0.0025")) == Decimal("84.1250")


def test_an_absolute_price_needs_no_quote():
    assert worked("absolute", "BUY", None, price=99) == Decimal("99.00")


@pytest.mark.parametrize("kind", [kind for kind in PriceKind if kind is not PriceKind.ABSOLUTE])
def test_any_other_needs_a_quote(kind):
    sentence = "a price reference needs a live quote and there is none for this instrument now"
    assert refused(kind, "BUY", None) == (503, sentence)


@pytest.mark.parametrize(("side", "reads"), [("BUY", "sell"), ("SELL", "buy")])
def test_what_the_quote_does_not_carry_is_a_503_that_names_it(side, reads):
    bare = Tick(broker_token="1", last_price=100.0)
    empty = Tick(broker_token="1", last_price=100.0, buy=(), sell=())
    broken = Tick(broker_token="1", last_price=100.0, buy=(DepthLevel(0.0, 1),), sell=(DepthLevel(float("nan"), 1),))
    assert refused("vwap", side, bare) == (
        503,
        "a vwap price reference needs average_price and the live quote of this instrument has none",
    )
    for quote in (bare, broken):
        status, sentence = refused("marketable", side, quote)
        assert (status, f"the {reads} side of the book" in sentence) == (503, True)
    assert refused("marketable", side, empty) == (
        503,
        f"a marketable price reference needs level 1 of the {reads} side of the book and it has 0",
    )


def test_a_book_of_fewer_levels_than_asked_for_is_a_503():
    short = Tick(broker_token="1", last_price=100.0, buy=(DepthLevel(99.95, 1),), sell=(DepthLevel(100.05, 1),))
    for kind, side in (("bid_level", "buy"), ("offer_level", "sell")):
        assert refused(kind, "BUY", short, level=2) == (
            503,
            f"a {kind} price reference needs level 2 of the {side} side of the book and it has 1",
        )


@pytest.mark.parametrize(
    ("side", "fields", "price"),
    [
        ("SELL", {"buffer_percent": 100}, "0.00"),
        ("BUY", {"offset_ticks": -2000}, "0.00"),
        ("BUY", {"offset_ticks": -2001}, "-0.05"),
        ("BUY", {"offset_percent": "-99.99"}, "0.00"),  # 0.01 is less than a tick
        ("BUY", {"offset_ticks": 10**30}, "5.000000e+28"),
    ],
)
def test_a_result_that_no_order_can_carry_is_a_400_that_shows_it(side, fields, price):
    sentence = f"the last price reference worked out at {price}, which is not a price an order can carry"
    assert refused("last", side, **fields) == (400, sentence)


# --- what holds for all ------------------------------------------------------------------------------------------------

PRICES = st.floats(0.05, 1e6, allow_subnormal=False)
TICKS = st.sampled_from([Decimal("0.05"), Decimal("0.01"), Decimal("0.0025"), Decimal("0.5"), Decimal(1)])
PERCENTS = st.decimals(-20, 20, places=3)
OFFSETS = {"buffer_percent": PERCENTS, "offset_percent": PERCENTS, "offset_ticks": st.integers(-50, 50)}


@st.composite
def references(draw):
    return PriceReference(
        kind=draw(st.sampled_from(PriceKind)),
        price=Decimal(repr(draw(PRICES))),
        level=draw(st.integers(1, 5)),
        **{name: draw(values) for name, values in OFFSETS.items()},
    )


@st.composite
def quotes(draw):
    bid = draw(PRICES)
    step = draw(st.floats(0.01, 5.0))
    return Tick(
        broker_token="1",
        last_price=draw(PRICES),
        average_price=draw(PRICES),
        buy=tuple(DepthLevel(max(bid - step * level, 0.01), 1) for level in range(5)),
        sell=tuple(DepthLevel(bid + step * (level + 1), 1) for level in range(5)),
    )


def outcome(reference, side, quote, tick):
    try:
        return resolve_price(reference, side, quote, tick)
    except Refusal as refusal:
        assert refusal.status == 400  # noqa: PT017  # the quote has everything
        return None


@given(reference=references(), side=st.sampled_from(Side), quote=quotes(), tick=TICKS)
def test_a_price_is_a_whole_number_of_ticks_above_zero(reference, side, quote, tick):
    price = outcome(reference, side, quote, tick)
    assume(price is not None)
    assert price > 0
    assert Fraction(price) % Fraction(tick) == 0


def unrounded(reference, side, quote, tick):
    """The price before its last rounding, worked out in another way: the value's ticks from a price without offsets."""
    base = resolve_price(
        PriceReference(kind=reference.kind, price=reference.price, level=reference.level), side, quote, tick
    )
    percent = (100 + side.sign * Fraction(reference.buffer_percent)) * (
        100 + side.sign * Fraction(reference.offset_percent)
    )
    return Fraction(base) * percent / 10_000 + side.sign * reference.offset_ticks * Fraction(tick)


@given(reference=references(), side=st.sampled_from(Side), quote=quotes(), tick=TICKS)
def test_rounding_never_gives_away_more_than_asked_except_for_marketable(reference, side, quote, tick):
    price = outcome(reference, side, quote, tick)
    assume(price is not None)
    try:
        exact = unrounded(reference, side, quote, tick)
    except Refusal:  # the figure itself is less than a tick
        return
    towards = (Fraction(price) - exact) * side.sign
    assert abs(towards) < Fraction(tick)
    assert towards >= 0 if reference.kind is PriceKind.MARKETABLE else towards <= 0


@given(
    reference=references(),
    side=st.sampled_from(Side),
    quote=quotes(),
    tick=TICKS,
    name=st.sampled_from(sorted(OFFSETS)),
    more=st.integers(0, 20),
)
def test_a_larger_offset_never_moves_away_from_filling(reference, side, quote, tick, name, more):
    fields = {each: getattr(reference, each) for each in ("kind", "price", "level", *OFFSETS)}
    further = PriceReference(**{**fields, name: fields[name] + more})
    near, far = outcome(reference, side, quote, tick), outcome(further, side, quote, tick)
    assume(near is not None and far is not None)
    assert (far - near) * side.sign >= 0


@given(reference=references(), quote=quotes(), tick=TICKS)
def test_the_sides_mirror_each_other_on_the_same_figure(reference, quote, tick):
    """Without percents a BUY is as far above the figure as a SELL is below it."""
    assume(reference.kind not in (PriceKind.MARKETABLE, PriceKind.ABSOLUTE))
    plain = PriceReference(kind=reference.kind, level=reference.level, offset_ticks=reference.offset_ticks)
    still = PriceReference(kind=reference.kind, level=reference.level)
    pairs = [(outcome(plain, side, quote, tick), outcome(still, side, quote, tick)) for side in Side]
    assume(all(None not in pair for pair in pairs))
    (bought, from_buy), (sold, from_sell) = pairs
    assert bought - from_buy == from_sell - sold == reference.offset_ticks * tick
