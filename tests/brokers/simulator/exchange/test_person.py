"""A person at the broker's own app: what the acts change, what they refuse, and that no limit and no fault of the API concerns them."""

from decimal import Decimal

import pytest

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.exchange.risk import profit
from onebroker.brokers.simulator.world.model import RefusalReason, SimRefusal, SimStatus
from onebroker.config.vocabulary import Product, Side

CNC, MIS, NRML = Product.CNC, Product.MIS, Product.NRML


def acts(floor):
    return [(act.hand, act.verb, act.quantity) for act in floor.exchange.ledger.acts()]


@pytest.fixture
def share(floor):
    return floor.contract(n=100)


@pytest.fixture
def person(floor):
    return floor.exchange.person


def test_a_person_moves_reduces_and_cancels_an_order_of_the_api(floor, share, person):
    low = floor.last(share) - 100 * share.tick_size
    order = floor.place(share, "BUY", 10, "LIMIT", price=low)
    person.modify("zerodha", order.order_id, price=low - share.tick_size)
    person.modify("zerodha", order.order_id, quantity=4)
    person.modify("zerodha", order.order_id, quantity=12)
    now = floor.account().order(order.order_id)
    assert (now.price, now.quantity, now.modifications) == (low - share.tick_size, 12, 3)
    assert person.cancel("zerodha", order.order_id).status is SimStatus.CANCELLED
    assert acts(floor) == [
        ("person", "modify", None), ("person", "modify", 4), ("person", "modify", 12), ("person", "cancel", None),
    ]  # fmt: skip
    assert floor.exchange.ledger.messages(0) == []


def test_a_person_moves_the_trigger_of_a_stop(floor, share, person):
    floor.place(share, "BUY", 10)
    low = floor.last(share) - 100 * share.tick_size
    stop = floor.place(share, "SELL", 10, "SL-M", trigger_price=low)
    person.modify("zerodha", stop.order_id, trigger_price=low - share.tick_size)
    now = floor.account().order(stop.order_id)
    assert (now.trigger_price, now.status) == (low - share.tick_size, SimStatus.TRIGGER_PENDING)


def test_a_person_places_an_order_and_squares_a_position_off_in_part_and_whole(floor, share, person):
    assert person.place("zerodha", floor.new(share, "BUY", 10, product="MIS")).filled_quantity == 10
    assert person.reduce("zerodha", share.instrument_id, MIS, 4).new.side is Side.SELL
    assert floor.account().net_quantity(share.instrument_id, MIS) == 6
    order = person.reduce("zerodha", share.instrument_id, MIS)
    assert (order.status, order.new.tag, order.filled_quantity) == (SimStatus.COMPLETE, None, 6)
    assert floor.account().net_quantity(share.instrument_id, MIS) == 0
    floor.place(share, "SELL", 7, product="MIS")
    assert person.reduce("zerodha", share.instrument_id, MIS, 2).new.side is Side.BUY
    for quantity in (6, 0, -1):
        with pytest.raises(SimRefusal) as caught:
            person.reduce("zerodha", share.instrument_id, MIS, quantity)
        assert caught.value.reason is RefusalReason.BAD_QUANTITY
    with pytest.raises(SimRefusal):
        person.reduce("zerodha", share.instrument_id, CNC)


def test_neither_faults_nor_limits_of_the_api_concern_a_person(floor, share, person):
    def no_more(_broker):
        raise AssertionError

    floor.exchange.before_order = no_more
    for kind in (FaultKind.REJECT_ORDERS, FaultKind.REJECT_CANCELS):
        floor.faults.add("zerodha", kind)
    order = person.place("zerodha", floor.new(share, "BUY", 1, "LIMIT", price=floor.last(share) - share.tick_size * 99))
    person.modify("zerodha", order.order_id, quantity=2)
    assert person.cancel("zerodha", order.order_id).status is SimStatus.CANCELLED


def test_sockets_hear_of_a_persons_orders(floor, share, person):
    heard = []
    floor.exchange.listen("zerodha", lambda order, _fill: heard.append(order.status))
    person.place("zerodha", floor.new(share, "BUY", 1))
    assert heard == [SimStatus.OPEN, SimStatus.COMPLETE]


