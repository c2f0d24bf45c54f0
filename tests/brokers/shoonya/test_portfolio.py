"""Positions, holdings and funds, read by the broker's page."""

from datetime import datetime

import attrs
import msgspec
import pytest

from onebroker.brokers.requests import BadAnswer, BrokerRefusal, WireResponse
from onebroker.brokers.shoonya import portfolio
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
GONE = object()


@pytest.fixture
def positions(recorded, listings):
    rows = portfolio.parse_positions([recorded("positions")], listings)
    return {(row.view, row.instrument_token): row for row in rows}


def test_a_short_that_was_carried_and_partly_bought_back(positions):
    net, day = positions["net", "NFO|42697"], positions["day", "NFO|42697"]
    assert (net.quantity, net.overnight_quantity, net.buy_quantity, net.sell_quantity) == (-100, -150, 50, 150)
    assert (net.buy_value, net.sell_value) == (980000.0, 2955000.0)
    # The cost, not the previous close from which netavgprc counts.
    assert net.average_price == 19640.25
    assert (net.realized, net.unrealized, net.last_price, net.product) == (5000.0, 5000.0, 19650.0, "NRML")
    assert (day.quantity, day.average_price, day.buy_value, day.realized) == (50, 19600.0, 980000.0, None)


def test_lots_become_units_and_amounts_rupees(positions):
    net = positions["net", "CDS|17274"]
    assert (net.quantity, net.buy_quantity, net.buy_value, net.average_price) == (2000, 2000, 2500.0, 1.25)
    assert net.multiplier == 1000.0
    assert positions["day", "CDS|17274"].quantity == 2000


def test_a_quantity_finer_than_a_unit_and_a_cost_nobody_gave(positions):
    net = positions["net", "MCX|477176"]
    assert (net.quantity, net.overnight_quantity, net.buy_value) == (2, 2, 246000.0)
    assert net.average_price is None  # netavgprc is the previous close: no stand-in
    assert ("day", "MCX|477176") not in positions


def test_a_product_may_stand_under_its_other_name(recorded, listings):
    body = msgspec.json.decode(recorded("positions").body)
    renamed = [{("prarr" if name == "prd" else name): value for name, value in row.items()} for row in body]
    answers = [attrs.evolve(recorded("positions"), body=msgspec.json.encode(rows)) for rows in (body, renamed)]
    plain, other = (portfolio.parse_positions([answer], listings) for answer in answers)
    assert plain == other


def test_a_closed_position_stays_with_nothing_held(positions):
    net, day = positions["net", "NSE|11536"], positions["day", "NSE|11536"]
    assert (net.quantity, net.average_price, net.realized) == (0, None, 39.8)
    assert (day.quantity, day.buy_quantity, day.sell_quantity, day.average_price) == (0, 4, 4, None)
    assert (day.buy_value, day.sell_value) == (12400.2, 12440.0)


def test_the_original_cost_of_an_untouched_position_comes_in_two_spellings(recorded, listings):
    for spelling in ("cforgavgprc", "cforgavprc"):
        row = {
            "exch": "NSE",
            "token": "11536",
            "tsym": "TCS-EQ",
            "prd": "C",
            "netqty": "5",
            "cfbuyqty": "5",
            spelling: "99.50",
        }
        answer = WireResponse(status=200, body=msgspec.json.encode([row]))
        assert portfolio.parse_positions([answer], listings)[0].average_price == 99.5


def test_a_contract_of_unknown_factor_is_not_taken_for_a_unit():
    row = {"exch": "MCX", "token": "1", "tsym": "X", "prd": "M", "netqty": "5", "cfbuyqty": "5"}
    (net,) = portfolio.parse_positions([WireResponse(status=200, body=msgspec.json.encode([row]))], {})
    assert (net.quantity, net.contracts) == (None, 5)


