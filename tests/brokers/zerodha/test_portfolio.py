"""Kite's positions, holdings and funds, from recorded answers."""

import msgspec

from onebroker.brokers.records import FundsRow, FundsSegment, HoldingRow, PositionRow
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.zerodha import portfolio


def answer(data):
    return WireResponse(status=200, body=msgspec.json.encode({"status": "success", "data": data}))


def test_a_commodity_position_is_in_units(recorded):
    rows = portfolio.parse_positions([recorded("positions")], {})
    assert rows[0] == PositionRow(
        position_key="MCX:LEADMINI17DECFUT:NRML", view="net", product="NRML", instrument_token="53496327",
        tradingsymbol="LEADMINI17DECFUT", exchange="MCX", quantity=1000, overnight_quantity=0, buy_quantity=1000,
        sell_quantity=0, buy_value=161050.0, sell_value=0.0, average_price=161.05, last_price=161.05, multiplier=1000.0, realized=0.0, unrealized=0.0,
    )  # fmt: skip
    assert rows[0].buy_value == rows[0].buy_quantity * 161.05


def test_a_closed_position_has_no_average_and_its_result_is_realized(recorded):
    row = portfolio.parse_positions([recorded("positions")], {})[1]
    assert (row.quantity, row.overnight_quantity, row.buy_quantity, row.sell_quantity) == (0, 3, 4, 4)
    assert row.average_price is None
    assert (row.realized, row.unrealized) == (801.0, 0.0)
    assert (row.sell_value or 0) - (row.buy_value or 0) == row.realized


def test_the_day_view_holds_todays_legs_only(recorded):
    rows = [row for row in portfolio.parse_positions([recorded("positions")], {}) if row.view == "day"]
    assert [(row.tradingsymbol, row.quantity, row.overnight_quantity) for row in rows] == [
        ("GOLDGUINEA17DECFUT", -3, 0), ("LEADMINI17DECFUT", 1000, 0), ("SBIN", 0, 0),
    ]  # fmt: skip


def test_a_carried_position_without_an_average_shows_none_and_never_the_last_price(recorded):
    views = recorded("positions").json()["data"]
    views["net"][0].update(average_price=0, overnight_quantity=1)
    row = portfolio.parse_positions([answer(views)], {})[0]
    assert (row.average_price, row.last_price, row.overnight_quantity) == (None, 161.05, 1000)


def test_a_commodity_position_without_its_multiplier_is_not_guessed(recorded):
    views = recorded("positions").json()["data"]
    del views["net"][0]["multiplier"]
    net = portfolio.parse_positions([answer(views)], {})[0]
    assert (net.quantity, net.contracts, net.buy_value) == (None, 1, None)


def test_margin_trading_units_stand_beside_the_settled_ones(recorded):
    rows = portfolio.parse_holdings([recorded("holdings")])
    assert rows[0] == HoldingRow(
        instrument_token="263681", tradingsymbol="AARON", exchange="NSE", isin="INE721Z01010", settled_quantity=1,
        margin_quantity=1000, average_price=161.0, margin_average_price=100.0, last_price=352.95, close_price=352.35,
    )  # fmt: skip


def test_pledged_units_are_part_of_the_settled_and_t1_units_are_not(recorded):
    holdings = recorded("holdings").json()["data"]
    holdings[1].update(quantity=16, collateral_quantity=4, t1_quantity=3)
    row = portfolio.parse_holdings([answer(holdings)])[1]
    assert (row.settled_quantity, row.collateral_quantity, row.t1_quantity, row.margin_quantity) == (20, 4, 3, 0)
    assert row.margin_average_price is None


def test_holdings_without_prices_have_none(recorded):
    rows = portfolio.parse_holdings([recorded("holdings_compact")])
    assert rows
    assert all(row.average_price is None and row.last_price is None and row.isin is None for row in rows)


def test_both_purses_add_up_and_stand_apart(recorded):
    assert portfolio.parse_funds([recorded("margins")]) == FundsRow(
        available_balance=200386.75, cash_balance=346093.3, collateral_value=0.0, adhoc_credit=0.0,
        margin_utilized=145706.55, realized=761.7, unrealized=0.0, span_margin=101989.0, exposure_margin=38981.25,
        other_margin=0.0, pay_in_today=0.0, pay_out_today=0.0,
        segments={
            "equity": FundsSegment(
                available_balance=99725.05000000002, margin_utilized=145706.55, span_margin=101989.0,
                exposure_margin=38981.25,
            ),
            "commodity": FundsSegment(
                available_balance=100661.7, margin_utilized=0.0, span_margin=0.0, exposure_margin=0.0
            ),
        },
        pools={"equity": 99725.05000000002, "commodity": 100661.7},
    )  # fmt: skip


def test_a_purse_that_is_not_enabled_counts_nowhere(recorded):
    purses = recorded("margins").json()["data"]
    purses["commodity"]["enabled"] = False
    funds = portfolio.parse_funds([answer(purses)])
    assert funds.available_balance == 99725.05
    assert set(funds.pools) == set(funds.segments) == {"equity"}


def test_figures_kite_does_not_give_stay_unknown():
    funds = portfolio.parse_funds([answer({"equity": {"enabled": True, "net": 5.0}})])
    assert (funds.available_balance, funds.cash_balance, funds.margin_utilized) == (5.0, None, None)
