"""Which order is a leg of unknown outcome, told by what it is (order-engine 2.4), and tokens that a broker cut short."""

from datetime import datetime
from decimal import Decimal as D

import attrs

from onebroker.actors.engine.orders.fingerprints import Doubt, match
from onebroker.actors.engine.orders.leg_tokens import leg_token
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord, ParentState
from onebroker.brokers.records import OrderRow
from onebroker.config.clock import IST
from tests.support.every_case import every_case

SENT = datetime(2026, 11, 23, 10, 0, 30, tzinfo=IST)
NOW = SENT.timestamp() + 40
LEG = LegRecord(
    leg_id="p.0", part="entry", token=leg_token("i", "entry", 0), broker="icicidirect", segment="nse_equities",
    instrument_token="1", tradingsymbol="A", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
    quantity=10, price=D("100.5"), trigger_price=None, session_day="2026-11-23", state=LegState.UNKNOWN,
    sent_at=SENT.timestamp(),
)  # fmt: skip
PARENT = ParentRecord(
    parent_order_id="p", synthetic_type="simple", routed_from=None, state=ParentState.WORKING, instrument_id="i",
    intent_id="i", created_at=0, updated_at=0, deadline=5, body={}, parameters={}, tag=None, legs=(LEG,),
)  # fmt: skip


def row(order_id="1", at="10:00:31", **more):
    fields = {
        "status": "OPEN", "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT", "validity": "DAY",
        "instrument_token": "1", "tradingsymbol": "A", "exchange": "NSE", "quantity": 10, "price": 100.5,
        "order_timestamp": at and f"2026-11-23T{at}+05:30", **more,
    }  # fmt: skip
    return OrderRow(order_id=order_id, **fields)


def found(*rows, legs=(LEG,), leg=LEG, seconds=1):
    answer = match(leg, legs, rows, NOW, seconds)
    return answer.order_id if isinstance(answer, OrderRow) else answer


def later(seconds, **more):
    return attrs.evolve(LEG, leg_id="q.0", sent_at=LEG.sent_at + seconds, **more)


def test_the_one_order_that_is_such_is_the_legs():
    assert found(row()) == "1"
    assert found() is None


@every_case(
    "other",
    [
        {"instrument_token": "2"}, {"transaction_type": "SELL"}, {"product": "MIS"}, {"quantity": 11}, {"price": 100.55},
        {"order_type": "SL", "trigger_price": 100.0}, {"trigger_price": 100.0}, {"at": "10:00:27"},
    ],
)  # fmt: skip
def test_an_order_that_differs_in_anything_is_not(other):
    assert found(row(**other)) is None


def test_of_a_market_order_type_and_price_say_nothing():
    market = attrs.evolve(LEG, order_type="MARKET", price=None)
    assert found(row(), leg=market, legs=(market,)) == "1"
    assert found(row(quantity=11), leg=market, legs=(market,)) is None


def test_two_seconds_earlier_is_another_clock_and_times_are_cut_as_the_broker_cuts_them():
    assert found(row(at="10:00:28")) == "1"
    assert found(row(at="10:00:00"), seconds=60) == "1"
    assert found(row(at="09:59:00"), seconds=60) is None


def test_a_second_such_order_is_one_too_many_and_so_is_one_without_a_time():
    assert found(row(), row("2")) is Doubt.TOO_MANY
    assert found(row(at=None)) is Doubt.TOO_MANY


def test_legs_alike_share_them_in_order_of_time():
    second = later(5)
    rows = (row("9", "10:00:31"), row("3", "10:00:36"))
    assert found(*rows, legs=(second, LEG)) == "9"
    assert found(*rows, legs=(second, LEG), leg=second) == "3"
    assert found(*rows, row("4", "10:00:37"), legs=(second, LEG)) is Doubt.TOO_MANY


def test_an_order_goes_to_no_leg_that_was_sent_after_it():
    second = later(10)
    assert found(row(), legs=(second, LEG)) == "1"
    assert found(row(), legs=(second, LEG), leg=second) is None


def test_while_a_leg_alike_is_being_answered_nothing_is_decided():
    under_way = later(39, state=LegState.SENDING)
    assert found(row(), legs=(LEG, under_way)) is Doubt.LATER
    assert found(row(), legs=(LEG, attrs.evolve(under_way, sent_at=LEG.sent_at))) == "1"
    assert found(row(), legs=(LEG, attrs.evolve(under_way, broker="dhan"))) == "1"


# --- tokens that were cut short -------------------------------------------------------------------------------------------


def index(*legs):
    legs_index = Legs(lambda: "2026-11-23")
    legs_index.begin_day("2026-11-23")
    for leg in legs:
        legs_index.note(PARENT, leg)
    return legs_index


def test_a_cut_token_counts_when_one_unsettled_leg_begins_so():
    legs = index(LEG)
    assert legs.begins_one("icicidirect", LEG.token[:10].upper()) == LEG.token
    assert legs.begins_one("dhan", LEG.token[:10]) is None
    assert legs.begins_one("icicidirect", LEG.token[:7]) is None, "so short a beginning is anybody's"
    twin = attrs.evolve(LEG, leg_id="q.0", token=LEG.token[:12] + "zz")
    assert index(LEG, twin).begins_one("icicidirect", LEG.token[:10]) is None
    assert index(attrs.evolve(LEG, state=LegState.OPEN)).begins_one("icicidirect", LEG.token[:10]) is None
