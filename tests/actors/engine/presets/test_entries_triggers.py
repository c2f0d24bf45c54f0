"""Types that wait for a price, a time or the account, message by message, from the body a caller sends to the end (order-engine 3 and the
worked examples 6.8 and 6.13). Over the wire: `test_entries_day`."""

from datetime import datetime
from decimal import Decimal as D

import pytest

from onebroker.actors.engine.plan.market import AccountFigures
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from tests.actors.engine.plan.strategies import INDEX
from tests.actors.engine.plan.strategies import World as Known
from tests.actors.engine.plan.world import DAY, MORNING
from tests.actors.engine.plan.world import World as Quotes
from tests.support.typed import accepted, running, trade

HOUR = 3_600


# --- touched prices -------------------------------------------------------------------------------------------------------


def test_market_if_touched_waits_unseen_and_then_goes_to_the_market_for_thirty_seconds():
    run = trade("market_if_touched", trigger_price=95)
    run.quote(100, 99.95, 100.05)
    assert (run.sent(), run.state()) == ([], "waiting")
    run.at(60).quote(95, 94.90, 95.00)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 95.1 -> A1"]
    run.book("A1", filled=4, average=95)
    run.at(90)
    assert run.sent() == ["CANCEL A1"]
    run.book("A1", "cancelled")
    assert run.state() == "expired"


def test_a_touch_while_the_book_is_empty_waits_for_somebody_to_trade_with():
    run = trade("market_if_touched", transaction_type="SELL", trigger_price=105)
    run.quote(100, 99.95, 100.05)
    run.at(5).quote(105, offer=105.05)
    assert run.sent() == []
    run.at(6).quote(104, 103.95, 104.05)  # it has been touched: no way back
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 103.85 -> A1"]


def test_limit_if_touched_is_held_after_its_trigger_until_the_limit_is_reached():
    run = trade("limit_if_touched", trigger_price=95, limit_price=94)
    run.quote(100, 99.95, 100.05)
    assert run.state() == "waiting"
    run.at(5).quote(95, 94.95, 95.05)
    assert (run.sent(), run.state()) == ([], "held")
    run.at(6).quote(94.05, 93.95, 94.00)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 94 -> A1"]
    run.book("A1", "rejected", message="RMS: blocked")
    assert (run.state(), run.parts["root"].status_message) == ("rejected", "RMS: blocked")


def test_limit_if_touched_rests_at_once_where_nothing_is_held():
    run = trade("limit_if_touched", trigger_price=95, hold_limits=False)
    run.quote(100, 99.95, 100.05)
    run.at(5).quote(95, 94.95, 95.05)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]


def test_what_nothing_touched_expires_with_the_session():
    run = trade("limit_if_touched", trigger_price=95)
    run.quote(100, 99.95, 100.05)
    run.at(DAY.closes - MORNING - 1)
    assert run.state() == "waiting"
    run.at(DAY.closes - MORNING)
    assert (run.sent(), run.state()) == ([], "expired")


def test_a_caller_ends_and_changes_what_waits_without_a_message():
    run = trade("limit_if_touched", trigger_price=95)
    run.quote(100, 99.95, 100.05)
    run.modify_part("root", price=96)
    run.at(5).quote(95, 94.95, 95.05)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 96 -> A1"]
    other = trade("market_if_touched", trigger_price=95)
    other.quote(100, 99.95, 100.05).cancel_part("root")
    other.at(5).quote(94, 93.95, 94.05)
    assert (other.sent(), other.state()) == ([], "cancelled")


def test_cross_instrument_takes_its_direction_from_where_the_watched_one_stands():
    run = trade("cross_instrument", watch_instrument_id=INDEX.instrument_id, trigger_price=24_000, limit_price=102)
    run.quote(101, 100.95, 101.05)
    run.quote(24_100, of="N")
    assert run.parts["root"].directions == {"": "below"}
    run.at(5).quote(24_000.05, of="N")
    assert run.sent() == []
    run.at(6).quote(23_999, of="N")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 102 -> A1"]


