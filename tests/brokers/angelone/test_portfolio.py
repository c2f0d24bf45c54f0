"""Positions, holdings and funds, by the broker's page's reading of their fields."""

import msgspec
import pytest

from onebroker.brokers.angelone import portfolio
from onebroker.brokers.records import FundsRow, HoldingRow, PositionRow
from onebroker.brokers.requests import BadAnswer


@pytest.fixture
def row(recorded):
    """Return the documented position with some fields replaced."""
    documented = msgspec.json.decode(recorded("positions").body)["data"][0]
    return lambda **changes: {**documented, **changes}


def test_the_documented_position_is_in_both_views(recorded):
    net, day = portfolio.parse_positions([recorded("positions")], {})
    assert net == PositionRow(
        position_key="NSE|2885:CNC", view="net", product="CNC", instrument_token="NSE|2885", tradingsymbol="RELIANCE-EQ",
        exchange="NSE", quantity=1, overnight_quantity=0, buy_quantity=1, sell_quantity=0, buy_value=2235.8, sell_value=0.0,
        average_price=2235.8,
    )  # fmt: skip
    assert (day.view, day.quantity, day.buy_quantity, day.buy_value, day.average_price) == ("day", 1, 1, 2235.8, 2235.8)


CARRIED = {
    "exchange": "NFO", "symboltoken": "46923", "producttype": "CARRYFORWARD", "cfsellqty": "75", "cfsellamount": "7500.00",
    "cfsellavgprice": "100.00", "totalbuyvalue": "1800.00", "totalsellvalue": "7500.00", "totalbuyavgprice": "90.00",
    "totalsellavgprice": "100.00", "netqty": "-55", "buyqty": "20", "buyavgprice": "90.00", "buyamount": "1800.00",
    "avgnetprice": "103.64", "netvalue": "5700.00", "realised": "200.00", "unrealised": "- 165.00", "ltp": "103.00",
    "close": "101.00",
}  # fmt: skip
"""75 sold yesterday, 20 bought back today."""


@pytest.mark.parametrize(("sold", "amount", "average"), [("75", "7500.00", "100.00"), ("0", "0.00", "0.00")])
def test_a_carried_leg_is_told_from_todays_whether_the_row_counts_it_in_or_beside(row, yes, sold, amount, average):
    written = row(**CARRIED, sellqty=sold, sellamount=amount, sellavgprice=average)
    net, day = portfolio.parse_positions([yes([written])], {})
    assert (net.quantity, net.overnight_quantity, net.buy_quantity, net.sell_quantity) == (-55, -75, 20, 75)
    assert (net.buy_value, net.sell_value, net.average_price) == (1800.0, 7500.0, 100.0)
    assert (net.realized, net.unrealized, net.last_price, net.close_price) == (200.0, -165.0, 103.0, 101.0)
    assert (day.quantity, day.buy_quantity, day.sell_quantity, day.buy_value, day.sell_value) == (
        20,
        20,
        0,
        1800.0,
        0.0,
    )
    assert day.average_price is None


def test_a_position_only_carried_is_not_in_the_day_view(row, yes):
    carried = {
        **CARRIED, "buyqty": "0", "buyamount": "0", "totalbuyvalue": "0", "totalbuyavgprice": "0", "sellqty": "75",
        "sellamount": "7500.00", "netqty": "-75",
    }  # fmt: skip
    (net,) = portfolio.parse_positions([yes([row(**carried)])], {})
    assert (net.view, net.quantity, net.overnight_quantity) == ("net", -75, -75)


def test_an_average_that_is_not_given_stays_none_and_is_never_the_netted_or_the_last_price(row, yes):
    nothing = {**CARRIED, "sellqty": "75", "totalsellavgprice": "0", "totalbuyavgprice": ""}
    net, _ = portfolio.parse_positions([yes([row(**nothing)])], {})
    assert net.average_price is None
    simple, _ = portfolio.parse_positions([yes([row(totalbuyavgprice="0", avgnetprice="- 2235.80")])], {})
    assert simple.average_price == 2235.8  # the sign is the net value's
    plain, _ = portfolio.parse_positions([yes([row(totalbuyavgprice="0")])], {})
    assert plain.average_price == 2235.8
    closed = portfolio.parse_positions([yes([row(netqty="0", sellqty="1", totalsellavgprice="2240")])], {})[0]
    assert (closed.quantity, closed.average_price) == (0, None)


GOODS = {
    "exchange": "MCX", "symboltoken": "426302", "tradingsymbol": "GOLD24JUNFUT", "producttype": "CARRYFORWARD",
    "instrumenttype": "FUTCOM", "buyqty": "2", "netqty": "2", "totalbuyavgprice": "5300.00", "buyavgprice": "5300.00",
    "lotsize": "100",
}  # fmt: skip


