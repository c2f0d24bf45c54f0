"""Fyers' positions, holdings and funds; the expected values are read off the documentation."""

import msgspec
import pytest

from onebroker.brokers.fyers import portfolio
from onebroker.brokers.records import FundsSegment, HoldingRow, Listing, PositionRow
from onebroker.brokers.requests import BadAnswer, WireResponse


def answer(**payload):
    return WireResponse(status=200, body=msgspec.json.encode({"s": "ok", "code": 200, **payload}))


def positions(recorded, listings=None, **changes):
    row = msgspec.json.decode(recorded("positions").body)["netPositions"][0] | changes
    return portfolio.parse_positions([answer(netPositions=[row], overall={})], listings or {})


CRUDE = {"symbol": "MCX:CRUDEOIL26SEPFUT", "id": "MCX:CRUDEOIL26SEPFUT-MARGIN", "fyToken": "1120260921565899",
         "exchange": 11, "segment": 20, "productType": "MARGIN"}  # fmt: skip


def test_the_documented_position_is_in_both_views(recorded):
    net, day = portfolio.parse_positions([recorded("positions")], {})
    assert net == PositionRow(
        position_key="NSE:SBIN-EQ-INTRADAY", view="net", product="MIS", instrument_token="nse_cm|3045",
        tradingsymbol="NSE:SBIN-EQ", exchange="NSE", quantity=1, overnight_quantity=0, buy_quantity=1, sell_quantity=0,
        buy_value=72256.0, sell_value=0.0, average_price=72256.0, last_price=72261.0, realized=0.0, unrealized=5.0,
    )  # fmt: skip
    assert (day.view, day.quantity, day.buy_value, day.average_price, day.realized) == (
        "day",
        1,
        72256.0,
        72256.0,
        None,
    )


def test_a_short_position_is_negative_and_a_closed_one_has_no_average(recorded):
    short = {"netQty": -2, "qty": 2, "side": -1, "sellQty": 3, "sellAvg": 10.0, "sellVal": 30.0, "avgPrice": 10.0}
    net, day = positions(recorded, **short, buyQty=1, buyAvg=9.0, buyVal=9.0, dayBuyQty=1, daySellQty=3)
    assert (net.quantity, net.average_price, net.sell_value) == (-2, 10.0, 30.0)
    assert (day.quantity, day.average_price, day.buy_value) == (-2, 10.0, 9.0)
    net, day = positions(recorded, netQty=0, qty=0, side=0, sellQty=1, daySellQty=1)
    assert (net.quantity, net.average_price, day.quantity, day.average_price) == (0, None, 0, None)


@pytest.mark.parametrize("value", [5200.0 * 2, 5200.0 * 200])
def test_lots_are_multiplied_by_the_rows_own_multiplier_and_values_are_rupees_either_way(recorded, value):
    lots = {"netQty": 2, "qty": 2, "buyQty": 2, "dayBuyQty": 2, "buyAvg": 5200.0, "netAvg": 5200.0, "buyVal": value}
    net, day = positions(recorded, **CRUDE, **lots, qtyMulti_com=100)
    assert (net.quantity, net.buy_quantity, net.buy_value, net.multiplier) == (200, 200, 1_040_000.0, 100.0)
    assert (day.quantity, day.buy_value, net.product) == (200, 1_040_000.0, "NRML")


def test_lots_of_an_unknown_size_are_never_guessed(recorded):
    listing = Listing(broker_token="mcx_fo|565899", tradingsymbol="x", exchange="MCX", contract_units=100)
    for multiplier in (None, 0, 1):
        unknown, _ = positions(recorded, **CRUDE, qtyMulti_com=multiplier)
        assert (unknown.quantity, unknown.contracts) == (None, 1)
        net, _ = positions(recorded, {"mcx_fo|565899": listing}, **CRUDE, qtyMulti_com=multiplier)
        assert net.quantity == 100


def test_a_carried_leg_is_overnight_and_hides_what_today_cost(recorded):
    carried = {
        "netQty": 15,
        "buyQty": 15,
        "cfBuyQty": 10,
        "dayBuyQty": 5,
        "avgPrice": 100.0,
        "buyAvg": 100.0,
        "buyVal": 1500.0,
    }
    net, day = positions(recorded, **carried)
    assert (net.quantity, net.overnight_quantity, net.average_price, net.buy_value) == (15, 10, 100.0, 1500.0)
    assert (day.quantity, day.buy_quantity, day.buy_value, day.average_price) == (5, 5, None, None)
    assert (day.sell_value, day.overnight_quantity) == (0.0, 0)


def test_the_average_is_what_was_paid_and_not_the_break_even(recorded):
    """The documents' sample: 400 realized, so the break-even is 400 lower than the price paid for the one unit."""
    sample = {"ltp": 72717.0, "realized_profit": 400.0, "unrealized_profit": 461.0, "netAvg": 71856.0}
    net, _ = positions(recorded, **sample, avgPrice=72256.0)
    assert (net.average_price, net.realized, net.unrealized) == (72256.0, 400.0, 461.0)
    assert net.unrealized == net.quantity * (net.last_price - net.average_price)
    told, _ = positions(recorded, **sample, avgPrice=None)
    assert told.average_price is None
    same, _ = positions(recorded, netAvg=72256.0, avgPrice=None, realized_profit=0)
    assert same.average_price == 72256.0


