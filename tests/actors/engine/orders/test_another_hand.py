"""Which numbers of a row are another hand's (order-engine 2.2, row 24b): a change that nobody made is worse than one that is seen late."""

from decimal import Decimal as D

import attrs
import msgspec
import pytest

from onebroker.actors.engine.orders.another_hand import AnotherHand, unexplained
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, LegState
from onebroker.actors.engine.orders.transitions import leg_changed_elsewhere, leg_modified, leg_seen
from onebroker.brokers.records import OrderRow

LEG = LegRecord(
    leg_id="p.0", part="entry", token="ob000000000000", broker="zerodha", segment="nse_equities", instrument_token="1",
    tradingsymbol="A", transaction_type="SELL", product="MIS", order_type="SL", validity="DAY", quantity=100,
    price=D("94.5"), trigger_price=D(95), session_day="2026-11-23", state=LegState.OPEN, order_id="1",
)  # fmt: skip
ROW = OrderRow(
    order_id="1", status="PENDING", transaction_type="SELL", product="MIS", order_type="SL", validity="DAY",
    instrument_token="1", tradingsymbol="A", exchange="NSE", quantity=100, price=94.5, trigger_price=95.0,
)  # fmt: skip


def row(**changes):
    return msgspec.structs.replace(ROW, **changes)


def hand(is_new=True):
    return AnotherHand(0.0, is_new=is_new)


def books(watch, leg, shown, *moments):
    return [watch.shown(leg, shown, moment) for moment in moments]


@pytest.mark.parametrize("changes", [{"quantity": 40}, {"price": 93.0}, {"trigger_price": 96.05, "price": 95.0}])
def test_the_second_whole_book_that_shows_it_decides(changes):
    first, second, third = books(hand(), LEG, row(**changes), 1.0, 2.0, 3.0)
    assert (first, second.by_another) == (None, True)
    assert {name: float(value) for name, value in second.change.given().items()} == changes
    assert third is None


def test_two_books_that_do_not_agree_decide_nothing():
    watch = hand()
    found = [watch.shown(LEG, row(quantity=quantity), at) for at, quantity in enumerate((40, 30, 40, 100, 40), 1)]
    assert found == [None] * 5


@pytest.mark.parametrize(
    "shown",
    [
        row(status="OPEN", order_type="LIMIT", trigger_price=0.0),  # it has fired
        row(status="OPEN", order_type="MARKET", price=0.0, trigger_price=0.0),
        row(price=94.504, trigger_price=94.996),  # written with fewer decimals
        row(quantity=4, contract_units=None),  # in lots, nobody knows how many units
        row(quantity=0),
        row(status="CANCELLED", quantity=40, price=1.0),
    ],
)
def test_how_brokers_write_an_order_is_no_change(shown):
    assert books(hand(), LEG, shown, 1.0, 2.0, 30.0) == [None] * 3


@pytest.mark.parametrize(("order_type", "price"), [("MARKET", None), ("SL-M", None)])
def test_the_price_that_a_broker_puts_beside_a_protected_order_is_no_change(order_type, price):
    leg = attrs.evolve(LEG, order_type=order_type, price=price, trigger_price=None)
    assert unexplained(leg, row(order_type="LIMIT", price=92.15)) == LegChange()


@pytest.mark.parametrize(
    "leg",
    [
        attrs.evolve(LEG, wanted=LegChange(quantity=50)),
        attrs.evolve(LEG, state=LegState.CANCELLING),
        attrs.evolve(LEG, cancel_accepted=True),
        attrs.evolve(LEG, filled_quantity=10),
        attrs.evolve(LEG, found_by_token=True),
    ],
)
def test_a_row_says_nothing_while_a_message_is_open_or_when_it_is_older_than_the_fills(leg):
    assert books(hand(), leg, row(quantity=40), 1.0, 2.0) == [None, None]


def test_only_books_that_began_after_the_last_answer_count():
    watch = hand()
    watch.answered("p.0", 5.0)
    first, second, third = books(watch, LEG, row(quantity=40), 4.0, 6.0, 7.0)
    assert (first, second) == (None, None)
    assert third is not None


def moved(watch):
    """The engine has moved the stop from 95 to 96, and the broker has accepted that."""
    change = LegChange(trigger_price=D(96), price=D("95.5"))
    watch.asked(LEG, change)
    watch.answered("p.0", 10.0)
    return leg_modified(LEG, change, 0.0)


