"""Positions computed after the documents' formulas, holdings and funds as recorded."""

from datetime import datetime

import pytest

from onebroker.brokers.kotakneo import portfolio
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)
SHARE = {
    "exSeg": "nse_cm", "tok": "14366", "trdSym": "IDEA-EQ", "prod": "CNC", "cfBuyQty": "35", "cfSellQty": "0",
    "cfBuyAmt": "327.60", "cfSellAmt": "0.00", "flBuyQty": "5", "flSellQty": "10", "buyAmt": "46.50", "sellAmt": "95.00",
    "multiplier": "1", "genNum": "1", "genDen": "1", "prcNum": "1", "prcDen": "1", "precision": "2", "ltp": "9.40",
}  # fmt: skip


def positions(said, row, *more, listings=None):
    rows = portfolio.parse_positions([said({"stat": "ok", "stCode": 200, "data": [row]}), *more], listings or {})
    return {each.view: each for each in rows}


def test_the_recorded_future_is_read_in_units(recorded):
    net, day = portfolio.parse_positions([recorded("positions")], {})
    assert (net.view, day.view) == ("net", "day")
    assert (net.position_key, net.product, net.exchange) == ("nse_fo|61304:NRML", "NRML", "nse_fo")
    assert (net.quantity, net.overnight_quantity, net.buy_quantity, net.sell_quantity) == (225, 0, 225, 0)
    assert (net.buy_value, net.sell_value, net.average_price) == (475200.0, 0.0, 2112.0)
    assert (net.last_price, net.close_price, net.realized, net.unrealized) == (None, None, 0.0, None)
    assert (day.quantity, day.average_price) == (225, 2112.0)


def test_carried_shares_cost_what_the_holding_says_and_close_at_the_carried_amount(said, recorded):
    both = positions(said, SHARE, recorded("holdings"))
    net, day = both["net"], both["day"]
    assert (net.quantity, net.overnight_quantity, net.buy_quantity, net.sell_quantity) == (30, 35, 40, 10)
    # 35 at 9.5699 and 5 for 46.50.
    assert net.buy_value == pytest.approx(35 * 9.5699 + 46.5, abs=0.005)
    assert net.average_price == 9.54
    assert net.close_price == 9.36
    assert net.realized + net.unrealized == pytest.approx(95.0 - (334.9465 + 46.5) + 30 * 9.40, abs=0.011)
    assert (day.quantity, day.average_price, day.buy_value) == (-5, 9.5, 46.5)


def test_without_the_holding_the_average_stays_unknown_and_is_never_the_last_price(said):
    for more in (
        (),
        (said({"data": []}),),
        (WireResponse(status=200, body=b"<html>"),),
        (said({"stat": "Not_Ok", "stCode": 1005}),),
    ):
        net = positions(said, SHARE, *more)["net"]
        assert (net.average_price, net.buy_value, net.unrealized, net.realized) == (None, None, None, None)
        assert net.quantity == 30


def test_a_dead_session_of_the_second_call_is_no_missing_holding(said):
    dead = said({"stCode": 100022, "errMsg": "invalid session token", "stat": "Not_Ok"})
    with pytest.raises(BrokerRefusal) as refusal:
        positions(said, SHARE, dead)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_holdings_are_asked_for_only_when_shares_were_carried(access, said):
    def asked(row):
        flow = portfolio.position_requests(access, NOW)
        assert next(flow).url.endswith("/portfolio/v2/positions")
        try:
            return flow.send(said({"stat": "ok", "stCode": 200, "data": [row]})).url
        except StopIteration:
            return None

    assert asked(SHARE).endswith("/portfolio/v1/holdings")
    assert asked({**SHARE, "cfBuyQty": "0"}) is None
    assert asked({**SHARE, "exSeg": "nse_fo"}) is None
    flow = portfolio.position_requests(access, NOW)
    next(flow)
    with pytest.raises(StopIteration):
        flow.send(WireResponse(status=200, body=b"<html>"))


def test_the_factor_scales_averages_and_results(said):
    # 100 grams carried in at 148,000 for ten grams, sold 100 today at 150,000: NF is a tenth.
    row = {
        **SHARE, "exSeg": "mcx_fo", "tok": "1", "cfBuyQty": "200", "cfBuyAmt": "2960000", "flBuyQty": "0", "buyAmt": "0",
        "flSellQty": "100", "sellAmt": "1500000", "prcDen": "10", "ltp": "149000",
    }  # fmt: skip
    units = Listing(broker_token="mcx_fo|1", tradingsymbol="X", exchange="mcx_fo", contract_units=1)
    net = positions(said, row, listings={"mcx_fo|1": units})["net"]
    assert (net.multiplier, net.average_price, net.close_price) == (0.1, 148000.0, 148000.0)
    assert (net.quantity, net.realized, net.unrealized) == (100, 20000.0, 10000.0)


