"""Shares that a resting sale reserves, at every broker, and the margin of a second sale of one long option."""

from decimal import Decimal

import attrs
import pytest

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.broker_traits import BROKERS
from onebroker.brokers.simulator.world.model import RefusalReason, SimRefusal, SimStatus
from onebroker.config.vocabulary import Product

IN_BOOK = {"upstox", "dhan", "kotakneo", "groww", "shoonya"}


@pytest.fixture(scope="module")
def wide(make_floor):
    return make_floor(brokers=tuple(BROKERS))


def _off(floor, share, percent):
    """Return a price of so many percent of the last price, on the tick grid."""
    return int(floor.last(share) * percent / 100 / share.tick_size) * share.tick_size


def refused(floor, code, share, quantity, **more):
    """Place a sale that the broker must refuse in its way; return the words."""
    if code in IN_BOOK:
        order = floor.place(share, "SELL", quantity, "LIMIT", broker=code, **more)
        assert (order.status, order.exchange_order_id) == (SimStatus.REJECTED, None)
        return order.status_message
    with pytest.raises(SimRefusal) as caught:
        floor.place(share, "SELL", quantity, "LIMIT", broker=code, **more)
    assert caught.value.reason is RefusalReason.NO_HOLDING
    return caught.value.message


@pytest.mark.parametrize("code", BROKERS)
def test_a_resting_sale_blocks_its_shares_until_it_is_cancelled_filled_or_smaller(wide, code):
    account, share = wide.account(code), wide.contract(n=100 + list(BROKERS).index(code))
    high = _off(wide, share, 102)
    wide.place(share, "BUY", 10, broker=code)  # shares of today can be sold
    first = wide.place(share, "SELL", 10, "LIMIT", broker=code, price=high)
    stop = _off(wide, share, 98)
    assert "Check holdings including BTST" in refused(wide, code, share, 1, price=high)
    with pytest.raises(SimRefusal):
        account.modify(first.order_id, quantity=11)
    account.modify(first.order_id, quantity=6)
    second = wide.place(share, "SELL", 4, "SL-M", broker=code, trigger_price=stop)
    assert second.status is SimStatus.TRIGGER_PENDING
    with pytest.raises(SimRefusal) as caught:
        account.modify(second.order_id, quantity=5)
    assert caught.value.reason is RefusalReason.NO_HOLDING
    assert account.order(second.order_id).quantity == 4
    wide.exchange.fill(code, first.order_id, 2)
    refused(wide, code, share, 1, price=high)
    account.cancel(first.order_id)
    assert account.sellable(share.instrument_id) == 4
    refused(wide, code, share, 5, price=high)
    assert wide.place(share, "SELL", 4, "LIMIT", broker=code, price=high).status is SimStatus.OPEN
    assert account.sellable(share.instrument_id) == 0


def test_a_holding_is_reserved_with_the_units_bought_yesterday_but_not_the_pledged(floor):
    account = floor.account()
    for held in account.holdings():
        share = floor.exchange.contract(held.instrument_id)
        free = held.settled_quantity + held.t1_quantity
        price = floor.last(share) + 30 * share.tick_size
        floor.place(share, "SELL", free, "LIMIT", price=price)
        refused(floor, "zerodha", share, 1, price=price)
        floor.place(share, "SELL", 1, "LIMIT", price=price, product="MIS")  # another product sells short


def test_a_persons_sale_reserves_as_well(floor):
    share = floor.contract(n=100)
    floor.place(share, "BUY", 10)
    price = floor.last(share) + 100 * share.tick_size
    floor.exchange.person.place("zerodha", floor.new(share, "SELL", 8, "LIMIT", price=price))
    refused(floor, "zerodha", share, 3, price=price)


def test_a_broker_that_reserves_nothing_takes_both_sales(floor):
    share, account = floor.contract(n=100), floor.account()
    account.traits = attrs.evolve(account.traits, reserves_shares=False)
    floor.place(share, "BUY", 10)
    price = floor.last(share) + 100 * share.tick_size
    for _ in range(2):
        assert floor.place(share, "SELL", 10, "LIMIT", price=price).status is SimStatus.OPEN


async def test_a_second_sale_of_one_long_option_is_free_until_the_switch_asks_for_margin(floor):
    option, account = floor.contract("equity_index_options"), floor.account()
    floor.place(option, "BUY", 2 * option.lot_size)
    high = floor.last(option) + 20 * option.tick_size
    plain = [floor.place(option, "SELL", 2 * option.lot_size, "LIMIT", price=high) for _ in range(2)]
    assert [account.blocked_by(order.order_id) for order in plain] == [0, 0]
    account.cancel(plain[1].order_id)
    floor.faults.add("zerodha", FaultKind.SECOND_SALE_MARGIN)
    second = floor.place(option, "SELL", option.lot_size, "LIMIT", price=high)
    margin = Decimal(repr(option.identity.strike_price)) * option.lot_size * Decimal("0.20")
    assert account.blocked_by(second.order_id) == margin
    account.cancel(second.order_id)
    floor.exchange.set_available("zerodha", margin - 1)
    assert account.funds().available == margin - 1
    refusal = floor.place(option, "SELL", option.lot_size, "LIMIT", price=high)
    assert refusal.status is SimStatus.REJECTED
    assert "insufficient funds" in refusal.status_message
    account.cancel(plain[0].order_id)
    assert floor.place(option, "SELL", option.lot_size, "LIMIT", price=high).status is SimStatus.OPEN
    assert account.net_quantity(option.instrument_id, Product.NRML) == 2 * option.lot_size
