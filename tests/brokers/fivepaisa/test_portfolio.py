"""Positions, holdings and funds, by the documented rows."""

import msgspec
import pytest

from onebroker.brokers.fivepaisa import portfolio
from onebroker.brokers.requests import BadAnswer


@pytest.fixture
def rows(recorded, listings):
    found = portfolio.parse_positions([recorded("positions")], listings)
    return {(row.view, row.instrument_token): row for row in found}


def test_a_carried_position_keeps_the_price_it_was_carried_at(rows):
    net = rows["net", "N:D:50904"]
    assert (net.quantity, net.overnight_quantity, net.product) == (-75, -75, "NRML")
    assert (net.sell_quantity, net.sell_value, net.average_price) == (75, 7537.5, 100.5)
    assert (net.buy_quantity, net.last_price, net.close_price, net.unrealized) == (0, 90.0, 95.0, 787.5)
    assert ("day", "N:D:50904") not in rows, "nothing was traded today"


def test_carried_and_todays_legs_are_added_in_net_and_apart_in_day(rows):
    net, day = rows["net", "N:D:51000"], rows["day", "N:D:51000"]
    assert (net.quantity, net.overnight_quantity, net.buy_quantity, net.sell_quantity) == (130, 100, 150, 20)
    assert (net.buy_value, net.sell_value) == (60500.0, 8100.0)
    assert net.average_price == pytest.approx(60500 / 150)
    assert (day.quantity, day.buy_quantity, day.sell_quantity) == (30, 50, 20)
    assert (day.buy_value, day.average_price, day.overnight_quantity) == (20500.0, 410.0, 0)
    assert (net.realized, day.realized) == (25.0, None)


def test_contracts_are_units_and_their_values_rupees_whether_or_not_the_size_is_in_them(rows, recorded, enveloped):
    net = rows["net", "N:U:7001"]
    assert (net.quantity, net.multiplier, net.average_price, net.product) == (3000, 1000.0, 83.25, "MIS")
    assert net.buy_value == pytest.approx(249_750)
    body = msgspec.json.decode(recorded("positions").body)["body"]
    body["NetPositionDetail"] = [row | {"BuyValue": 249_750} for row in body["NetPositionDetail"][2:3]]
    assert portfolio.parse_positions([enveloped(body)], {})[0].buy_value == pytest.approx(249_750)


def test_a_closed_position_stays_with_its_result_and_no_average(rows):
    net = rows["net", "N:C:1660"]
    assert (net.quantity, net.average_price, net.realized) == (0, None, -12.5)
    assert (net.buy_value, net.sell_value) == (4342.0, 4329.5)


def test_buy_and_sell_that_hold_the_carried_leg_already_are_not_added_twice(enveloped):
    row = {
        "BODPositionPrice": 400, "BodQty": 100, "BuyAvgRate": 403.33, "BuyQty": 150, "BuyValue": 60500, "Exch": "N",
        "ExchType": "D", "NetQty": 130, "OrderFor": "D", "ScripCode": 1, "ScripName": "X", "SellAvgRate": 405, "SellQty": 20,
        "SellValue": 8100, "Multiplier": 1,
    }  # fmt: skip
    net, day = portfolio.parse_positions([enveloped({"Status": 0, "NetPositionDetail": [row]})], {})
    assert (net.buy_quantity, net.buy_value, net.average_price) == (150, 60500.0, 403.33)
    assert (day.buy_quantity, day.sell_quantity, day.quantity, day.buy_value) == (50, 20, 30, None)


def test_a_missing_carry_price_is_no_average(enveloped):
    row = {
        "BodQty": 5,
        "BuyQty": 0,
        "SellQty": 0,
        "NetQty": 5,
        "Exch": "N",
        "ExchType": "D",
        "ScripCode": 1,
        "ScripName": "X",
        "OrderFor": "D",
        "LTP": 9,
    }
    (net,) = portfolio.parse_positions([enveloped({"Status": 0, "NetPositionDetail": [row]})], {})
    assert (net.quantity, net.average_price, net.buy_value) == (5, None, None)


def test_contracts_of_unknown_size_are_not_taken_for_units(enveloped, listings):
    row = {
        "BodQty": 0,
        "BuyQty": 1,
        "SellQty": 0,
        "NetQty": 1,
        "Exch": "M",
        "ExchType": "D",
        "ScripCode": 8001,
        "ScripName": "X",
        "OrderFor": "D",
        "Multiplier": 1,
    }
    unknown, _ = portfolio.parse_positions([enveloped({"Status": 0, "NetPositionDetail": [row]})], listings)
    assert (unknown.quantity, unknown.contracts) == (None, 1)
    known = row | {"ScripCode": 8002}
    net, _ = portfolio.parse_positions([enveloped({"Status": 0, "NetPositionDetail": [known]})], listings)
    assert net.quantity == 100


def test_holdings_tell_settled_pool_and_margin_units_apart(recorded):
    both, only = portfolio.parse_holdings([recorded("holdings")])
    assert (both.instrument_token, both.tradingsymbol, both.isin) == ("N:C:1660", "ITC", None)
    assert (both.settled_quantity, both.t1_quantity, both.margin_quantity, both.collateral_quantity) == (90, 10, 0, 0)
    assert (both.average_price, both.last_price) == (360.65, 434.5)
    assert (only.instrument_token, only.settled_quantity, only.margin_quantity) == ("B:C:539807", 5, 7)
    assert only.average_price is None


def test_a_holding_without_codes_is_a_bad_answer(enveloped):
    with pytest.raises(BadAnswer):
        portfolio.parse_holdings([enveloped({"Status": 0, "Data": [{"Symbol": "X", "Quantity": 1}]})])


def test_funds_are_one_pool_in_rupees(recorded):
    funds = portfolio.parse_funds([recorded("margin")])
    assert (funds.available_balance, funds.cash_balance, funds.margin_utilized) == (70000.75, 100000.0, 60000.0)
    assert (funds.collateral_value, funds.adhoc_credit) == (30000.75, 500.0)
    assert (funds.span_margin, funds.exposure_margin, funds.other_margin) == (540000.25, None, 1234.5)
    assert (funds.pay_in_today, funds.pay_out_today, funds.uncleared_funds) == (1000.0, 250.0, 77.0)
    assert (funds.realized, funds.unrealized, dict(funds.segments), dict(funds.pools)) == (None, None, {}, {})


@pytest.mark.parametrize("margin", [None, [], {}])
def test_funds_without_a_row_are_a_bad_answer(enveloped, margin):
    with pytest.raises(BadAnswer):
        portfolio.parse_funds([enveloped({"Status": 0, "EquityMargin": margin})])