def test_a_conversion_moves_units_and_their_cost(floor, share, person):
    bought = floor.place(share, "BUY", 10, product="MIS")
    floor.place(share, "SELL", 2, product="MIS")
    account, last = floor.account(), floor.last(share)
    before = profit(account.position(share.instrument_id, MIS), last)
    person.convert("zerodha", share.instrument_id, MIS, CNC, 5)
    left, moved = account.position(share.instrument_id, MIS), account.position(share.instrument_id, CNC)
    assert (left.quantity, moved.quantity, moved.day_buy_quantity) == (3, 5, 5)
    assert moved.day_buy_value == bought.average_price * 5
    assert profit(left, last) + profit(moved, last) == before
    assert account.sellable(share.instrument_id) == 5
    assert {fill.product for fill in account.fills() if fill.instrument_id == share.instrument_id} == {MIS}
    person.convert("zerodha", share.instrument_id, MIS, CNC)
    assert account.net_quantity(share.instrument_id, MIS) == 0
    assert account.net_quantity(share.instrument_id, CNC) == 8
    assert acts(floor)[-1] == ("person", "convert", 3)


def test_a_conversion_takes_carried_units_after_todays(floor, person):
    account = floor.account()
    carried = next(each for each in account.held_positions() if each.overnight_quantity > 0)
    contract = floor.exchange.contract(carried.instrument_id)
    floor.place(contract, "BUY")
    lot, last = contract.lot_size, floor.last(contract)
    before = profit(account.position(contract.instrument_id, NRML), last)
    person.convert("zerodha", contract.instrument_id, NRML, MIS, 2 * lot)
    moved = account.position(contract.instrument_id, MIS)
    assert (moved.overnight_quantity, moved.day_buy_quantity, moved.overnight_price) == (
        lot, lot, carried.overnight_price,
    )  # fmt: skip
    assert account.position(contract.instrument_id, NRML).quantity == 0
    assert profit(moved, last) + profit(account.position(contract.instrument_id, NRML), last) == before
    person.convert("zerodha", contract.instrument_id, MIS, NRML)
    assert account.position(contract.instrument_id, NRML).quantity == 2 * lot


def test_conversions_that_brokers_refuse(floor, share, person):
    future = floor.contract("equity_index_futures")
    floor.place(share, "BUY", 10)
    floor.place(share, "SELL", 5, "LIMIT", price=floor.last(share) + 60 * share.tick_size)
    floor.place(future, "BUY")
    floor.place(floor.contract(n=101), "SELL", 3, product="MIS")
    for contract, product, to, quantity, reason in (
        (share, CNC, NRML, 1, RefusalReason.NOT_TRADABLE),
        (share, CNC, CNC, 1, RefusalReason.NOT_TRADABLE),
        (share, CNC, MIS, 6, RefusalReason.NO_HOLDING),
        (share, CNC, MIS, 11, RefusalReason.BAD_QUANTITY),
        (future, NRML, CNC, None, RefusalReason.NOT_TRADABLE),
        (floor.contract(n=101), MIS, CNC, None, RefusalReason.NOT_TRADABLE),
    ):
        with pytest.raises(SimRefusal) as caught:
            person.convert("zerodha", contract.instrument_id, product, to, quantity)
        assert caught.value.reason is reason
    assert acts(floor) == []


def test_a_conversion_without_the_money_for_it_is_refused_and_changes_nothing(floor, share, person):
    most = int(Decimal(20_000_000) / floor.last(share))
    floor.place(share, "BUY", most, "LIMIT", product="MIS", price=floor.last(share) + share.tick_size * 5)
    account = floor.account()
    floor.steps(2000)
    held = account.position(share.instrument_id, MIS)
    assert held.quantity * floor.last(share) > account.funds().available
    with pytest.raises(SimRefusal) as caught:
        person.convert("zerodha", share.instrument_id, MIS, CNC)
    assert caught.value.reason is RefusalReason.NO_MARGIN
    assert account.position(share.instrument_id, MIS) == held
    assert account.net_quantity(share.instrument_id, CNC) == 0


def test_acts_and_converted_positions_outlive_a_restart(floor, share, person):
    person.place("zerodha", floor.new(share, "BUY", 10, product="MIS"))
    person.convert("zerodha", share.instrument_id, MIS, CNC, 4)
    before = (acts(floor), floor.account().held_positions())
    floor.restart()
    assert (acts(floor), floor.account().held_positions()) == before
