"""Dhan's positions, holdings and funds, by reading its documentation."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.dhan import portfolio
from onebroker.brokers.records import FundsRow, HoldingRow, Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, WireResponse
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)
SHARE = {
    "tradingSymbol": "TCS", "securityId": "11536", "positionType": "LONG", "exchangeSegment": "NSE_EQ",
    "productType": "CNC", "buyAvg": 3345.8, "costPrice": 3345.8, "buyQty": 40, "sellAvg": 3350.0, "sellQty": 10,
    "netQty": 30, "realizedProfit": 42.0, "unrealizedProfit": 6122.0, "rbiReferenceRate": 1.0, "multiplier": 1,
    "carryForwardBuyQty": 0, "carryForwardSellQty": 0, "carryForwardBuyValue": 0.0, "carryForwardSellValue": 0.0,
    "dayBuyQty": 40, "daySellQty": 10, "dayBuyValue": 133832.0, "daySellValue": 33500.0,
    "drvExpiryDate": "0001-01-01", "drvOptionType": None, "drvStrikePrice": 0.0, "crossCurrency": False,
}  # fmt: skip
CRUDE = {
    **SHARE, "tradingSymbol": "CRUDEOIL", "securityId": "569900", "positionType": "SHORT", "exchangeSegment": "MCX_COMM",
    "productType": "MARGIN", "buyAvg": 5250.0, "buyQty": 1, "sellAvg": 5300.0, "sellQty": 3, "netQty": -2, "costPrice": 0.0,
    "multiplier": 100, "carryForwardSellQty": 2, "carryForwardSellValue": 10600.0, "dayBuyQty": 1, "daySellQty": 1,
    "dayBuyValue": 5250.0, "daySellValue": 5300.0,
}  # fmt: skip


@pytest.fixture
def read(template):
    def positions(base, listings=None, **changes):
        body = msgspec.json.encode([template("get_positions", **{**base, **changes})])
        return portfolio.parse_positions([WireResponse(status=200, body=body)], listings or {})

    return positions


def respond(body):
    return [WireResponse(status=200, body=body if isinstance(body, bytes) else msgspec.json.encode(body))]


def test_a_position_of_today_is_in_both_views(read):
    net, day = read(SHARE)
    assert (net.view, net.product, net.instrument_token, net.exchange) == ("net", "CNC", "NSE_EQ:11536", "NSE_EQ")
    assert (net.quantity, net.overnight_quantity, net.buy_quantity, net.sell_quantity) == (30, 0, 40, 10)
    assert (net.buy_value, net.sell_value, net.average_price) == (133832.0, 33500.0, 3345.8)
    assert (net.realized, net.unrealized, net.last_price) == (42.0, 6122.0, None)
    assert (day.view, day.quantity, day.average_price) == ("day", 30, 3345.8)
    assert net.position_key == day.position_key == "NSE_EQ:11536:CNC"


def test_a_carried_position_is_in_the_net_view_only(read):
    changes = {
        "carryForwardBuyQty": 40, "carryForwardBuyValue": 120000.0, "dayBuyQty": 0, "dayBuyValue": 0.0, "daySellQty": 0,
        "daySellValue": 0.0, "sellQty": 0, "netQty": 40, "buyAvg": 3000.0, "costPrice": 2800.0,
    }  # fmt: skip
    (net,) = read(SHARE, **changes)
    assert (net.quantity, net.overnight_quantity, net.buy_value) == (40, 40, 120000.0)
    # buyAvg is marked to market: what was carried in did not cost that (lesson 11).
    assert net.average_price == 2800.0
    (net,) = read(SHARE, **changes | {"costPrice": 0.0})
    assert net.average_price is None


@pytest.mark.parametrize("factor", [1, 100])
def test_a_short_position_in_lots_is_read_in_units_whether_or_not_its_values_have_the_multiplier(read, factor):
    values = {name: CRUDE[name] * factor for name in ("carryForwardSellValue", "dayBuyValue", "daySellValue")}
    net, day = read(CRUDE, **values)
    assert (net.quantity, net.overnight_quantity, net.buy_quantity, net.sell_quantity) == (-200, -200, 100, 300)
    assert (net.buy_value, net.sell_value) == (525_000.0, 1_590_000.0)
    assert (net.average_price, net.multiplier) == (None, 100.0)  # carried in, and the row names no cost
    assert read(CRUDE, **values, costPrice=5290.0)[0].average_price == 5290.0
    assert (day.quantity, day.buy_quantity, day.buy_value, day.sell_value) == (0, 100, 525_000.0, 530_000.0)
    assert day.average_price is None


def test_a_multiplier_of_one_gives_way_to_a_listing_and_none_at_all_is_not_guessed(read):
    listing = Listing(
        broker_token="MCX_COMM:569900", tradingsymbol="C", exchange="MCX_COMM", other_names="FUTCOM", contract_units=100
    )
    assert read(CRUDE, {listing.broker_token: listing}, multiplier=1)[0].quantity == -200
    assert read(CRUDE, {listing.broker_token: listing}, multiplier=0)[0].quantity == -200
    assert read(CRUDE, multiplier=1)[0].quantity == -2
    net = read(CRUDE, multiplier=0)[0]
    assert (net.quantity, net.contracts) == (None, -2)


def test_where_dhan_speaks_units_a_multiplier_changes_nothing(read):
    assert read(SHARE, multiplier=0)[0].quantity == 30
    assert read(SHARE, multiplier=100)[0].quantity == 30


def test_a_closed_position_stays_with_its_result_and_has_no_average(read):
    net, _ = read(SHARE, positionType="CLOSED", netQty=0, sellQty=40, daySellQty=40, daySellValue=134000.0)
    assert (net.quantity, net.average_price, net.realized) == (0, None, 42.0)


def test_an_average_the_broker_does_not_give_is_none(read):
    assert read(SHARE, buyAvg=0.0, costPrice=0.0)[0].average_price is None
    assert read(SHARE, buyAvg=0.0, costPrice=3215.0)[0].average_price == 3215.0


@pytest.mark.parametrize("missing", ["securityId", "exchangeSegment"])
def test_a_position_in_nothing_is_a_bad_answer(read, missing):
    with pytest.raises(BadAnswer):
        read(SHARE, **{missing: ""})


HOLDING = {
    "exchange": "ALL", "tradingSymbol": "HDFC", "securityId": "1330", "isin": "INE001A01036", "totalQty": 1000,
    "dpQty": 1000, "t1Qty": 0, "availableQty": 1000, "collateralQty": 0, "avgCostPrice": 2655.0,
}  # fmt: skip


def test_the_documented_holding_is_read_by_its_nse_id():
    assert portfolio.parse_holdings(respond([HOLDING])) == [
        HoldingRow(
            instrument_token="NSE_EQ:1330", tradingsymbol="HDFC", exchange="ALL", isin="INE001A01036",
            settled_quantity=1000, average_price=2655.0,
        )
    ]  # fmt: skip


def test_the_total_holds_t1_and_pledged_units(template):
    row = template(
        "get-current-holdings",
        **{**HOLDING, "t1Qty": 100, "availableQty": 700, "collateralQty": 200, "lastTradedPrice": 2700.5},
    )
    (read,) = portfolio.parse_holdings(respond([row]))
    assert (read.settled_quantity, read.t1_quantity, read.collateral_quantity) == (900, 100, 200)
    assert read.last_price == 2700.5


@pytest.mark.parametrize(
    ("exchange", "number", "token"),
    [("ALL", "1330", "NSE_EQ:1330"), ("ALL", "543257", "BSE_EQ:543257"), ("NSE", "500325", "NSE_EQ:500325"),
     ("BSE", "500325", "BSE_EQ:500325"), ("ALL", "757336", "NSE_EQ:757336")],
)  # fmt: skip
def test_a_holding_is_named_by_the_exchange_it_is_listed_at(exchange, number, token):
    (read,) = portfolio.parse_holdings(respond([HOLDING | {"exchange": exchange, "securityId": number}]))
    assert read.instrument_token == token


@pytest.mark.parametrize(
    "body",
    [{"errorCode": "DH-1111", "errorMessage": "x"}, {"errorCode": "DH-907", "errorMessage": "No holdings available"}],
)
def test_an_account_without_holdings_is_answered_with_an_error(body):
    assert portfolio.parse_holdings([WireResponse(status=400, body=msgspec.json.encode(body))]) == []


def test_other_errors_stay_errors():
    with pytest.raises(BrokerRefusal):
        portfolio.parse_holdings(respond({"errorCode": "DH-901", "errorMessage": "expired"}))


def test_the_documented_funds_are_read_with_their_misspelt_keys(template):
    body = template(
        "get_fund_limits", dhanClientId="1000000009", availabelBalance=98440.0, sodLimit=113642, collateralAmount=0.0,
        receiveableAmount=0.0, utilizedAmount=15202.0, blockedPayoutAmount=0.0, withdrawableBalance=98310.0,
    )  # fmt: skip
    assert portfolio.parse_funds(respond(body)) == FundsRow(
        available_balance=98440.0, cash_balance=113642.0, collateral_value=0.0, margin_utilized=15202.0,
        withdrawable_balance=98310.0, uncleared_funds=0.0, pending_withdrawal=0.0,
    )  # fmt: skip


def test_keys_spelt_right_one_day_are_read_too_and_missing_ones_are_none():
    assert portfolio.parse_funds(respond({"availableBalance": 5, "receivableAmount": 1.5})) == FundsRow(
        available_balance=5.0, uncleared_funds=1.5
    )


@pytest.mark.parametrize("body", [b"[]", b"7", b""])
def test_funds_that_are_no_object_are_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        portfolio.parse_funds(respond(body))


def test_each_read_is_one_call(access):
    flows = (portfolio.position_requests, portfolio.holding_requests, portfolio.fund_requests)
    assert [[request.url for request in flow(access, NOW)] for flow in flows] == [
        ["https://api.dhan.co/v2/positions"], ["https://api.dhan.co/v2/holdings"], ["https://api.dhan.co/v2/fundlimit"],
    ]  # fmt: skip


def test_a_position_or_holding_without_its_quantity_is_never_taken_for_none(read, template):
    with pytest.raises(BadAnswer):
        read(SHARE, netQty=None)
    holding = template("get-current-holdings", exchange="ALL", tradingSymbol="X", securityId="1", totalQty=None)
    with pytest.raises(BadAnswer):
        portfolio.parse_holdings(respond([holding]))
