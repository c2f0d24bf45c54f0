"""A broker's square-off before the close, and a trade that the exchange annuls."""

from datetime import time, timedelta

import pytest

from onebroker.brokers.simulator.exchange.other_hands import ANNULLED, SQUARED_OFF
from onebroker.brokers.simulator.world.model import SimStatus
from onebroker.config.vocabulary import Product

MIS, CNC = Product.MIS, Product.CNC


def acts(floor):
    return [(act.hand, act.verb, act.broker) for act in floor.exchange.ledger.acts()]


def test_a_broker_cancels_intraday_orders_and_then_closes_intraday_positions(floor):
    share, account = floor.contract(n=100), floor.account()
    floor.exchange.hands.square_off_at("zerodha", time(15, 20))
    floor.exchange.set_price(share.instrument_id, floor.last(share), hold_seconds=100_000)
    for broker in ("zerodha", "upstox"):
        floor.place(share, "BUY", 10, product="MIS", broker=broker)
        floor.place(share, "BUY", 4, broker=broker)
    high = floor.last(share) + 100 * share.tick_size
    low = floor.last(share) - 100 * share.tick_size
    stop = floor.place(share, "SELL", 10, "SL-M", product="MIS", trigger_price=low)
    kept = floor.place(share, "SELL", 4, "LIMIT", price=high)
    commodity = floor.contract("commodity_futures", "mcx")
    floor.place(commodity, "BUY", product="MIS")
    floor.at(floor.clock.now().replace(hour=15, minute=19, second=59))
    assert acts(floor) == []
    floor.at(floor.clock.now().replace(hour=15, minute=20, second=0))
    ended = account.order(stop.order_id)
    assert (ended.status, ended.status_message) == (SimStatus.CANCELLED, SQUARED_OFF)
    assert account.net_quantity(share.instrument_id, MIS) == 10
    floor.steps(1)
    assert account.net_quantity(share.instrument_id, MIS) == 0
    closing = account.order([act.order_id for act in floor.exchange.ledger.acts() if act.verb == "square_off"][-1])
    assert (closing.status, closing.status_message) == (SimStatus.COMPLETE, SQUARED_OFF)
    assert not [each for each in account.held_positions() if each.product is MIS and each.quantity > 0 and
                each.instrument_id != commodity.instrument_id]  # fmt: skip
    assert account.order(kept.order_id).status is SimStatus.OPEN
    assert account.net_quantity(share.instrument_id, CNC) == 4
    assert account.net_quantity(commodity.instrument_id, MIS) == commodity.lot_size
    assert floor.account("upstox").net_quantity(share.instrument_id, MIS) == 10
    assert {each[0] for each in acts(floor)} == {"broker"}
    before = acts(floor)
    floor.steps(10)
    assert acts(floor) == before
    floor.place(share, "BUY", 1, product="MIS")
    floor.at(floor.clock.now() + timedelta(days=1))
    floor.steps(2)
    assert floor.account().net_quantity(share.instrument_id, MIS) == 0


def test_a_square_off_that_is_switched_off_does_nothing(floor):
    floor.exchange.hands.square_off_at("zerodha", time(15, 20))
    floor.exchange.hands.square_off_at("zerodha", None)
    floor.at(floor.clock.now().replace(hour=15, minute=30))
    floor.steps(3)
    assert acts(floor) == []
    with pytest.raises(KeyError):
        floor.exchange.hands.square_off_at("nobody", time(15, 20))


def test_an_annulled_trade_leaves_order_trade_book_position_and_ledger(floor):
    share, account, heard = floor.contract(n=100), floor.account(), []
    order = floor.place(share, "BUY", 10)
    trade = account.fills()[-1]
    floor.place(share, "SELL", 3)
    floor.exchange.listen("zerodha", lambda order, fill: heard.append((order.status, order.filled_quantity, fill)))
    floor.exchange.hands.annul("zerodha", trade.trade_id)
    now = account.order(order.order_id)
    assert (now.status, now.filled_quantity, now.status_message) == (SimStatus.CANCELLED, 0, ANNULLED)
    assert now.average_price == 0
    assert trade not in account.fills()
    assert trade.trade_id not in {fill.trade_id for fill in floor.exchange.ledger.fills()}
    assert account.net_quantity(share.instrument_id, CNC) == -3
    assert heard == [(SimStatus.CANCELLED, 0, None)]
    assert acts(floor) == [("exchange", "annul", "zerodha")]
    before = account.held_positions(), account.fills()
    floor.restart()
    assert (floor.account().held_positions(), floor.account().fills()) == before
    with pytest.raises(ValueError, match="no trade"):
        floor.exchange.hands.annul("zerodha", trade.trade_id)


def test_one_of_two_fills_is_annulled_and_the_open_rest_ends(floor):
    share, account = floor.contract(n=100), floor.account()
    low = floor.last(share) - 10 * share.tick_size
    order = floor.place(share, "BUY", 10, "LIMIT", price=low)
    for units in (3, 2):
        floor.exchange.fill("zerodha", order.order_id, units)
    floor.exchange.hands.annul("zerodha", account.fills()[-1].trade_id)
    now = account.order(order.order_id)
    assert (now.status, now.filled_quantity, now.cancelled_quantity) == (SimStatus.CANCELLED, 3, 7)
    assert account.net_quantity(share.instrument_id, CNC) == 3
    with pytest.raises(ValueError, match="no such order"):
        floor.exchange.fill("zerodha", order.order_id, 1)


def test_both_accounts_of_an_annulled_trade_lose_it(floor):
    share = floor.contract(n=100)
    price = floor.last(share)
    floor.place(share, "SELL", 5, "LIMIT", price=price, product="MIS", broker="upstox")
    floor.place(share, "BUY", 5, "LIMIT", price=price, product="MIS")
    trade = floor.account().fills()[-1]
    assert trade.trade_id == floor.account("upstox").fills()[-1].trade_id
    floor.exchange.hands.annul("upstox", trade.trade_id)
    assert floor.account().net_quantity(share.instrument_id, MIS) == 0
    assert floor.account("upstox").net_quantity(share.instrument_id, MIS) == 0


def test_converted_units_of_an_annulled_trade_leave_the_product_that_they_are_in_now(floor):
    share, account = floor.contract(n=100), floor.account()
    blocked = account.true_funds().span
    floor.place(share, "BUY", 10, product="MIS")
    trade = account.fills()[-1]
    floor.place(share, "BUY", 2)
    floor.exchange.person.convert("zerodha", share.instrument_id, MIS, CNC, 4)
    floor.exchange.hands.annul("zerodha", trade.trade_id)
    assert [account.net_quantity(share.instrument_id, product) for product in (MIS, CNC)] == [0, 2]
    assert all(row.day_buy_quantity >= 0 for row in account.held_positions())
    assert account.true_funds().span == blocked