@every_case("given", [GONE, ""], ids=["absent", "blank"])
def test_a_leg_that_is_left_out_is_zero_only_where_the_others_come_to_the_net_quantity(recorded, listings, given):
    """The recorded row: 150 sold before today, 50 bought today, so 100 short."""
    row = msgspec.json.decode(recorded("positions").body)[0]

    def views(leg, **changes):
        left = {**row, **changes, leg: given}
        body = [{name: value for name, value in left.items() if value is not GONE}]
        net, *day = portfolio.parse_positions([WireResponse(status=200, body=msgspec.json.encode(body))], listings)
        assert net.quantity == int(left["netqty"])
        return net, *day

    net, day = views("cfbuyqty")
    assert (net.overnight_quantity, net.buy_quantity, net.sell_quantity, net.buy_value) == (-150, 50, 150, 980000.0)
    assert (day.quantity, day.buy_quantity, day.sell_quantity) == (50, 50, 0)
    net, day = views("daybuyqty")
    assert (net.overnight_quantity, net.buy_quantity, net.sell_quantity) == (
        None,
        None,
        None,
    )  # which of the three is not there?
    assert (net.buy_value, net.sell_value, net.average_price) == (None, None, 19640.25)
    assert (day.quantity, day.buy_quantity, day.sell_quantity, day.buy_value, day.average_price) == (
        None,
        None,
        None,
        None,
        None,
    )
    net, day = views("cfsellqty")
    assert (net.overnight_quantity, net.buy_quantity, net.sell_quantity, net.sell_value) == (None, None, None, None)
    assert (day.quantity, day.buy_quantity, day.sell_quantity) == (None, 50, None)
    net, day = views("daysellqty", netqty="-120", daysellamt="390000.00", daysellavgprc="19500.00")
    assert (net.buy_quantity, net.sell_quantity, net.sell_value, day.quantity) == (None, None, None, None)


def test_a_cost_is_not_read_from_the_previous_close_where_the_carried_leg_is_not_told(recorded, listings):
    row = msgspec.json.decode(recorded("positions").body)[2]
    assert row.pop("cfbuyqty") == "20"
    net, _ = portfolio.parse_positions([WireResponse(status=200, body=msgspec.json.encode([row]))], listings)
    assert (net.quantity, net.overnight_quantity, net.average_price) == (2, None, None)


def test_holdings_are_the_documents_valuation_in_buckets(recorded):
    infosys, bank = portfolio.parse_holdings([recorded("holdings")])
    assert (infosys.instrument_token, infosys.tradingsymbol, infosys.isin) == ("NSE|1594", "INFY-EQ", "INE009A01021")
    # 5 held + 20 pledged + the larger of 100 and 90 - 3 used; 7 bought and not delivered.
    assert (infosys.settled_quantity, infosys.collateral_quantity, infosys.t1_quantity) == (122, 20, 7)
    assert (infosys.average_price, infosys.last_price) == (1450.25, None)
    # More was sold than had settled: the rest came out of what was bought yesterday.
    assert (bank.exchange, bank.settled_quantity, bank.t1_quantity, bank.average_price) == ("BSE", 0, 3, None)


def test_a_holding_without_a_name_is_a_bad_answer():
    with pytest.raises(BadAnswer):
        portfolio.parse_holdings([WireResponse(status=200, body=b'[{"stat":"Ok","holdqty":"5"}]')])


def test_recorded_funds_are_the_documents_total_less_what_is_used(recorded):
    funds = portfolio.parse_funds([recorded("limits")])
    assert funds.available_balance == 1500000000000000.0 - 3945540.0
    assert (funds.cash_balance, funds.margin_utilized, funds.collateral_value) == (1500000000000000.0, 3945540.0, 0.0)
    assert funds.unrealized == -30540.0
    assert funds.other_margin == 3915000.0
    assert (funds.pools, funds.span_margin, funds.withdrawable_balance) == ({}, None, None)


def test_the_break_up_is_added_up_by_segment():
    body = {"stat": "Ok", "cash": "10.10", "payin": "5.05", "brkcollamt": "2", "span_d_m": "1.10", "span_d_i": "2.20",
            "expo_d_m": "3", "span_c_m": "4", "rpnl": "-7.50", "payout": "-1"}  # fmt: skip
    funds = portfolio.parse_funds([WireResponse(status=200, body=msgspec.json.encode(body))])
    assert funds.available_balance == 16.15
    assert (funds.segments["derivatives"].span_margin, funds.segments["derivatives"].exposure_margin) == (3.3, 3.0)
    assert set(funds.segments) == {"derivatives", "commodity"}
    assert (funds.realized, funds.unrealized, funds.pay_in_today, funds.pay_out_today) == (7.5, None, 5.05, 1.0)


def test_refused_funds_are_a_refusal(refused):
    with pytest.raises(BrokerRefusal):
        portfolio.parse_funds([refused("Invalid Input : actid")])


def test_each_read_is_one_call(access):
    reads = (portfolio.position_requests, portfolio.holding_requests, portfolio.fund_requests)
    names = [[request.url.rpartition("/")[2] for request in read(access, NOW)] for read in reads]
    assert names == [["PositionBook"], ["Holdings"], ["Limits"]]
