"""Symbols as the exchange writes them, and the weekly letters."""

from datetime import date

import pytest

from onebroker.brokers.simulator.dialects.symbols import compact_symbol, expiry_of, is_weekly, series_symbol, units_of


@pytest.mark.parametrize(
    ("expiry", "weekly"), [(date(2026, 11, 3), True), (date(2026, 11, 24), False), (date(2026, 12, 31), False)]
)
def test_the_last_expiry_of_a_month_is_not_weekly(expiry, weekly):
    assert is_weekly(expiry) is weekly


def test_weekly_options_are_written_with_the_day_only_where_the_broker_does_so(floor):
    options = [each for each in floor.exchange.contracts() if each.bare == "equity_index_options"]
    weekly = next(each for each in options if is_weekly(expiry_of(each)))
    expiry = expiry_of(weekly)
    letter = "123456789OND"[expiry.month - 1]
    assert f"{expiry:%y}{letter}{expiry:%d}" in compact_symbol(weekly, has_weeklies=True)
    assert f"{expiry:%y%b}".upper() in compact_symbol(weekly, has_weeklies=False)


def test_a_future_carries_its_month(floor):
    future = floor.contract("equity_index_futures")
    symbol = compact_symbol(future, has_weeklies=True)
    assert symbol == f"{future.identity.underlying_symbol}{expiry_of(future):%y%b}FUT".upper()


def test_an_ordinary_series_is_not_written_and_lots_count_where_the_exchange_quotes_lots(floor):
    share, goods = floor.contract(), floor.contract("commodity_futures", "mcx")
    assert series_symbol(share) == share.identity.symbol
    assert (units_of(share), units_of(goods)) == (1, goods.lot_size)
