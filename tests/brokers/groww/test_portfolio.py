"""Positions, holdings and funds, and what is decided from a row's own figures."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.groww import portfolio
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)


def positions(*rows):
    body = msgspec.json.encode({"status": "SUCCESS", "payload": {"positions": rows}})
    return portfolio.parse_positions([WireResponse(status=200, body=body)], {})


def position(**figures):
    named = {"trading_symbol": "X", "segment": "FNO", "exchange": "NSE", "product": "NRML"}
    legs = ("credit", "debit", "carry_forward_credit", "carry_forward_debit")
    return {**named, **{f"{leg}_quantity": 0 for leg in legs}, **figures}


def test_positions_have_carried_and_todays_legs_and_no_last_price(recorded):
    rows = portfolio.parse_positions([recorded("positions")], {})
    future, share = (row for row in rows if row.view == "net")
    assert (future.quantity, future.overnight_quantity, future.buy_quantity, future.sell_quantity) == (225, 150, 225, 0)
    assert (future.buy_value, future.average_price) == (75 * 24100.5 + 150 * 24000, 24033.5)
    assert (future.instrument_token, future.product, future.last_price) == ("NSE:FNO:NIFTY26NOVFUT", "NRML", None)
    assert (share.quantity, share.average_price, share.realized) == (0, None, 100.0)
    today, closed = (row for row in rows if row.view == "day")
    assert (today.quantity, today.buy_value, today.average_price) == (75, 75 * 24100.5, 24100.5)
    assert (closed.quantity, closed.buy_quantity, closed.sell_value) == (0, 10, 14100.0)


def test_a_short_position_is_negative_whether_its_quantity_has_the_sign_or_not():
    for quantity in (-75, 75):
        net, day = positions(position(debit_quantity=75, debit_price=100, quantity=quantity, net_price=100))
        assert (net.quantity, net.average_price) == (-75, 100.0)
        assert (day.quantity, day.sell_quantity, day.average_price) == (-75, 75, 100.0)


def test_legs_that_hold_the_carried_ones_are_told_by_the_net_quantity():
    net, day = positions(
        position(
            credit_quantity=225,
            credit_price=24033.5,
            quantity=225,
            carry_forward_credit_quantity=150,
            net_price=24033.5,
        )
    )
    assert (net.quantity, net.overnight_quantity, net.buy_quantity, net.buy_value) == (225, 150, 225, 225 * 24033.5)
    assert (day.quantity, day.buy_value, day.average_price) == (75, None, None)


def test_a_position_whose_quantities_do_not_add_up_is_unreadable():
    with pytest.raises(BadAnswer, match="do not add up"):
        positions(position(credit_quantity=10, quantity=3))


def test_a_missing_average_stays_missing():
    net, _ = positions(position(credit_quantity=10, credit_price=5, quantity=10, net_price=0))
    assert net.average_price is None


def test_a_carried_row_has_no_day_row():
    rows = positions(position(carry_forward_debit_quantity=50, carry_forward_debit_price=9, quantity=-50, net_price=9))
    assert [(row.view, row.quantity, row.sell_value) for row in rows] == [("net", -50, 450.0)]


def test_holdings_hold_pledged_units_and_t1_units_once(recorded):
    beside, inside = portfolio.parse_holdings([recorded("holdings")])
    assert (beside.settled_quantity, beside.t1_quantity, beside.collateral_quantity) == (33, 5, 10)
    assert (beside.instrument_token, beside.isin, beside.average_price) == ("NSE:CASH:RELIANCE", "INE002A01018", 1200.5)
    assert (inside.settled_quantity, inside.t1_quantity) == (10, 5)
    assert (inside.instrument_token, inside.average_price, inside.last_price) == ("BSE:CASH:INFY", None, None)


def test_funds_are_the_documents_sample(recorded):
    funds = portfolio.parse_funds([recorded("funds")])
    assert (funds.available_balance, funds.cash_balance, funds.margin_utilized) == (94.41, 96.21, 1.8)
    assert (funds.collateral_value, funds.adhoc_credit, funds.pools) == (0.0, 0.0, {})
    assert funds.segments["equity"].margin_utilized == 1.8  # negative on the wire
    assert (funds.realized, funds.unrealized, funds.pay_in_today) == (None, None, None)


def test_the_smallest_balance_of_a_segment_counts_and_what_is_missing_is_none():
    def funds(payload):
        body = msgspec.json.encode({"status": "SUCCESS", "payload": payload})
        return portfolio.parse_funds([WireResponse(status=200, body=body)])

    both = funds(
        {
            "equity_margin_details": {"cnc_balance_available": 50, "mis_balance_available": 80},
            "fno_margin_details": {"future_balance_available": 70, "option_buy_balance_available": 60},
        }
    )
    assert (both.available_balance, both.segments["derivatives"].available_balance) == (50.0, 60.0)
    bare = funds({})
    assert (bare.available_balance, bare.cash_balance, bare.margin_utilized) == (None, None, None)


@pytest.mark.parametrize(
    ("requests", "path"),
    [
        (portfolio.position_requests, "/positions/user"),
        (portfolio.holding_requests, "/holdings/user"),
        (portfolio.fund_requests, "/margins/detail/user"),
    ],
)
def test_each_is_one_call(access, requests, path):
    (request,) = list(requests(access, NOW))
    assert request.url == f"https://api.groww.in/v1{path}"


@pytest.mark.parametrize("parse", [lambda answers: portfolio.parse_positions(answers, {}), portfolio.parse_holdings])
def test_a_success_without_its_list_is_no_empty_portfolio(parse):
    with pytest.raises(BadAnswer):
        parse([WireResponse(status=200, body=b'{"status":"SUCCESS","payload":{}}')])


@pytest.mark.parametrize("quantity", [5, -5])
def test_a_quantity_with_its_sign_says_which_legs_it_is_made_of(quantity):
    """Five sold beside ten carried leave five; five sold of which ten were bought before are five short."""
    net, *_ = positions(position(debit_quantity=5, carry_forward_credit_quantity=10, quantity=quantity))
    assert net.quantity == quantity


def test_a_leg_without_a_price_has_no_value():
    net, day = positions(position(credit_quantity=5, quantity=5))
    assert (net.buy_value, day.buy_value) == (None, None)
    assert (net.sell_value, day.sell_value) == (0.0, 0.0)
