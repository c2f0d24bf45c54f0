"""The types that are sized by a position: their settings, their plans, and what they are refused for want of one (order-engine 3.9,
3.42, 3.44, 3.45)."""

from datetime import datetime, time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.intake.synthetic import defaults_of, settled
from onebroker.actors.engine.orders.part_state import Holding
from onebroker.actors.engine.plan.net_positions import Positions
from onebroker.actors.engine.plan.parts import (
    Direction,
    FromPosition,
    JointPnl,
    PriceAt,
    Since,
    TimeOfDay,
    TogetherPart,
)
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.instruments import future
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import FUTURE, SHARE, World, listed
from tests.support.type_bodies import I, order_of, refused

NSE = calendar_from_documents(exchange_documents())
CLOSE = {"type": "close_on_trigger", "trigger_price": 95}
REVERSE = {"type": "stop_and_reverse", "trigger_price": 95}
STRATEGY = {"type": "strategy_stop", "instrument_ids": [SHARE.instrument_id, FUTURE.instrument_id], "max_loss": 5000}
SQUARE = {"type": "square_off"}
ALL = (CLOSE, REVERSE, STRATEGY, SQUARE)
UNSIZED = {"quantity": None, "world": World()}


def says(settings, **changes):
    return refused({**settings, **changes}, **UNSIZED)


def plan(settings, **body):
    return order_of(settings, **{**UNSIZED, **body}).plan


def settle(settings, positions, **body):
    """The order once the positions are known; a Refusal comes out."""
    order = order_of(settings, **{**UNSIZED, **body})
    world = World()
    completed = PRESETS[order.routed_from].settle(
        order.preset, Body(defaults=defaults_of(order), world=world), positions
    )
    return settled(order, completed, world)


def nets(*rows, unread=()):
    return Positions(
        nets=tuple((Holding(code, of, product), units) for code, of, product, units in rows), unread=unread
    )


LONG, SHORT = ("alpha", "I", "intraday", 50), ("beta", "I", "intraday", -20)


@pytest.mark.parametrize("settings", ALL)
def test_the_quantity_may_be_left_out_and_is_then_the_position_s(settings):
    root = plan(settings)
    assert isinstance(root.quantity, FromPosition)
    assert (root.quantity.most, root.is_exit, root.known_exit) == (None, True, True)
    assert plan(settings, quantity=30).quantity.most == 30


@pytest.mark.parametrize("settings", ALL)
def test_what_a_size_and_price_of_the_position_s_own_leave_no_room_for_is_refused(settings):
    kind = settings["type"]
    assert refused({**settings, "stop_price": 3}, **UNSIZED) == f"a {kind} order takes no stop_price"
    reference = {"quantity_reference": {"kind": "liquidate_position"}}
    sentence = refused(settings, **UNSIZED, **reference)
    if kind in ("close_on_trigger", "stop_and_reverse"):
        assert sentence == f"a {kind} order takes no quantity_reference"
    else:
        assert sentence == f"a {kind} order takes no quantity_reference; give real numbers"
    assert says(settings, cancel_resting_first="yes") == "cancel_resting_first must be true or false"
    assert says(settings, buffer_ticks=-1) == "buffer_ticks must be a whole number of at least 0"


@pytest.mark.parametrize("settings", [CLOSE, REVERSE])
def test_a_trigger_is_a_price_with_a_direction_of_two(settings):
    assert says(settings, trigger_price=None) == "trigger_price is required"
    assert says(settings, trigger_price=95.01) == "trigger_price must be a whole number of ticks of 0.05"
    assert says(settings, trigger_direction="up") == "trigger_direction must be one of above, below"


def test_a_close_on_trigger_s_limit_is_a_price():
    assert says(CLOSE, limit_price=0) == "limit_price must be a number above zero"
    assert plan({**CLOSE, "limit_price": 94.5}).price == Fixed(D("94.5"))
    assert plan(CLOSE).price == Marketable(buffer_ticks=2, follow=True)
    assert says(REVERSE, limit_price=94) == "a stop_and_reverse order takes no limit_price"


def test_a_trigger_s_side_is_that_which_goes_against_the_position():
    for row, direction in ((LONG, Direction.BELOW), (SHORT, Direction.ABOVE)):
        for settings, ratio in ((CLOSE, 1), (REVERSE, 2)):
            order = settle(settings, nets(row))
            assert order.plan.when == PriceAt(instrument_id="I", level=D(95), direction=direction)
            assert (order.plan.quantity.ratio, order.plan.quantity.product) == (ratio, "intraday")
            assert order.parameters["trigger_direction"] == direction
    given = settle({**CLOSE, "trigger_direction": "above"}, nets(LONG))
    assert given.plan.when.direction is Direction.ABOVE
    with pytest.raises(Refusal, match="trigger_direction is required"):
        settle(CLOSE, nets(LONG, SHORT))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (CLOSE, "a close_on_trigger order found no open position in this instrument, so there is nothing to close"),
        (REVERSE, "a stop_and_reverse order found no open position in this instrument, so there is nothing to reverse"),
        ({**STRATEGY, "product": "intraday"},
         "a strategy_stop order found no open position in these instruments, so there is nothing to guard"),
    ],
)  # fmt: skip
def test_without_a_position_there_is_nothing_to_do_and_unknown_is_not_none(settings, sentence):
    others = (("alpha", "other", "intraday", 5), ("alpha", "I", "delivery", 5))
    with pytest.raises(Refusal) as refusal:
        settle(settings, nets(*others))
    assert (refusal.value.status, refusal.value.sentence) == (409, sentence)
    with pytest.raises(Refusal) as refusal:
        settle(settings, nets(*others, unread=("beta",)))
    assert (refusal.value.status, refusal.value.sentence) == (
        503, "the positions of beta could not be read, so nothing was sent",
    )  # fmt: skip