def test_a_stand_in_for_the_average_of_a_carried_row_is_none(recorded):
    carried = {"netQty": -10, "cfSellQty": 10, "sellQty": 10, "buyQty": 0, "dayBuyQty": 0}
    for average, expected in ((0, None), (72261.0, None), (71000.0, 71000.0)):
        rows = positions(recorded, **carried, netAvg=average, avgPrice=average)
        assert [(row.view, row.overnight_quantity, row.average_price) for row in rows] == [("net", -10, expected)]
    net, _ = positions(recorded, avgPrice=72261.0)  # bought today at what is now the last price: a price paid
    assert net.average_price == 72261.0


def test_settled_and_t1_units_are_apart_and_pledged_ones_are_settled(recorded):
    settled, t1 = portfolio.parse_holdings([recorded("holdings")])
    assert settled == HoldingRow(
        instrument_token="nse_cm|11460", tradingsymbol="NSE:JPASSOCIAT-EQ", exchange="NSE", isin="INE455F01025",
        settled_quantity=10, collateral_quantity=3, average_price=8.5, last_price=9.15,
    )  # fmt: skip
    assert (t1.settled_quantity, t1.t1_quantity, t1.collateral_quantity, t1.average_price) == (0, 2, 0, 8.7)


@pytest.mark.parametrize(
    ("quantity", "t1", "value", "buckets"),
    [
        (1, 1, 3.75, (0, 1)),  # the documentation's sample: one unit, bought yesterday
        (10, 4, 37.5, (6, 4)),
        (10, 4, 52.5, (10, 4)),  # the value of all fourteen
        (10, 4, 52.9, (10, 4)),
        (10, 4, 0, (6, 4)),  # says nothing
        (10, 4, None, (6, 4)),
        (0, 4, 0, (0, 4)),
        (2, 4, 7.5, (2, 4)),  # cannot hold them
        (10, 0, 37.5, (10, 0)),
    ],
)
def test_the_value_of_a_holding_says_whether_its_quantity_holds_the_t1_units(recorded, quantity, t1, value, buckets):
    row = msgspec.json.decode(recorded("holdings").body)["holdings"][0]
    row |= {"quantity": quantity, "qty_t1": t1, "fyToken": 11460, "ltp": 3.75, "marketVal": value}
    (held,) = portfolio.parse_holdings([answer(holdings=[row])])
    assert (held.settled_quantity, held.t1_quantity) == buckets
    assert held.instrument_token == "nse_cm|11460"


def test_funds_are_read_by_the_lines_numbers_and_both_purses_added(recorded):
    funds = portfolio.parse_funds([recorded("funds")])
    assert (funds.available_balance, funds.cash_balance, funds.collateral_value) == (164.55, 158.15, 20.0)
    assert (funds.margin_utilized, funds.realized, funds.adhoc_credit) == (12.5, -1.1, 0.0)
    assert (funds.pay_in_today, funds.pay_out_today, funds.uncleared_funds) == (0.0, 5.0, 3.0)
    assert funds.pools == {"equity": 66.55, "commodity": 98.0}
    assert funds.segments["equity"] == FundsSegment(available_balance=66.55, margin_utilized=10.5)


def test_a_line_that_is_missing_is_not_reported_and_without_the_balance_nothing_is():
    line = {"id": 10, "title": "Available Balance", "equityAmount": 5, "commodityAmount": None}
    funds = portfolio.parse_funds([answer(fund_limit=[line])])
    assert (funds.available_balance, funds.cash_balance, funds.pay_in_today) == (5.0, None, None)
    for lines in ([], None, [line | {"id": 9}]):
        with pytest.raises(BadAnswer):
            portfolio.parse_funds([answer(fund_limit=lines)])


@pytest.mark.parametrize("lost", ["symbol", "id", "netQty"])
def test_a_position_that_names_nothing_is_a_bad_answer(recorded, lost):
    with pytest.raises(BadAnswer):
        positions(recorded, **{lost: None})


def test_units_bought_yesterday_count_once_where_both_forms_name_them(recorded):
    row = msgspec.json.decode(recorded("holdings").body)["holdings"][0]
    settled = row | {"holdingType": "HLD", "quantity": 10, "qty_t1": 5}
    fresh = row | {"holdingType": "T1", "quantity": 5, "qty_t1": 5}
    both = portfolio.parse_holdings([answer(holdings=[settled, fresh])])
    assert sum(each.settled_quantity + each.t1_quantity for each in both) == 15
    (alone,) = portfolio.parse_holdings([answer(holdings=[settled])])
    assert (alone.settled_quantity, alone.t1_quantity) == (5, 5)
    (moved,) = portfolio.parse_holdings([answer(holdings=[fresh | {"quantity": 0}])])
    assert (moved.settled_quantity, moved.t1_quantity) == (0, 5)


def test_a_holding_without_its_quantity_is_a_bad_answer(recorded):
    row = msgspec.json.decode(recorded("holdings").body)["holdings"][0] | {"quantity": None}
    with pytest.raises(BadAnswer):
        portfolio.parse_holdings([answer(holdings=[row])])