def test_an_old_row_after_a_change_of_ours_is_no_other_hand():
    watch = hand()
    leg = moved(watch)
    assert books(watch, leg, ROW, 10.5, 12.0, 19.0) == [None] * 3
    assert watch.shown(leg, row(trigger_price=96.0, price=95.5), 21.0) is None


def test_a_change_that_the_broker_accepted_and_did_not_keep_is_nobodys():
    watch = hand()
    leg = moved(watch)
    first, second = books(watch, leg, ROW, 21.0, 22.0)
    assert (first, second.by_another) == (None, False)
    after = leg_changed_elsewhere(leg, second.change, 1.0, by_another=False)
    assert (after.trigger_price, after.price, after.taken_off) == (D(95), D("94.5"), 0)


def test_a_holder_who_puts_an_order_back_where_it_was_is_seen_once_our_change_was_shown():
    watch = hand()
    leg = moved(watch)
    assert watch.shown(leg, row(trigger_price=96.0, price=95.5), 11.0) is None
    first, second = books(watch, leg, ROW, 21.0, 22.0)
    assert (first, second.by_another) == (None, True)


def test_a_change_that_was_refused_may_be_shown_for_a_moment():
    """Some brokers show the asked numbers until the exchange has refused them."""
    watch = hand()
    watch.asked(LEG, LegChange(quantity=60))
    watch.answered("p.0", 10.0)
    assert books(watch, LEG, row(quantity=60), 11.0, 12.0) == [None, None]


def test_after_a_restart_any_number_may_be_an_old_one():
    watch = hand(is_new=False)
    assert books(watch, LEG, row(quantity=30), 2.0, 4.0) == [None, None]
    first, second = books(watch, LEG, row(quantity=30), 10.0, 11.0)
    assert (first, second.by_another) == (None, True)


def test_the_order_is_not_moved_while_one_book_shows_other_numbers():
    watch = hand()
    watch.shown(LEG, row(trigger_price=96.0), 1.0)
    assert (watch.is_doubted("p.0", 2.0), watch.is_doubted("p.0", 60.0)) == (True, False)
    watch.shown(LEG, ROW, 3.0)
    assert not watch.is_doubted("p.0", 4.0)


# --- the leg ---------------------------------------------------------------------------------------------------------------


def test_units_that_another_hand_took_off_and_added_are_counted_in_the_leg():
    smaller = leg_changed_elsewhere(LEG, LegChange(quantity=40), 1.0, by_another=True)
    assert (smaller.quantity, smaller.taken_off) == (40, 60)
    larger = leg_changed_elsewhere(smaller, LegChange(quantity=120), 2.0, by_another=True)
    assert (larger.quantity, larger.taken_off) == (120, -20)


@pytest.mark.parametrize(("given_back", "taken_off"), [(True, 30), (False, 60)])
def test_a_caller_or_an_exit_gives_units_back_that_were_taken_off(given_back, taken_off):
    smaller = leg_changed_elsewhere(LEG, LegChange(quantity=40), 1.0, by_another=True)
    assert leg_modified(smaller, LegChange(quantity=70), 2.0, given_back=given_back).taken_off == taken_off


def test_a_living_order_has_its_own_numbers_until_two_books_agree():
    assert leg_seen(LEG, row(quantity=40), 1.0, confirmed=False).quantity == 100


@pytest.mark.parametrize(("reason", "taken_off"), [(None, 60), ("replace", 0)])
def test_an_order_that_ends_with_a_smaller_total_has_lost_the_rest_to_another_hand(reason, taken_off):
    leg = attrs.evolve(LEG, cancel_reason=reason)
    seen = leg_seen(leg, row(status="COMPLETE", quantity=40, filled_quantity=40), 1.0, confirmed=True)
    assert (seen.state, seen.quantity, seen.taken_off) == (LegState.COMPLETE, 40, taken_off)


def test_an_order_that_ends_with_the_total_that_was_asked_for_has_lost_nothing():
    leg = attrs.evolve(LEG, wanted=LegChange(quantity=40))
    seen = leg_seen(leg, row(status="COMPLETE", quantity=40, filled_quantity=40), 1.0, confirmed=True)
    assert (seen.quantity, seen.taken_off) == (40, 0)