def test_contracts_are_shown_in_units_and_worth_what_the_amounts_say(said):
    row = {
        **SHARE, "exSeg": "cde_fo", "tok": "1201", "cfBuyQty": "0", "cfBuyAmt": "0", "flBuyQty": "0", "buyAmt": "0",
        "flSellQty": "2", "sellAmt": "177000", "multiplier": "1000", "precision": "4", "ltp": "88.40",
    }  # fmt: skip
    listing = Listing(broker_token="cde_fo|1201", tradingsymbol="X", exchange="cde_fo", contract_units=1000)
    net = positions(said, row, listings={"cde_fo|1201": listing})["net"]
    assert (net.quantity, net.sell_quantity, net.average_price) == (-2000, 2000, 88.5)
    assert (net.realized, net.unrealized) == (0.0, 200.0)


def test_a_flat_row_has_a_result_and_no_average(said):
    row = {**SHARE, "cfBuyQty": "0", "flBuyQty": "10", "buyAmt": "90.00", "ltp": "0"}
    net = positions(said, row)["net"]
    assert (net.quantity, net.average_price, net.realized, net.unrealized) == (0, None, 5.0, 0.0)


@pytest.mark.parametrize("missing", ["exSeg", "tok", "trdSym"])
def test_a_position_of_nothing_is_refused(said, missing):
    with pytest.raises(BadAnswer):
        positions(said, {**SHARE, missing: None})


def test_the_recorded_holding_is_named_by_the_exchanges_number(recorded):
    (row,) = portfolio.parse_holdings([recorded("holdings")])
    assert (row.instrument_token, row.tradingsymbol, row.exchange) == ("nse_cm|14366", "IDEA", "nse_cm")
    assert (row.settled_quantity, row.average_price, row.last_price, row.isin) == (35, 9.5699, 9.36, None)
    assert (row.t1_quantity, row.collateral_quantity, row.close_price) == (0, 0, None)


def test_the_recorded_limits_add_up(recorded):
    row = portfolio.parse_funds([recorded("limits")])
    assert row.available_balance == pytest.approx(19.41)
    assert (row.cash_balance, row.margin_utilized, row.other_margin) == (38.19, 18.78, 18.78)
    assert row.available_balance + row.margin_utilized == pytest.approx(row.cash_balance)
    assert (row.realized, row.unrealized, row.collateral_value) == (0.0, -0.24, 0.0)
    assert row.segments["derivatives"].margin_utilized == 0.0
    assert row.pools == {}


def test_limits_without_their_figure_are_no_limits(said):
    with pytest.raises(BadAnswer):
        portfolio.parse_funds([said({"stat": "Ok", "stCode": 200})])
    with pytest.raises(BrokerRefusal):
        portfolio.parse_funds([said({"stat": "Not_Ok", "stCode": 1005, "errMsg": "x"})])


def test_contracts_of_an_unknown_size_are_never_taken_for_units(said):
    goods = SHARE | {"exSeg": "mcx_fo", "tok": "578790", "cfBuyQty": "0", "cfBuyAmt": "0.00"}
    assert positions(said, goods | {"lotSz": "100"})["net"].quantity == -5
    assert positions(said, goods | {"lotSz": "1", "multiplier": "50"})["net"].quantity == -250
    unknown = positions(said, goods | {"lotSz": "1"})["net"]
    assert (unknown.quantity, unknown.contracts) == (None, -5)
    listing = Listing(broker_token="mcx_fo|578790", tradingsymbol="X", exchange="mcx_fo", contract_units=1)
    assert positions(said, goods | {"lotSz": "1"}, listings={"mcx_fo|578790": listing})["net"].quantity == -5


@pytest.mark.parametrize("lost", ["cfBuyQty", "cfSellQty", "flBuyQty", "flSellQty"])
def test_a_position_without_one_of_its_quantities_is_a_bad_answer(said, lost):
    with pytest.raises(BadAnswer):
        positions(said, SHARE | {lost: ""})


def test_a_holding_without_its_quantity_is_a_bad_answer(recorded, said):
    row = recorded("holdings").json()["data"][0] | {"quantity": None}
    with pytest.raises(BadAnswer):
        portfolio.parse_holdings([said({"data": [row]})])
