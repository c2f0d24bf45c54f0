"""The limit order that stands in for a MARKET or SL-M close where a broker takes none (order-engine 4.9)."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.choice.market_protection import needs_stand_in, protected_price, stand_in, tick_of
from onebroker.brokers.records import Listing
from onebroker.config.instruments import future, option, security
from onebroker.config.sections import ProtectionBands
from tests.support.every_case import every_case

SHARE = security("nse", "equities", "A")
CALL = option("nse", "equity_options", "A", date(2026, 11, 24), 100, "CE")
FUTURE = future("nse", "equity_futures", "A", date(2026, 11, 24))
DOLLAR = future("nse", "currency_futures", "USDINR", date(2026, 11, 24))
BANDS = ProtectionBands()
TICK = Decimal("0.05")
LIMITS_ONLY = frozenset({"LIMIT", "SL"})


def close(side="SELL", order_type="MARKET", identity=SHARE, tick=0.05, own_tick=None, **changes):
    listing = Listing(broker_token="1", tradingsymbol="A", exchange="NSE", tick_size=own_tick)
    traded = Instrument(
        instrument_id="i", identity=identity, name=None, isin=None, lot_size=1, tick_size=tick, freeze_quantity=None,
        listings={"shoonya": listing},
    )  # fmt: skip
    return LegOrder(
        instrument=traded,
        transaction_type=side,
        product="MIS",
        order_type=order_type,
        quantity=10,
        closes=True,
        **changes,
    )


@every_case(
    ("identity", "side", "start", "price"),
    [
        # Shares and futures: 2 % below 100, 1 % to 500, 0.5 % above.
        (SHARE, "BUY", "99.95", "101.95"),
        (SHARE, "SELL", "99.95", "97.95"),
        (SHARE, "BUY", "100", "101"),
        (SHARE, "SELL", "499.95", "494.95"),
        (FUTURE, "BUY", "500", "502.5"),
        (FUTURE, "SELL", "2500.40", "2487.85"),
        # Options: 5, 3, 2, 1 % below 10, 100, 500 and above.
        (CALL, "BUY", "9.95", "10.45"),
        (CALL, "SELL", "10", "9.7"),
        (CALL, "BUY", "99.95", "102.95"),
        (CALL, "SELL", "100", "98"),
        (CALL, "BUY", "500", "505"),
        # At least two ticks, and never below one.
        (SHARE, "BUY", "1", "1.1"),
        (SHARE, "SELL", "1", "0.9"),
        (CALL, "SELL", "0.05", "0.05"),
    ],
)
def test_the_price_lies_the_brokers_band_past_the_market(identity, side, start, price):
    assert protected_price(close(side, identity=identity), Decimal(start), BANDS, TICK) == Decimal(price)


@given(
    st.sampled_from([SHARE, CALL]),
    st.decimals(Decimal("0.05"), Decimal(100_000), places=2),
    st.sampled_from(["0.05", "0.01", "1"]),
)
def test_a_close_always_reaches_past_the_market_on_a_whole_tick(identity, start, tick):
    size = Decimal(tick)
    up = protected_price(close("BUY", identity=identity), start, BANDS, size)
    down = protected_price(close("SELL", identity=identity), start, BANDS, size)
    assert up % size == down % size == 0
    assert up >= start + 2 * size
    assert down == size or down <= start - 2 * size
    assert up - start <= start * Decimal("0.05") + 3 * size


def test_a_market_order_becomes_a_limit_past_the_market():
    found = stand_in(close("BUY"), Decimal(200), BANDS, TICK)
    assert (found.order_type, found.price, found.trigger_price) == ("LIMIT", Decimal(202), None)


def test_a_stop_becomes_one_with_a_limit_past_its_trigger_whatever_the_market():
    found = stand_in(close("SELL", "SL-M", trigger_price=Decimal(200)), Decimal(500), BANDS, TICK)
    assert (found.order_type, found.price, found.trigger_price) == ("SL", Decimal(198), Decimal(200))


def test_without_any_price_nothing_stands_in():
    assert stand_in(close(), None, BANDS, TICK) is None


@pytest.mark.parametrize(
    ("order_type", "taken", "needed"),
    [
        ("MARKET", LIMITS_ONLY, True),
        ("SL-M", LIMITS_ONLY, True),
        ("LIMIT", LIMITS_ONLY, False),
        ("SL", LIMITS_ONLY, False),
        ("MARKET", LIMITS_ONLY | {"MARKET"}, False),
        ("SL-M", LIMITS_ONLY | {"MARKET"}, True),
        ("MARKET", frozenset(), False),
    ],
)
def test_only_a_refused_market_or_stop_order_needs_one(order_type, taken, needed):
    assert needs_stand_in(close(order_type=order_type), taken) is needed


@pytest.mark.parametrize(
    ("agreed", "own", "tick"), [(0.1, 0.05, Decimal("0.1")), (None, 0.05, Decimal("0.05")), (None, None, None)]
)
def test_the_tick_is_the_agreed_one_or_the_brokers_own(agreed, own, tick):
    assert tick_of(close(tick=agreed, own_tick=own), "shoonya") == tick


@pytest.mark.parametrize(
    ("identity", "market", "places"),
    [
        (SHARE, "87.03", "0.01"),
        (SHARE, "143.17", "0.05"),
        (SHARE, "1402.5", "0.1"),
        (SHARE, "150012", "5"),
        (CALL, "20.3", "0.05"),
        (DOLLAR, "83.2525", "0.0001"),
    ],
)
def test_without_a_tick_the_limit_fits_every_tick_its_price_can_have(identity, market, places):
    """A share of which only brokers without ticks in their files know: a limit off the tick would be refused, and an exit with it."""
    found = stand_in(close(identity=identity), Decimal(market), BANDS, None)
    assert found.price % Decimal(places) == 0
    assert 0 < found.price < Decimal(market)
