"""What all order messages have in common: whole lots only, and no acceptance without an order id."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.codec.order_messages import broker_quantity, check_prices, not_refused, refused
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerRefusal, NotSendable, RefusalKind, WireResponse
from onebroker.config.vocabulary import OrderType, Outcome
from tests.support.every_case import every_case


def listing(contract_units):
    return Listing(broker_token="1", tradingsymbol="GOLDM", exchange="MCX", contract_units=contract_units)


@given(st.integers(0, 10_000), st.integers(1, 500))
def test_what_is_sent_is_a_whole_number_of_lots_worth_exactly_the_units(units, lot):
    if units % lot:
        with pytest.raises(NotSendable, match="not a whole number of lots"):
            broker_quantity(units, listing(lot))
    else:
        assert broker_quantity(units, listing(lot)) * lot == units


def test_nothing_is_sent_where_the_size_of_a_lot_is_not_known():
    with pytest.raises(NotSendable, match="GOLDM"):
        broker_quantity(10, listing(None))


@pytest.mark.parametrize(("surely", "outcome"), [(True, Outcome.REJECTED), (False, Outcome.UNKNOWN)])
def test_a_refusal_rejects_only_where_surely_nothing_went_in(surely, outcome):
    response = WireResponse(status=400, body=b'{"message":"no"}')
    answer = refused(BrokerRefusal(RefusalKind.REFUSED, "no"), response, surely=surely)
    assert (answer.outcome, answer.order_id, answer.status_message) == (outcome, None, "no")
    assert answer.broker_response == {"message": "no"}
    assert not answer.session_dead
    assert not answer.rate_limited


@every_case("kind", list(RefusalKind))
def test_a_dead_session_and_a_full_window_are_told_apart(kind):
    answer = refused(BrokerRefusal(kind, "no"), WireResponse(status=400), surely=True)
    assert answer.session_dead is (kind is RefusalKind.SESSION_DEAD)
    assert answer.rate_limited is (kind is RefusalKind.RATE_LIMITED)


def test_without_an_order_id_the_outcome_is_unknown_and_the_start_of_the_body_is_kept():
    response = WireResponse(status=200, body=b"<" + b"x" * 400)
    assert not_refused(None, response).outcome is Outcome.UNKNOWN
    assert not_refused(None, response).broker_response == "<" + "x" * 299
    accepted = not_refused("7", response)
    assert (accepted.outcome, accepted.order_id) == (Outcome.ACCEPTED, "7")


@every_case(
    "words",
    ["Request timed out", "Gateway Timeout", "connection time-out", "Your order is under process", "being processed",
     "Something went wrong, please try after sometime", "No response from OMS", "unable to confirm the order"],
)  # fmt: skip
def test_words_that_leave_open_what_became_of_the_order_are_no_rejection(words):
    answer = refused(BrokerRefusal(RefusalKind.REFUSED, words), WireResponse(status=400), surely=True)
    assert (answer.outcome, answer.status_message) == (Outcome.UNKNOWN, words)


def test_a_dead_session_and_the_rate_limit_are_sure_whatever_their_words():
    for kind in (RefusalKind.SESSION_DEAD, RefusalKind.RATE_LIMITED, RefusalKind.ADDRESS_NOT_REGISTERED):
        answer = refused(BrokerRefusal(kind, "session timed out"), WireResponse(status=401), surely=True)
        assert answer.outcome is Outcome.REJECTED


@pytest.mark.parametrize("gone", [None, Decimal(0)])
def test_a_limit_needs_its_price_and_a_stop_its_trigger(gone):
    some = Decimal("1.05")
    for order_type, price, trigger in (
        ("LIMIT", gone, some),
        ("SL", gone, some),
        ("SL", some, gone),
        ("SL-M", some, gone),
    ):
        with pytest.raises(NotSendable, match="needs a"):
            check_prices(OrderType(order_type), price, trigger)
    for order_type, price, trigger in (
        ("MARKET", gone, gone),
        ("LIMIT", some, gone),
        ("SL", some, some),
        ("SL-M", gone, some),
    ):
        check_prices(OrderType(order_type), price, trigger)