def test_indicator_triggered_watches_a_field_of_the_quote():
    run = trade("indicator_triggered", watch_field="volume", trigger_price=5_000, limit_price=102)
    run.quote(101, 100.95, 101.05, volume=4_000)
    assert run.parts["root"].directions == {"": "above"}
    run.at(5).quote(101, 100.95, 101.05, volume=5_000)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 102 -> A1"]


def test_a_volume_that_passed_its_level_on_the_way_is_true_at_once():
    run = trade("indicator_triggered", watch_field="volume", trigger_price=5_000, limit_price=102)
    run.quote(101, 100.95, 101.05, volume=5_001)
    assert run.at(1).parts["root"].directions == {"": "above"}
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 102 -> A1"]


# --- gtt ------------------------------------------------------------------------------------------------------------------


def pair(**more):
    return trade(
        "gtt", transaction_type="SELL", product="CNC", limit=91.5, trigger_price=92, second_trigger_price=112, second_limit_price=112,
        **more,
    )  # fmt: skip


def test_a_gtt_pair_waits_over_days_and_its_winner_ends_the_other():
    run = pair()
    run.quote(100, 99.95, 100.05)
    assert [run.state(f"root.children.{n}") for n in (0, 1)] == ["waiting", "waiting"]
    run.at(86_400 + 20 * 60)
    assert (run.sent(), run.state()) == ([], "waiting")
    run.at(86_400 + 40 * 60).quote(112, 111.95, 112.05)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 112 -> A1"]
    assert [run.state(f"root.children.{n}") for n in (0, 1)] == ["cancelled", "working"]
    run.at(86_400 + 45 * 60).book("A1", "complete")
    assert run.state() == "completed"


def test_a_triggered_gtt_that_did_not_fill_expires_with_that_day_and_sends_nothing_on_the_next():
    run = pair()
    run.quote(100, 99.95, 100.05)
    run.at(86_400 + 40 * 60).quote(112, 111.95, 112.05)
    run.sent()
    run.at(86_400 + 6 * HOUR + 10 * 60).book("A1", "expired")
    run.at(2 * 86_400 + HOUR).quote(112, 111.95, 112.05)
    assert (run.sent(), run.state()) == ([], "expired")


def test_a_gtt_held_after_its_trigger_lives_to_that_day_s_close():
    run = trade("gtt", trigger_price=95, limit_price=90)
    run.quote(100, 99.95, 100.05)
    run.at(86_400 + HOUR).quote(95, 94.95, 95.05)
    assert (run.sent(), run.state()) == ([], "held")
    run.at(86_400 + DAY.closes - MORNING - 1)
    assert run.state() == "held"
    run.at(86_400 + DAY.closes - MORNING)
    run.quote(90, 89.95, 90.00)
    assert (run.sent(), run.state()) == ([], "expired")


@pytest.mark.parametrize("sent", [MORNING, MORNING - HOUR])  # in the session, before it
def test_a_gtt_waits_for_its_calendar_days(sent):
    world = Quotes()
    world.now = sent
    run = trade("gtt", world, trigger_price=95, valid_days=2, trigger_direction="below")
    run.look()
    run.at(2 * 86_400 + DAY.closes - sent - 1)
    assert run.state() == "waiting"
    run.at(2 * 86_400 + DAY.closes - sent)
    assert run.state() == "expired"


def test_a_single_gtt_fires_at_once_when_the_market_is_past_it():
    run = trade("gtt", trigger_price=105, trigger_direction="below", hold_limits=False)
    run.quote(100, 99.95, 100.05)
    assert run.sent() == []  # armed first
    run.at(0.05)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]


# --- times -----------------------------------------------------------------------------------------------------------------


