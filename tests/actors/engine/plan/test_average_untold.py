"""A broker that tells no average of a fill: what stands in for it, and what is said where nothing does (order-engine 2.3)."""

from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.parent_records import LegRecord, LegState
from onebroker.actors.engine.plan.parts import FromFill
from onebroker.actors.engine.plan.price_kinds import ExitOrder, FromParentFill
from onebroker.actors.engine.plan_parent.leg_conversion import fill_price, leg_of
from onebroker.brokers.records import TradeRow
from tests.actors.engine.plan.trees import order
from tests.actors.engine.plan.world import Runner

LEG = LegRecord(
    leg_id="p.0", part="root", token="ob000000000000", broker="zerodha", segment="nse_equities", instrument_token="1",
    tradingsymbol="A", transaction_type="BUY", product="MIS", order_type="LIMIT", validity="DAY", quantity=100,
    price=D(101), trigger_price=None, session_day="2026-11-23", state=LegState.OPEN, order_id="1", filled_quantity=30,
)  # fmt: skip


def trade(quantity, price, order_id="1", **more):
    return TradeRow(
        trade_id="t", order_id=order_id, transaction_type="BUY", product="MIS", instrument_token="1", tradingsymbol="A",
        exchange="NSE", quantity=quantity, price=price, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("trades", "price"),
    [
        ([trade(10, 100.0), trade(20, 100.3), trade(5, 1.0, "2")], D("100.2")),
        ([trade(10, 100.0)], D(101)),  # not all trades are there
        ([trade(30, 99.0, contract_units=None)], D(101)),
        ([], D(101)),
    ],
)
def test_the_trades_stand_in_for_the_average_once_they_add_up_and_else_the_orders_own_price(trades, price):
    assert fill_price(LEG, trades) == price


def test_a_stop_entrys_trigger_stands_in_where_it_has_no_limit_and_nothing_where_it_has_neither():
    assert fill_price(attrs.evolve(LEG, price=None, trigger_price=D(102)), ()) == 102
    assert fill_price(attrs.evolve(LEG, price=None), ()) is None


def test_a_told_average_counts_and_a_missing_one_is_waited_for():
    assert leg_of(attrs.evolve(LEG, average_price=99.5), {}, busy=False).average == D("99.5")
    waits, stands_in = leg_of(LEG, {}, busy=False), leg_of(LEG, {}, busy=False, trades=())
    assert (waits.average, waits.price_untold) == (None, False)
    assert (stands_in.average, stands_in.price_untold) == (101, False)
    nothing = leg_of(attrs.evolve(LEG, price=None), {}, busy=False, trades=())
    assert (nothing.average, nothing.price_untold) == (None, True)


def test_an_exit_that_cannot_be_priced_says_so_until_the_price_is_told():
    exits = order(
        "root.each_fill", "SELL", FromFill(), FromParentFill(distance=D(2), order=ExitOrder.LIMIT), is_exit=True
    )
    run = Runner(order(quantity=10, each_fill=exits)).quote(100, 99.95, 100.05)
    run.book("A1", "complete")
    run.put(attrs.evolve(run.leg("A1"), average=None))
    run.legs = run.legs[:1]
    run.put(attrs.evolve(run.leg("A1"), price_untold=True))
    run.look()
    sentence = "alpha does not tell at which price the entry filled, so an exit that is measured from it waits"
    assert list(run.outcome.untold) == [sentence]
    run.put(attrs.evolve(run.leg("A1"), average=D(100), price_untold=False))
    run.look()
    assert not run.outcome.untold
    assert [leg.price for leg in run.legs[1:]] == [102]