@pytest.mark.parametrize("value", ["1060000.00", "10600.00"])
@pytest.mark.parametrize("known", [True, False])
def test_lots_are_units_and_values_rupees_whichever_way_the_row_counts_them(row, yes, listings, value, known):
    written = row(**GOODS, totalbuyvalue=value, buyamount=value)
    net, day = portfolio.parse_positions([yes([written])], listings if known else {})
    if not known:  # lots or trading units: no row says it
        assert (net.quantity, net.contracts) == (None, 2)
        return
    assert (net.quantity, net.buy_quantity, net.buy_value, net.multiplier) == (200, 200, 1_060_000.0, 100.0)
    assert (day.quantity, day.buy_value) == (200, 1_060_000.0)


def test_a_currency_contract_is_a_thousand_before_the_catalogue_is_there_and_an_unknown_lot_is_no_unit(row, yes):
    dollar = {**GOODS, "exchange": "CDS", "symboltoken": "9", "instrumenttype": "FUTCUR", "lotsize": "1"}
    assert portfolio.parse_positions([yes([row(**dollar)])], {})[0].quantity == 2000
    net = portfolio.parse_positions([yes([row(**{**dollar, "instrumenttype": "FUTIRC"})])], {})[0]
    assert (net.quantity, net.contracts) == (None, 2)


def test_no_positions_is_null(yes):
    assert portfolio.parse_positions([yes(None)], {}) == []


def test_holdings_are_settled_t1_and_pledged(recorded):
    first, second = portfolio.parse_holdings([recorded("holdings")])
    assert first == HoldingRow(
        instrument_token="NSE|3499", tradingsymbol="TATASTEEL-EQ", exchange="NSE", isin="INE081A01020",
        settled_quantity=2, average_price=111.87, last_price=130.15, close_price=129.6,
    )  # fmt: skip
    assert (second.settled_quantity, second.t1_quantity, second.collateral_quantity) == (20, 5, 8)
    assert second.average_price is None


def test_the_older_call_without_totals_margin_units_and_pledged_units_kept_beside(recorded, yes):
    rows = msgspec.json.decode(recorded("holdings").body)["data"]["holdings"]
    margin = {**rows[0], "product": "MARGIN"}
    beside = {**rows[0], "quantity": 0, "realisedquantity": 0, "collateralquantity": 30}
    held, pledged = portfolio.parse_holdings([yes([margin, beside])])
    assert (held.margin_quantity, held.margin_average_price, held.settled_quantity, held.average_price) == (
        2,
        111.87,
        0,
        None,
    )
    assert (pledged.settled_quantity, pledged.collateral_quantity) == (30, 30)
    assert portfolio.parse_holdings([yes(None)]) == []


def test_the_recorded_funds_read_as_one_pool(recorded):
    assert portfolio.parse_funds([recorded("rms")]) == FundsRow(
        available_balance=19948.77, cash_balance=19977.84, collateral_value=0.0, adhoc_credit=0.0, margin_utilized=29.07,
        withdrawable_balance=19948.77, realized=-3.05, unrealized=0.0, pay_in_today=0.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "collateral", "cash"),
    [
        ({"collateral": "0.0000", "utilisedpayout": "9948.7700"}, 10_000.0, 9_977.84),
        ({"collateral": "5000.0000", "utilisedpayout": "9948.7700"}, 5000.0, 14_977.84),
        ({"collateral": None, "utilisedpayout": None}, None, 19_977.84),
    ],
)
def test_the_pledged_part_is_seen_in_what_can_be_paid_out_where_collateral_stays_zero(
    recorded, yes, changes, collateral, cash
):
    rms = {**msgspec.json.decode(recorded("rms").body)["data"], **changes}
    funds = portfolio.parse_funds([yes(rms)])
    assert (funds.collateral_value, funds.cash_balance) == (collateral, cash)


def test_margins_in_use_are_added_where_no_sum_is_given(recorded, yes):
    rms = {
        **msgspec.json.decode(recorded("rms").body)["data"], "utiliseddebits": None, "utilisedspan": "100.5000",
        "utilisedexposure": "50.2500", "utilisedoptionpremium": "10.0000",
    }  # fmt: skip
    funds = portfolio.parse_funds([yes(rms)])
    assert (funds.margin_utilized, funds.span_margin, funds.exposure_margin, funds.other_margin) == (
        160.75, 100.5, 50.25, 10.0,
    )  # fmt: skip


def test_holdings_without_their_list_are_a_bad_answer(yes):
    for data in ({}, {"totalholding": {}}):
        with pytest.raises(BadAnswer):
            portfolio.parse_holdings([yes(data)])
    assert portfolio.parse_holdings([yes({"holdings": []})]) == portfolio.parse_holdings([yes(None)]) == []


def test_a_position_without_its_net_quantity_is_never_taken_for_none(yes, recorded):
    row = msgspec.json.decode(recorded("positions").body)["data"][0] | {"netqty": None}
    with pytest.raises(BadAnswer):
        portfolio.parse_positions([yes([row])], {})
