"""Upstox' positions, holdings and funds; the expected values are read off the documentation."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.records import FundsRow, HoldingRow, PositionRow
from onebroker.brokers.requests import BrokerRefusal, RefusalKind, WireResponse
from onebroker.brokers.upstox import portfolio
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)


def test_a_carried_option_is_in_the_net_view_only(recorded):
    rows = portfolio.parse_positions([recorded("positions")], {})
    assert rows[0] == PositionRow(
        position_key="NSE_FO|52618:NRML", view="net", product="NRML", instrument_token="NSE_FO|52618",
        tradingsymbol="BANKNIFTY23OCT38000PE", exchange="NFO", quantity=15, overnight_quantity=15, buy_quantity=15,
        sell_quantity=0, buy_value=0.0, sell_value=0.0, average_price=4.65, last_price=4.5, close_price=4.65, realized=0.0,
        unrealized=-2.25,
    )  # fmt: skip
    assert [row.position_key for row in rows if row.view == "day"] == [
        "NSE_EQ|INE528G01035:MIS", "MCX_FO|570001:NRML",
    ]  # fmt: skip


def test_a_closed_position_has_no_average_price_and_its_result(recorded):
    net, day = [row for row in portfolio.parse_positions([recorded("positions")], {}) if row.tradingsymbol == "YESBANK"]
    assert (net.quantity, net.average_price, net.realized, net.buy_quantity, net.sell_quantity) == (
        0,
        None,
        -1.5,
        10,
        10,
    )
    assert (day.quantity, day.average_price, day.buy_value, day.sell_value) == (0, None, 171.5, 170.0)


def test_a_commodity_position_is_in_units_and_both_spellings_of_its_value_are_rupees(recorded):
    net, day = [
        row for row in portfolio.parse_positions([recorded("positions")], {}) if row.instrument_token == "MCX_FO|570001"
    ]
    assert (net.quantity, net.sell_quantity, net.multiplier, net.sell_value) == (-200, 200, 100.0, 1_050_400.0)
    # day_sell_value of the row is without the multiplier (2 x 5252), sell_value with it.
    assert (day.quantity, day.sell_value, day.average_price) == (-200, 1_050_400.0, 5252.0)


def test_a_commodity_position_without_its_multiplier_is_not_taken_for_units():
    legs = ("overnight", "overnight_buy", "overnight_sell", "day_buy", "day_sell")
    row = {"instrument_token": "MCX_FO|1", "trading_symbol": "X", "exchange": "MCX", "product": "D", "quantity": 1}
    row |= {f"{leg}_quantity": int(leg in ("overnight", "overnight_buy")) for leg in legs}
    body = msgspec.json.encode({"status": "success", "data": [row]})
    (net,) = portfolio.parse_positions([WireResponse(status=200, body=body)], {})
    assert (net.quantity, net.contracts) == (None, 1)


def test_pledged_units_are_part_of_the_settled_and_t1_is_beside_them(recorded):
    rows = portfolio.parse_holdings([recorded("holdings"), recorded("mtf_positions")])
    assert rows == [
        HoldingRow(
            instrument_token="NSE_EQ|INE528G01035", tradingsymbol="YESBANK", exchange="NSE", isin="INE528G01035",
            settled_quantity=36, average_price=18.75, last_price=17.05, close_price=17.05,
        ),
        HoldingRow(
            instrument_token="NSE_EQ|INE036A01016", tradingsymbol="RELINFRA", exchange="NSE", isin="INE036A01016",
            settled_quantity=9, t1_quantity=2, collateral_quantity=4, average_price=177.4, last_price=175.95,
            close_price=177.45,
        ),
        HoldingRow(
            instrument_token="NSE_EQ|INE036A01016", tradingsymbol="RELINFRA", exchange="NSE", isin="INE036A01016",
            settled_quantity=0, margin_quantity=20, margin_average_price=170.0, last_price=175.95, close_price=177.45,
        ),
    ]  # fmt: skip


def test_the_documented_funds_add_up(recorded):
    funds = portfolio.parse_funds([recorded("funds_v3")])
    assert funds == FundsRow(
        available_balance=5379.03, cash_balance=5117.34, collateral_value=263.49, margin_utilized=1.8, realized=0.0,
        unrealized=-0.0, span_margin=0.0, other_margin=1.8, pay_in_today=110.0, pay_out_today=130.0,
        uncleared_funds=0.0,
    )  # fmt: skip
    assert funds.cash_balance + funds.collateral_value - funds.margin_utilized == pytest.approx(funds.available_balance)


def test_a_tree_with_missing_branches_reports_nothing_rather_than_zero():
    answer = WireResponse(status=200, body=b'{"status":"success","data":{"available_to_trade":{"total":"1,000.5"}}}')
    assert portfolio.parse_funds([answer]) == FundsRow(available_balance=1000.5)


def test_closed_hours_of_the_funds_service_are_no_dead_session():
    body = b'{"status":"error","errors":[{"errorCode":"UDAPI100072","message":"The Funds service is accessible from 5:30 AM"}]}'
    with pytest.raises(BrokerRefusal) as refusal:
        portfolio.parse_funds([WireResponse(status=423, body=body)])
    assert refusal.value.kind is RefusalKind.UNAVAILABLE


def test_the_calls_are_those_of_the_documentation(access):
    urls = [
        request.url.removeprefix("https://api.upstox.com")
        for requests in (portfolio.position_requests, portfolio.holding_requests, portfolio.fund_requests)
        for request in requests(access, NOW)
    ]
    assert urls == [
        "/v2/portfolio/short-term-positions", "/v2/portfolio/long-term-holdings", "/v3/portfolio/mtf-positions",
        "/v3/user/get-funds-and-margin",
    ]  # fmt: skip
    assert next(portfolio.fund_requests(access, NOW)).headers["Api-Version"] == "3.0"
