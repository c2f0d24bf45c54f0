"""The exchange by the clock: pre-open, after-market orders, the close, expiries, the turn of the day."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from onebroker.brokers.simulator.world.model import RefusalReason, SimRefusal, SimStatus
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Product

MONDAY = datetime(2026, 11, 23, tzinfo=IST)


def at(hour, minute=0, second=0, days=0):
    return MONDAY + timedelta(days=days, hours=hour, minutes=minute, seconds=second)


@pytest.fixture
def opened(make_floor, real_hours):
    """A floor under real hours, on a Monday at 10:00."""
    return make_floor(start=at(10), calendar=real_hours)


def status(floor, order, broker="zerodha"):
    return floor.account(broker).order(order.order_id).status


def test_outside_hours_only_after_market_orders_are_taken_and_they_trade_at_the_opening_price(make_floor, real_hours):
    floor = make_floor(start=at(20, days=-3), calendar=real_hours)
    share = floor.contract()
    with pytest.raises(SimRefusal) as caught:
        floor.place(share, "BUY", 1)
    assert caught.value.reason is RefusalReason.MARKET_CLOSED
    order = floor.place(share, "BUY", 1, after_market=True)
    assert (order.status, order.exchange_order_id) == (SimStatus.AFTER_MARKET, None)
    floor.at(at(8, 59))
    assert status(floor, order) is SimStatus.AFTER_MARKET
    floor.at(at(9, 14, 59))
    assert status(floor, order) is SimStatus.AFTER_MARKET
    floor.at(at(9, 15))
    done = floor.account().order(order.order_id)
    assert done.status is SimStatus.COMPLETE
    assert done.average_price == floor.account().market(share.instrument_id).open


def test_the_pre_open_collects_orders_and_crosses_them_at_the_open(make_floor, real_hours):
    floor = make_floor(start=at(9, 5), calendar=real_hours)
    share = floor.contract()
    market = floor.account().market(share.instrument_id)
    assert market.last_price == market.previous_close
    assert market.buy == market.sell == ()
    buy = floor.place(
        share, "BUY", 5, "LIMIT", price=market.last_price * Decimal("1.01") // share.tick_size * share.tick_size
    )
    sell = floor.place(share, "SELL", 5, product="MIS", broker="upstox")
    away = floor.place(share, "BUY", 5, "LIMIT", price=market.lower_circuit)
    assert {buy.status, sell.status, away.status} == {SimStatus.OPEN}
    floor.at(at(9, 15))
    opening = floor.account().market(share.instrument_id).open
    assert floor.account().order(buy.order_id).average_price == opening
    assert floor.account("upstox").order(sell.order_id).average_price == opening
    fills = [fill for fill in floor.exchange.ledger.fills() if fill.order_id in (buy.order_id, sell.order_id)]
    assert {fill.counterparty for fill in fills if fill.instrument_id == share.instrument_id} == {
        f"upstox:{sell.order_id}", f"zerodha:{buy.order_id}",
    }  # fmt: skip
    assert status(floor, away) is SimStatus.OPEN


def test_a_queued_order_can_be_modified_and_cancelled_before_the_open(make_floor, real_hours):
    floor = make_floor(start=at(9, 5), calendar=real_hours)
    share = floor.contract()
    order = floor.place(share, "BUY", 5)
    assert floor.account().modify(order.order_id, quantity=7).status is SimStatus.OPEN
    other = floor.place(share, "BUY", 5)
    assert floor.account().cancel(other.order_id).status is SimStatus.CANCELLED
    floor.at(at(9, 15))
    assert floor.account().order(order.order_id).filled_quantity == 7
    assert status(floor, other) is SimStatus.CANCELLED


def test_the_auction_can_be_made_to_trade_with_what_waits_for_it(make_floor, real_hours):
    floor = make_floor(start=at(9, 5), calendar=real_hours)
    share = floor.contract()
    order = floor.place(share, "BUY", 5, "LIMIT", price=floor.account().market(share.instrument_id).lower_circuit)
    floor.exchange.fill("zerodha", order.order_id, 2)
    assert (status(floor, order), floor.account().order(order.order_id).filled_quantity) == (SimStatus.OPEN, 2)
    with pytest.raises(ValueError, match="no such order rests"):
        floor.exchange.fill("zerodha", order.order_id, 4)
    floor.exchange.fill("zerodha", order.order_id, 3)
    assert status(floor, order) is SimStatus.COMPLETE
    floor.at(at(9, 15))
    done = floor.account().order(order.order_id)
    assert (done.status, done.filled_quantity, done.average_price) == (SimStatus.COMPLETE, 5, order.price)


def test_what_waits_for_another_day_cannot_be_made_to_trade(make_floor, real_hours):
    floor = make_floor(start=at(20, days=-3), calendar=real_hours)
    share = floor.contract()
    order = floor.place(share, "BUY", 1, "LIMIT", price=floor.last(share), after_market=True)
    with pytest.raises(ValueError, match="no such order rests"):
        floor.exchange.fill("zerodha", order.order_id, 1)


def test_day_orders_expire_at_the_close_of_their_own_session(opened):
    share, crude = opened.contract(), opened.contract("commodity_futures", "mcx")
    low = opened.last(share) - 100 * share.tick_size
    equity = opened.place(share, "BUY", 1, "LIMIT", price=low)
    stop = opened.place(
        share, "BUY", 1, "SL-M", trigger_price=opened.last(share) + 900 * share.tick_size, product="MIS"
    )
    goods = opened.place(crude, "BUY", None, "LIMIT", price=opened.last(crude) - 200)
    opened.at(at(15, 29, 59))
    assert status(opened, equity) is SimStatus.OPEN
    opened.at(at(15, 30))
    assert status(opened, equity) is SimStatus.EXPIRED
    assert status(opened, stop) is SimStatus.EXPIRED
    assert status(opened, goods) is SimStatus.OPEN
    opened.at(at(17, 30))
    assert status(opened, goods) is SimStatus.OPEN
    opened.at(at(23, 56))
    assert status(opened, goods) is SimStatus.EXPIRED


def test_orders_that_should_have_expired_while_the_simulator_was_off_expire_at_its_start(opened):
    share = opened.contract()
    order = opened.place(share, "BUY", 1, "LIMIT", price=opened.last(share) - 100 * share.tick_size)
    opened.moment = at(16).timestamp()
    opened.restart()
    opened.exchange.step()
    assert status(opened, order) is SimStatus.EXPIRED


def test_intraday_positions_are_squared_off_at_the_close(opened):
    share = opened.contract()
    opened.place(share, "BUY", 5, product="MIS")
    assert opened.account().net_quantity(share.instrument_id, Product.MIS) == 5
    opened.exchange.step()
    opened.at(at(15, 30))
    assert opened.account().net_quantity(share.instrument_id, Product.MIS) == 0
    close = opened.account().market(share.instrument_id).last_price
    assert opened.account().fills()[-1].price == close


def test_prices_stand_still_while_the_market_is_closed(opened):
    share = opened.contract()
    opened.at(at(16))
    evening = opened.account().market(share.instrument_id)
    opened.at(at(22))
    assert opened.account().market(share.instrument_id) == evening
    opened.at(at(10, days=2))  # the 24th is a holiday
    morning = opened.account().market(share.instrument_id)
    assert morning.previous_close == evening.last_price
    assert morning.low <= morning.last_price <= morning.high
    assert morning.lower_circuit < morning.previous_close < morning.upper_circuit


def test_the_day_turns_at_seven_and_clears_orders_but_carries_positions(opened):
    future = opened.contract("equity_index_futures", n=4)
    order = opened.place(future, "BUY")
    opened.at(at(6, 59, 59, days=1))
    close = opened.account().market(future.instrument_id).last_price
    assert opened.account().order(order.order_id) is not None
    opened.at(at(7, days=1))
    assert opened.account().orders() == ()
    assert opened.account().fills() == ()
    carried = next(each for each in opened.account().positions() if each.instrument_id == future.instrument_id)
    assert (carried.overnight_quantity, carried.overnight_price) == (future.lot_size, close)
    assert order.order_id in {each.order_id for each in opened.exchange.all_orders()}


def test_a_weekend_turns_no_day(opened):
    share = opened.contract(n=50)
    opened.at(at(10, days=4))
    opened.place(share, "BUY", 5)
    opened.at(at(12, days=5))
    assert len(opened.account().orders()) == 1
    opened.at(at(7, days=7))
    held = next(each for each in opened.account().holdings() if each.instrument_id == share.instrument_id)
    assert (held.t1_quantity, opened.account().orders()) == (5, ())


def test_expired_contracts_are_settled_in_cash_and_leave_the_list(opened):
    account = opened.account()
    options = [each for each in account.contracts() if each.identity.expiry_date == "2026-11-23"]
    option = next(each for each in options if each.bare == "equity_index_options")
    future = next(each for each in options if each.bare == "equity_index_futures")
    opened.place(option, "BUY")
    opened.place(future, "SELL")
    opened.exchange.step()
    opened.at(at(15, 30))
    index = next(c for c in opened.exchange.contracts() if c.identity.symbol == "DESH 50")
    spot = opened.last(index)
    opened.at(at(6, 59, 59, days=1))
    cash = account.state.cash
    for position in account.positions():
        contract = opened.exchange.contract(position.instrument_id)
        cash += position.day_sell_value - position.day_buy_value
        if contract.bare.endswith("futures"):
            mark = spot if contract == future else opened.last(contract)
            cash += position.quantity * mark - position.overnight_quantity * position.overnight_price
    sign = 1 if option.identity.option_type == "CE" else -1
    if option.identity.underlying_symbol == "DESH":
        cash += option.lot_size * max(Decimal(0), sign * (spot - Decimal(option.identity.strike_price)))
    opened.at(at(7, days=1))
    assert account.state.cash == cash
    assert opened.exchange.contract(option.instrument_id) is None
    assert {each.instrument_id for each in account.positions()}.isdisjoint({option.instrument_id, future.instrument_id})
    assert max(each.identity.expiry_date or "" for each in account.contracts()) > "2027-01-20"


def test_days_turn_for_brokers_that_are_not_started_this_time(make_floor, real_hours):
    floor = make_floor(start=at(10), calendar=real_hours)
    share = floor.contract(n=50)
    order = floor.place(share, "BUY", 5, broker="upstox")
    resting = floor.place(share, "BUY", 1, "LIMIT", price=floor.last(share) - 100 * share.tick_size, broker="upstox")
    later = make_floor(brokers=("zerodha",), start=at(10, days=2), calendar=real_hours, journal=floor.journal)
    assert later.exchange.brokers == ("zerodha",)
    both = make_floor(start=at(11, days=2), calendar=real_hours, journal=floor.journal)
    account = both.account("upstox")
    held = next(each for each in account.holdings() if each.instrument_id == share.instrument_id)
    assert (held.t1_quantity, account.orders()) == (5, ())
    ended = {each.order_id: each.status for each in both.exchange.all_orders() if each.broker == "upstox"}
    assert (ended[order.order_id], ended[resting.order_id]) == (SimStatus.COMPLETE, SimStatus.EXPIRED)


def test_candles_of_a_day_span_its_session_and_agree_with_the_quote(opened):
    share = opened.contract()
    account = opened.account()
    friday = at(0, days=-3).date()
    minutes = account.candles(share.instrument_id, "1minute", friday, friday)
    assert len(minutes) == 375
    assert minutes[0][0] == at(9, 15, days=-3).timestamp()
    assert all(row[3] <= min(row[1], row[4]) <= max(row[1], row[4]) <= row[2] for row in minutes)
    days = account.candles(share.instrument_id, "day", friday, MONDAY.date())
    assert [row[0] for row in days] == [at(0, days=-3).timestamp(), at(0).timestamp()]
    assert days[0][1] == minutes[0][1]
    assert days[1][1] == float(account.market(share.instrument_id).open)