def test_a_delivery_position_is_not_reversed_but_a_short_one_or_an_intraday_one_is():
    held = ("alpha", "I", "delivery", 50)
    with pytest.raises(Refusal) as refusal:
        settle(REVERSE, nets(held), product="CNC")
    assert (refusal.value.status, refusal.value.sentence) == (409, "a delivery position cannot be reversed")
    assert settle(CLOSE, nets(held), product="CNC").plan.quantity.product == "delivery"
    assert settle(REVERSE, nets(LONG, held)).plan.quantity.product == "intraday"


def test_a_strategy_stop_is_given_its_instruments_and_a_limit():
    assert says(STRATEGY, instrument_ids=None) == "give either instrument_ids or every_instrument"
    assert says(STRATEGY, every_instrument=True) == "give either instrument_ids or every_instrument"
    assert says(STRATEGY, instrument_ids=["x"]) == "instrument_ids.0 must be a UUID"
    assert says(STRATEGY, max_loss=None) == "give max_loss, target_profit or give_back"
    for field in ("max_loss", "target_profit", "give_back"):
        assert says(STRATEGY, **{field: 0}) == f"{field} must be a number above zero"
    assert says(STRATEGY, since="ever") == "since must be one of placement, day"
    words = "delivery, intraday, carry, margin_trading, cover, bracket"
    assert says(STRATEGY, product="MIS") == f"product must be one of {words}"


def test_a_strategy_stop_closes_what_it_watches():
    root = plan({**STRATEGY, "give_back": 800, "since": "day", "product": "carry"})
    ids = (SHARE.instrument_id, FUTURE.instrument_id)
    assert root.when == JointPnl(
        instrument_ids=ids, every_instrument=False, product="carry", loss=D(5000), profit=None, give_back=D(800), since=Since.DAY,
    )  # fmt: skip
    assert root.quantity == FromPosition(product="carry", instrument_ids=ids)
    every = plan({**STRATEGY, "instrument_ids": None, "every_instrument": True})
    assert (every.when.every_instrument, every.quantity.every_instrument) == (True, True)


def at(hour, minute=0):
    return World(now=datetime(2026, 11, 23, hour, minute, tzinfo=IST), calendar=NSE)


DOLLAR = listed(future("nse", "currency_futures", "USDINR", datetime(2026, 11, 26).date()), tick=0.0025)  # noqa: DTZ001
GOLD = listed(future("mcx", "commodity_futures", "GOLD", datetime(2026, 12, 4).date()), tick=1.0)  # noqa: DTZ001


def test_a_square_off_s_default_time_is_its_calendar_s():
    assert plan(SQUARE, world=at(11)).when == TimeOfDay(time(15, 10))
    assert plan(SQUARE, instrument=attrs.evolve(DOLLAR, instrument_id="I"), world=at(11)).when == TimeOfDay(
        time(16, 40)
    )
    gold = plan(SQUARE, instrument=attrs.evolve(GOLD, instrument_id="I"), world=at(11)).when.at
    close = NSE.sessions("mcx", "commodity", datetime(2026, 11, 23).date())[-1].closes  # noqa: DTZ001
    assert (close.hour * 60 + close.minute) - (gold.hour * 60 + gold.minute) == 30


def test_a_square_off_s_time_lies_ahead_within_hours_or_is_now():
    early = {"quantity": None, "world": at(11)}
    assert refused({**SQUARE, "at_time": "10:59"}, **early) == "at_time has already passed today"
    assert refused({**SQUARE, "at_time": "15:31"}, **early) == "at_time must be within market hours"
    assert refused({**SQUARE, "at_time": "3 pm"}, **early) == "at_time must be a time of day such as 15:10"
    assert refused({**SQUARE, "at_time": "15:00", "now": True}, **early) == "give at_time or now, not both"
    assert refused({**SQUARE, "now": 1}, **early) == "now must be true or false"
    assert refused(SQUARE, quantity=None, world=at(15, 11)) == "at_time has already passed today"
    assert plan({**SQUARE, "now": True}, world=at(15, 11)).when is None


def test_a_square_off_has_a_part_for_each_product():
    root = plan({**SQUARE, "products": ["intraday", "Carry", "intraday"], "every_instrument": True})
    assert isinstance(root, TogetherPart)
    forms = [child.quantity for child in root.children]
    assert [(form.product, form.every_instrument, form.instrument_ids) for form in forms] == [
        ("intraday", True, ()), ("carry", True, ()),
    ]  # fmt: skip
    alone = plan({**SQUARE, "cancel_resting_first": False})
    assert alone.quantity == FromPosition(product="intraday", instrument_ids=("I",), cancel_resting_first=False)
    assert says(SQUARE, products=[]) == "products must be a list of 1 to 6 items"
    assert says(SQUARE, products=["MIS"]).startswith("products.0 must be one of delivery, intraday")
    both = {"instrument_ids": [SHARE.instrument_id], "every_instrument": True}
    assert says(SQUARE, **both) == "give instrument_ids or every_instrument, not both"
    unknown = "0b9f0d51-9e0e-4b34-9c1e-1f8f0d3b9a11"
    with pytest.raises(Refusal) as refusal:
        order_of({**SQUARE, "instrument_ids": [unknown]}, **UNSIZED)
    assert refusal.value.status == 404
    assert I.instrument_id == "I"
