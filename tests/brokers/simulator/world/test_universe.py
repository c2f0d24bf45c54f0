"""What the simulated exchanges list."""

import re
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.simulator.world.universe import SMALLEST, build_universe
from onebroker.config.instruments import Shape

TODAY = date(2026, 11, 23)


def isin_is_valid(isin):
    digits = "".join(str(int(character, 36)) for character in isin)
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if place % 2 else 1)
        total += doubled // 10 + doubled % 10
    return total % 10 == 0


def test_the_default_universe_holds_what_is_promised():
    listed = build_universe(2000, 1, TODAY).contracts
    count = Counter(each.bare for each in listed)
    cash = [each for each in listed if each.identity.shape is Shape.SECURITY]
    assert len(listed) == 2000
    assert len(cash) == 1200
    assert count["exchange_traded_funds"] == 30
    assert count["equity_indices"] == 10
    assert (count["investment_trusts"], count["fixed_income"], count["mutual_funds"]) == (5, 10, 5)
    assert count["equity_options"] + count["equity_index_options"] == 600
    assert count["equity_futures"] + count["equity_index_futures"] == 150
    assert count["commodity_futures"] + count["commodity_options"] == 40
    assert count["currency_futures"] + count["currency_options"] == 10
    assert {each.identity.exchange for each in listed} == {"nse", "bse", "mcx", "ncdex"}
    options = [each for each in listed if each.bare in ("equity_options", "equity_index_options")]
    assert len({each.identity.underlying_symbol for each in options}) == 10
    for underlying in {each.identity.underlying_symbol for each in options}:
        expiries = {e.identity.expiry_date for e in options if e.identity.underlying_symbol == underlying}
        assert len(expiries) == 3


@settings(max_examples=25, deadline=None)
@given(st.integers(SMALLEST, 600), st.integers(0, 9), st.dates(date(2025, 1, 1), date(2027, 12, 31)))
def test_every_universe_is_complete_and_unique(number, seed, today):
    universe = build_universe(number, seed, today)
    listed = universe.contracts
    assert len(listed) == number == len(universe.by_id)
    assert {each.identity.shape for each in listed} == set(Shape)
    tokens = Counter(
        (each.identity.exchange, each.identity.shape is Shape.SECURITY, each.exchange_token) for each in listed
    )
    assert max(tokens.values()) == 1
    assert {each.calendar for each in listed} == {"equity", "currency", "commodity"}
    assert {"mcx", "ncdex"} <= {each.identity.exchange for each in listed}
    for each in listed:
        assert each.instrument_id == each.identity.instrument_id
        assert each.base_price > 0
        assert each.base_price % each.tick_size == 0
        assert universe.walk_of[each.instrument_id] in universe.walks
        if each.identity.expiry_date is not None:
            assert date.fromisoformat(each.identity.expiry_date) >= today
            assert each.freeze_quantity % each.lot_size == 0 or each.freeze_quantity >= each.lot_size


def test_shares_look_like_shares():
    listed = build_universe(2000, 1, TODAY).contracts
    shares = [each for each in listed if each.bare == "equities"]
    isins = Counter(each.isin for each in shares)
    assert all(re.fullmatch(r"[A-Z]{4,12}", each.identity.symbol) for each in shares)
    assert all(re.fullmatch(r"INE\d{3}[A-Z]01\d{3}", each.isin) and isin_is_valid(each.isin) for each in shares)
    both = [isin for isin, times in isins.items() if times == 2]
    assert len(both) > 100
    assert max(isins.values()) == 2
    on_bse = {each.isin: each.identity.symbol for each in shares if each.identity.exchange == "bse"}
    assert all(on_bse[each.isin] == each.identity.symbol for each in shares if each.isin in on_bse)


def test_derivatives_follow_the_exchanges_conventions():
    listed = build_universe(2000, 1, TODAY).contracts
    index = [
        each for each in listed if each.identity.underlying_symbol == "DESH" and each.bare == "equity_index_options"
    ]
    assert {(each.lot_size, each.freeze_quantity) for each in index} == {(75, 1800)}
    weeks = sorted({each.identity.expiry_date for each in index})
    assert weeks == ["2026-11-24", "2026-12-01", "2026-12-29"]
    stock = [each for each in listed if each.bare == "equity_futures"]
    assert {each.identity.expiry_date for each in stock} == {"2026-11-24", "2026-12-29", "2027-01-26"}
    currency = [each for each in listed if each.calendar == "currency"]
    assert {each.tick_size for each in currency} == {Decimal("0.0025")}
    assert {each.lot_size for each in currency} == {1000}
    gold = next(each for each in listed if each.identity.underlying_symbol == "GOLD")
    assert (gold.identity.exchange, gold.lot_size) == ("mcx", 100)


@pytest.mark.parametrize("number", [300, 2000])
def test_only_shares_without_futures_have_a_narrow_price_band(number):
    listed = build_universe(number, 1, TODAY).contracts
    underlyings = {each.identity.underlying_symbol for each in listed if each.bare == "equity_futures"}
    shares = {each.identity.symbol: each.band_percent for each in listed if each.bare == "equities"}
    assert {shares[symbol] for symbol in underlyings} == {Decimal(20)}
    assert {band for symbol, band in shares.items() if symbol not in underlyings} == {5, 10, 20}


def test_a_later_start_keeps_what_lives_and_drops_what_expired():
    before = build_universe(2000, 1, TODAY).by_id
    after = build_universe(2000, 1, TODAY + timedelta(days=2)).by_id
    gone = [before[key] for key in before.keys() - after.keys()]
    come = [after[key] for key in after.keys() - before.keys()]
    assert all(before[key] == after[key] for key in before.keys() & after.keys())
    assert gone
    assert {each.identity.expiry_date for each in gone} == {"2026-11-24"}
    assert come
    assert all(each.identity.expiry_date > "2026-12-01" for each in come)


def test_another_seed_makes_other_companies():
    names = [{each.name for each in build_universe(100, seed, TODAY).contracts} for seed in (1, 2, 1)]
    assert names[0] == names[2] != names[1]


def test_a_universe_too_small_is_refused():
    with pytest.raises(ValueError, match="at least 60"):
        build_universe(59, 1, TODAY)


def test_an_expiry_on_a_holiday_moves_to_the_trading_day_before():
    def closed_on_the_24th(_exchange, calendar, day):
        return calendar != "equity" or day != date(2026, 11, 24)

    def expiries(today):
        listed = build_universe(300, 1, today, closed_on_the_24th).contracts
        return {each.identity.expiry_date for each in listed if each.identity.underlying_symbol == "DESH"}

    assert expiries(date(2026, 11, 23)) == {"2026-11-23", "2026-12-01", "2026-12-29", "2027-01-26"}
    assert expiries(date(2026, 11, 24)) == {"2026-12-01", "2026-12-08", "2026-12-29", "2027-01-26", "2027-02-23"}
