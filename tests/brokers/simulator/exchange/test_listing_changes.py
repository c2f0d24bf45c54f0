"""A bonus overnight, and an expiry that the exchange moves under the same number."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from onebroker.brokers.simulator.world.model import SimStatus
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Product

WEDNESDAY_TEN = datetime(2026, 11, 25, 10, 0, tzinfo=IST)
"""After a holiday; the next day trades."""


@pytest.fixture
def opened(make_floor, real_hours):
    return make_floor(start=WEDNESDAY_TEN, calendar=real_hours)


def plain_share(floor):
    """Return a share without derivatives that zerodha holds."""
    for held in floor.account().holdings():
        followers = floor.exchange._world.universe.followers(held.instrument_id)
        contract = floor.exchange.contract(held.instrument_id)
        if all(floor.exchange.contract(key).bare == "equities" for key in followers):
            return contract
    raise AssertionError


def holding(floor, share):
    return next(each for each in floor.account().holdings() if each.instrument_id == share.instrument_id)


def test_after_a_bonus_price_previous_close_and_holdings_have_the_factor(opened):
    floor, share = opened, plain_share(opened)
    bought = floor.place(share, "BUY", 4)
    before, last = holding(floor, share), floor.last(share)
    floor.exchange.bonus(share.instrument_id, 1, 2)
    assert (floor.last(share), holding(floor, share)) == (last, before)
    floor.at(floor.clock.now().replace(hour=15, minute=30))
    close = floor.last(share)
    waiting = floor.place(share, "BUY", 1, "LIMIT", price=close, after_market=True)
    floor.at(WEDNESDAY_TEN.replace(hour=6, minute=59) + timedelta(days=1))
    assert holding(floor, share) == before
    floor.at(WEDNESDAY_TEN.replace(hour=7) + timedelta(days=1))
    after = holding(floor, share)
    assert after.total_quantity == 2 * (before.total_quantity + 4)
    assert after.settled_quantity == 2 * (before.settled_quantity + before.t1_quantity)
    cost = before.average_price * before.total_quantity + bought.filled_value
    assert after.average_price == pytest.approx(cost / after.total_quantity, abs=Decimal("0.001"))
    floor.at(WEDNESDAY_TEN.replace(hour=9, minute=15, second=1) + timedelta(days=1))
    market = floor.account().market(share.instrument_id)
    assert market.previous_close == pytest.approx(close / 2, abs=share.tick_size)
    assert market.lower_circuit < market.last_price < market.upper_circuit
    assert abs(market.last_price / close - Decimal("0.5")) < Decimal("0.05")
    assert market.high < close * Decimal("0.6")
    ended = next(each for each in floor.exchange.all_orders() if each.order_id == waiting.order_id)
    assert (ended.status, ended.status_message) == (SimStatus.CANCELLED, "corporate action")
    restarted = market.last_price, holding(floor, share)
    floor.restart()
    assert (floor.last(share), holding(floor, share)) == restarted
    days = floor.exchange.candles(share, "day", date(2026, 11, 25), date(2026, 11, 26))
    assert float(days[0][4]) == pytest.approx(float(close))
    floor.at(WEDNESDAY_TEN + timedelta(days=2))
    assert holding(floor, share).total_quantity == after.total_quantity
    assert abs(floor.account().market(share.instrument_id).previous_close / close - Decimal("0.5")) < Decimal("0.05")


def test_a_bonus_in_a_market_that_never_closes(floor):
    share, close = plain_share(floor), None
    units = holding(floor, share).total_quantity
    close = floor.last(share)
    floor.exchange.set_price(share.instrument_id, close, hold_seconds=60)
    floor.exchange.bonus(share.instrument_id, 1, 5)
    floor.at(floor.clock.now() + timedelta(days=1))
    assert holding(floor, share).total_quantity == 5 * units
    market = floor.account().market(share.instrument_id)
    assert abs(market.last_price / close - Decimal("0.2")) < Decimal("0.03")
    assert market.low <= market.open <= market.high < close / 2


def test_no_bonus_for_shares_with_derivatives_and_for_contracts(floor):
    future = floor.contract("equity_index_futures")
    share = plain_share(floor)
    for instrument_id, had, has in ((future.instrument_id, 1, 2), (floor.contract().instrument_id, 1, 2),
                                    (share.instrument_id, 1, 1), (share.instrument_id, 0, 1)):  # fmt: skip
        with pytest.raises(ValueError, match="corporate action"):
            floor.exchange.bonus(instrument_id, had, has)


def test_a_moved_expiry_keeps_the_number_and_renames_what_the_accounts_have(floor):
    future, account = floor.contract("equity_index_futures"), floor.account()
    old = date.fromisoformat(future.identity.expiry_date)
    new = old + timedelta(days=3)
    floor.place(future, "BUY")
    resting = floor.place(future, "SELL", None, "LIMIT", price=floor.last(future) + 20 * future.tick_size)
    concerned = [
        each
        for each in floor.exchange.contracts()
        if (each.identity.underlying_symbol, each.identity.expiry_date, each.identity.exchange)
        == (future.identity.underlying_symbol, future.identity.expiry_date, "nse")
    ]
    names = floor.exchange.move_expiry("nse", future.identity.underlying_symbol, old, new)
    assert set(names) == {each.instrument_id for each in concerned}
    moved = floor.exchange.contract(names[future.instrument_id])
    assert moved.exchange_token == future.exchange_token
    assert moved.identity.expiry_date == new.isoformat()
    assert floor.exchange.contract(future.instrument_id) is None
    ended = account.order(resting.order_id)
    assert (ended.status, ended.new.instrument_id) == (SimStatus.CANCELLED, moved.instrument_id)
    assert account.net_quantity(moved.instrument_id, Product.NRML) == future.lot_size
    assert account.fills()[-1].instrument_id == moved.instrument_id
    before = account.held_positions(), account.fills(), account.orders()
    floor.restart()
    account = floor.account()
    assert (account.held_positions(), account.fills(), account.orders()) == before
    assert floor.exchange.contract(moved.instrument_id) == moved
    assert floor.place(moved, "SELL").status is SimStatus.COMPLETE
    for underlying, to in ((future.identity.underlying_symbol, new), ("NOTHING", new)):
        with pytest.raises(ValueError, match="expire"):
            floor.exchange.move_expiry("nse", underlying, old, to)


def test_a_move_to_an_expiry_that_is_there_already_is_refused(floor):
    contracts = floor.exchange.contracts()
    listed = {
        (each.identity.exchange, each.identity.underlying_symbol, each.identity.expiry_date) for each in contracts
    }
    exchange, underlying, old, new = next(
        (exchange, underlying, old, new)
        for exchange, underlying, old in sorted(listed, key=str)
        for new in sorted({str(expiry) for e, u, expiry in listed if (e, u) == (exchange, underlying)})
        if old is not None and old < new
    )
    with pytest.raises(ValueError, match="already"):
        floor.exchange.move_expiry(exchange, underlying, date.fromisoformat(old), date.fromisoformat(new))
