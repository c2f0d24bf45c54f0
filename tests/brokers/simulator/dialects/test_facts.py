"""The facts of a position, worked out by hand."""

from decimal import Decimal

import pytest

from onebroker.brokers.simulator.dialects.facts import depth_rows, in_lots, percent, position_facts, rupees
from onebroker.brokers.simulator.world.model import Level, SimPosition
from onebroker.config.vocabulary import Product


@pytest.fixture
def market(floor):
    return floor.account().market(floor.contract().instrument_id)


def position(carried=0, price="0", bought=(0, "0"), sold=(0, "0")):
    return SimPosition(
        instrument_id="x", product=Product.NRML, overnight_quantity=carried, overnight_price=Decimal(price),
        day_buy_quantity=bought[0], day_buy_value=Decimal(bought[1]), day_sell_quantity=sold[0],
        day_sell_value=Decimal(sold[1]),
    )  # fmt: skip


def test_a_long_position_that_is_partly_sold(market):
    facts = position_facts(position(10, "100", bought=(5, "650"), sold=(6, "720")), market)
    assert (facts.bought.quantity, facts.bought.value, facts.sold.quantity) == (15, 1650, 6)
    assert (facts.quantity, facts.held_price, facts.value) == (9, 110, -930)
    assert facts.realized == (120 - 110) * 6
    assert facts.unrealized == (market.last_price - 110) * 9
    assert facts.total_gain == facts.realized + facts.unrealized


def test_a_carried_short_position_counts_as_sold(market):
    facts = position_facts(position(-10, "100", bought=(4, "360")), market)
    assert (facts.carried, facts.carried_sell.quantity, facts.carried_buy.quantity) == (-10, 10, 0)
    assert (facts.quantity, facts.held_price, facts.realized) == (-6, 100, 40)


def test_a_closed_position_has_no_held_price_and_its_zeros_have_no_sign(market):
    facts = position_facts(position(bought=(5, "500"), sold=(5, "600")), market)
    assert (facts.quantity, facts.held_price, facts.realized) == (0, 0, 100)
    assert str(rupees(facts.unrealized)) == "0.0"
    assert str(rupees(position_facts(position(bought=(5, "500")), market).realized)) == "0.0"


def test_averages_are_rounded_to_four_places_or_exact(market):
    thirds = position(bought=(3, "100"))
    assert position_facts(thirds, market).bought.average == Decimal("33.3333")
    assert position_facts(thirds, market, places=None).bought.average == Decimal(100) / 3


def test_the_carried_leg_may_count_at_another_price_or_not_at_all(market):
    carried = position(10, "100", bought=(1, "90"))
    assert position_facts(carried, market, carried_price=Decimal(95)).bought.value == 1040
    assert position_facts(carried, market, with_carried=False).bought.quantity == 1


def test_small_sums():
    assert [in_lots(units, 50) for units in (100, 99, -99, -100)] == [2, 1, -1, -2]
    assert percent(Decimal(1), Decimal(3)) == Decimal("33.3333")
    assert percent(Decimal(1), Decimal(0)) == 0


def test_a_depth_has_five_rows():
    levels = [Level(Decimal(price), 1, 1) for price in range(1, 8)]
    assert [row["p"] for row in depth_rows(levels, lambda level: {"p": level.price}, {"p": 0})] == [1, 2, 3, 4, 5]
    assert [row["p"] for row in depth_rows(levels[:2], lambda level: {"p": level.price}, {"p": 0})] == [1, 2, 0, 0, 0]