def test_a_scheduled_order_goes_at_its_time():
    run = trade("scheduled", at_time="10:30", hold_limits=False)
    run.quote(100, 99.95, 100.05)
    run.at(70 * 60 - 1)
    assert (run.sent(), run.state()) == ([], "waiting")
    run.at(70 * 60)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]


def test_a_scheduled_limit_is_held_from_its_time_on():
    run = trade("scheduled", at_time="10:30")
    run.quote(99, 98.95, 99.05)
    run.at(70 * 60 - 1).quote(101, 100.95, 101.05)
    assert run.sent() == []
    run.at(70 * 60)
    assert (run.sent(), run.state()) == ([], "held")
    run.at(80 * 60).quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]


def auction(**more):
    """Sent on Wednesday at 10:00, for Thursday's auction."""
    now = datetime(2026, 11, 25, 10, 0, tzinfo=IST)
    known = Known(now=now, calendar=calendar_from_documents(exchange_documents()))
    order = accepted({"type": "opening_auction", **more}, quantity=10, world=known)
    world = Quotes()
    world.now = now.timestamp()
    return running(order, world)


OPENING = 23 * HOUR  # from Wednesday 10:00 to Thursday 09:00


def test_an_order_for_the_auction_lives_over_the_night_and_goes_in_the_pre_open():
    run = auction(at_time="09:05").look()
    run.at(OPENING + 299)
    assert (run.sent(), run.state()) == ([], "waiting")
    run.at(OPENING + 300)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.at(OPENING + 2 * HOUR)
    assert (run.sent(), run.state()) == ([], "working")  # kept: the exchange carries it on
    run.book("A1", "expired")
    assert run.state() == "expired"


def test_what_the_auction_left_is_cancelled_where_that_was_asked():
    run = auction(unfilled="cancel").look()
    run.at(OPENING)
    run.sent()
    run.book("A1", filled=4)
    run.at(OPENING + 15 * 60 + 4)
    assert run.sent() == []
    run.at(OPENING + 15 * 60 + 5)
    assert run.sent() == ["CANCEL A1"]
    run.book("A1", "cancelled")
    assert run.state() == "expired"


def test_what_the_auction_left_goes_to_the_market_where_that_was_asked():
    run = auction(unfilled="marketable").look()
    run.at(OPENING)
    run.sent()
    run.at(OPENING + 15 * 60 + 5).quote(101, 100.95, 101.05)
    assert run.sent() == ["MODIFY A1 price 101.15"]


def test_an_order_for_the_auction_that_nobody_could_send_in_time_expires():
    run = auction().look()
    run.world.now += OPENING + 301
    run.look()
    assert (run.sent(), run.state()) == ([], "expired")


# --- the account ---------------------------------------------------------------------------------------------------------


def figures(realized=0, unrealized=0, available=1_000, utilized=0):
    return AccountFigures(
        realized_pnl=D(realized), unrealized_pnl=D(unrealized), available_balance=D(available),
        total_balance=D(available + utilized), margin_utilized=D(utilized),
    )  # fmt: skip


def test_an_account_figure_sends_the_order_once():
    run = trade("account_conditional", watch_field="day_pnl", trigger_level=-500, hold_limits=False)
    run.world.figures = figures(100, -200)
    run.quote(100, 99.95, 100.05)
    assert (run.sent(), run.parts["root"].directions) == ([], {"": "below"})
    run.at(5)
    run.world.figures = None  # unreadable: waits
    run.at(6)
    assert (run.sent(), run.state()) == ([], "waiting")
    run.world.figures = figures(100, -600)
    run.at(7)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.book("A1", "complete")
    assert run.state() == "completed"


def test_a_figure_that_is_there_already_fires_on_the_look_after_arming():
    run = trade(
        "account_conditional",
        watch_field="margin_cushion_percent",
        trigger_level=40,
        trigger_direction="below",
        hold_limits=False,
    )
    run.world.figures = figures(available=300, utilized=700)
    run.look()
    assert (run.sent(), run.state()) == ([], "waiting")
    run.at(0.5)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
