"""What an order costs, to the paisa: the worked example, figures that brokers have published, and what holds of every order
(order-engine 4.2, 6.16)."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.choice.costs import Cost, cost_of, group_of, levies_of
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.brokers.registry import build_registry
from onebroker.config.charges.load import built_in_charges
from onebroker.config.charges.rows import ALWAYS, BrokerageRow, Charges, DpRow, Group, StatutoryRow, Table
from onebroker.config.instruments import ORDERABLE_SEGMENTS, SEGMENT_SHAPES, Shape, future, option, security
from tests.support.every_case import every_case

TODAY = date(2026, 11, 23)
CRORE = 10_000_000
BUILT_IN = built_in_charges()


def instrument(exchange="nse", bare="equities", underlying="A"):
    identity = {
        Shape.SECURITY: lambda: security(exchange, bare, underlying),
        Shape.FUTURE: lambda: future(exchange, bare, underlying, TODAY),
        Shape.OPTION: lambda: option(exchange, bare, underlying, TODAY, 100, "CE"),
    }[SEGMENT_SHAPES[bare]]()
    return Instrument(
        instrument_id=identity.instrument_id, identity=identity, name=None, isin=None, lot_size=None, tick_size=0.05,
        freeze_quantity=None, listings={},
    )  # fmt: skip


def cost(
    broker, side, product, quantity, price, *, exchange="nse", bare="equities", underlying="A", charges=BUILT_IN,
    day=TODAY, lot=1, dp_paid=False,
):  # fmt: skip
    traded = instrument(exchange, bare, underlying)
    order = LegOrder(
        instrument=traded, transaction_type=side, product=product, order_type="LIMIT", quantity=quantity, price=None
    )
    levies = levies_of(order, Decimal(price), charges, day)
    return cost_of(order, broker, levies, charges, day, lot=lot, dp_paid=dp_paid)


def lines(cost):
    """(brokerage, exchange, regulator, stamp, tax, gst, dp, total), in rupees as a contract note has them."""
    shown = cost.shown()
    names = ("brokerage", "exchange", "regulator", "stamp", "transaction_tax", "gst", "dp", "total")
    return tuple(shown[name] for name in names)


def own_plan(**brokerage):
    """The built-in tables with a broker `alpha` of this plan."""
    rows = [
        BrokerageRow(broker="alpha", group=group, **brokerage) for group in Group if group is not Group.FUND_DELIVERY
    ]
    return Charges(statutory=BUILT_IN.statutory, brokerage=Table(rows), dp=BUILT_IN.dp, farm_goods=BUILT_IN.farm_goods)


# --- the worked example of order-engine 6.16 ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ({"percent": Decimal("0.03"), "cap": Decimal(20)}, (7.50, 0.77, 0.03, 0.75, 0.0, 1.49, 0.0, 10.54)),
        ({"flat": Decimal(20)}, (20.0, 0.77, 0.03, 0.75, 0.0, 3.74, 0.0, 25.29)),
    ],
)
def test_the_worked_example(plan, expected):
    assert lines(cost("alpha", "BUY", "MIS", 100, "250.00", charges=own_plan(**plan))) == expected


# --- published figures -------------------------------------------------------------------------------------------------


def statutory(group, exchange, *, charge, buy="0", sell="0", stamp="0"):
    return StatutoryRow(
        exchange=exchange, group=group, exchange_percent=Decimal(charge), regulator_percent=Decimal("0.0001"),
        stamp_percent=Decimal(stamp), tax_buy_percent=Decimal(buy), tax_sell_percent=Decimal(sell),
    )  # fmt: skip


def zerodha_then(row, **brokerage):
    plan = BrokerageRow(broker="zerodha", group=row.group, **{name: Decimal(text) for name, text in brokerage.items()})
    return Charges(statutory=Table([row]), brokerage=Table([plan]), dp=Table[DpRow]([]), farm_goods=())


KITE = (
    # virtual_contract_note.json, order_margins.json and basket_margins.json of zerodha/kiteconnect-mocks (orders of July 2023, read
    # 2026-11-22), with the rates of that month. Kite leaves its lines unrounded, so each is given here as its paisa; stamp duty it
    # rounds to the rupee (0 in each), which is why the rows have none. Of the two NIFTY calls only the value is told (2,673.75, 521.25).
    pytest.param(
        statutory(Group.EQUITY_DELIVERY, "nse", charge="0.00335", buy="0.1", sell="0.1"), {"flat": "0"},
        ("BUY", "CNC", 1, "560", "equities"), (0.0, 0.02, 0.0, 0.0, 0.56, 0.0), id="SBIN, delivery",
    ),
    pytest.param(
        statutory(Group.COMMODITY_FUTURES, "mcx", charge="0.0026", sell="0.01"), {"percent": "0.03", "cap": "20"},
        ("SELL", "NRML", 1, "5862", "commodity_futures"), (1.76, 0.15, 0.01, 0.0, 0.59, 0.35), id="GOLDPETAL, commodity future",
    ),
    pytest.param(
        statutory(Group.EQUITY_OPTIONS, "nse", charge="0.0505", sell="0.0625"), {"flat": "20"},
        ("BUY", "NRML", 100, "1.5", "equity_index_options"), (20.0, 0.08, 0.0, 0.0, 0.0, 3.61), id="NIFTY put, bought",
    ),
    pytest.param(
        statutory(Group.EQUITY_OPTIONS, "nse", charge="0.05", sell="0.0625"), {"flat": "20"},
        ("SELL", "NRML", 75, "35.65", "equity_index_options"), (20.0, 1.34, 0.0, 0.0, 1.67, 3.84), id="NIFTY call, sold",
    ),
    pytest.param(
        statutory(Group.EQUITY_OPTIONS, "nse", charge="0.05", sell="0.0625"), {"flat": "20"},
        ("BUY", "NRML", 75, "6.95", "equity_index_options"), (20.0, 0.26, 0.0, 0.0, 0.0, 3.65), id="NIFTY call, bought",
    ),
    # zerodha.com/brokerage-calculator, stored copy: the page's own commodity example, 1 lot bought at 110 and sold at 112 (1,000
    # units), brokerage 0.01 % then: 22.20, exchange 5.77, tax 11.20, SEBI 0.22 for both sides.
    pytest.param(
        statutory(Group.COMMODITY_FUTURES, "mcx", charge="0.0026", sell="0.01"), {"percent": "0.01", "cap": "20"},
        ("BUY", "MIS", 1000, "110", "commodity_futures"), (11.0, 2.86, 0.11, 0.0, 0.0, 2.51), id="calculator, bought",
    ),
    pytest.param(
        statutory(Group.COMMODITY_FUTURES, "mcx", charge="0.0026", sell="0.01"), {"percent": "0.01", "cap": "20"},
        ("SELL", "MIS", 1000, "112", "commodity_futures"), (11.2, 2.91, 0.11, 0.0, 11.2, 2.56), id="calculator, sold",
    ),
    # forum.5paisa.com, "STT charges in contract notes" (July 2024): 100 shares at 105 intraday 2.625; one lot of ITC, 1,600 at 495:
    # 99; its call at 20: 2.
    pytest.param(
        statutory(Group.EQUITY_INTRADAY, "nse", charge="0.00322", sell="0.025"), {"flat": "20"},
        ("SELL", "MIS", 100, "105", "equities"), (20.0, 0.34, 0.01, 0.0, 2.63, 3.66), id="5paisa, intraday",
    ),
    pytest.param(
        statutory(Group.EQUITY_FUTURES, "nse", charge="0.00188", sell="0.0125"), {"flat": "20"},
        ("SELL", "NRML", 1600, "495", "equity_futures"), (20.0, 14.89, 0.79, 0.0, 99.0, 6.42), id="5paisa, future",
    ),
    pytest.param(
        statutory(Group.EQUITY_OPTIONS, "nse", charge="0.0495", sell="0.0625"), {"flat": "20"},
        ("SELL", "NRML", 1600, "20", "equity_options"), (20.0, 15.84, 0.03, 0.0, 20.0, 6.46), id="5paisa, option",
    ),
    # hmatrading.in, Shoonya calculator: a turnover of 1,000 intraday: exchange 0.03, tax on it 0.01, stamp 0.03, in all 0.07.
    pytest.param(
        statutory(Group.EQUITY_INTRADAY, "nse", charge="0.00325", sell="0.025", stamp="0.003"), {"flat": "0"},
        ("BUY", "MIS", 10, "100", "equities"), (0.0, 0.03, 0.0, 0.03, 0.0, 0.01), id="Shoonya, intraday",
    ),
)  # fmt: skip


@every_case(("row", "brokerage", "order", "expected"), KITE)
def test_published_figures_come_out_to_the_paisa(row, brokerage, order, expected):
    side, product, quantity, price, bare = order
    found = cost(
        "zerodha",
        side,
        product,
        quantity,
        price,
        exchange=row.exchange,
        bare=bare,
        charges=zerodha_then(row, **brokerage),
    )
    assert lines(found)[:6] == expected


@every_case(
    ("exchange", "bare", "product", "side", "name", "rupees"),
    [
        # ₹ a crore, as brokers' pages put it: upstox.com/brokerage-charges, 5paisa.com/pricing, icicidirect.com/brokerage.
        ("nse", "equities", "CNC", "BUY", "stamp", 1500.0),
        ("nse", "equities", "MIS", "BUY", "stamp", 300.0),
        ("nse", "equity_index_futures", "NRML", "BUY", "stamp", 200.0),
        ("nse", "equity_index_options", "NRML", "BUY", "stamp", 300.0),
        ("nse", "currency_futures", "NRML", "BUY", "stamp", 10.0),
        ("mcx", "commodity_futures", "NRML", "BUY", "stamp", 200.0),
        ("mcx", "commodity_options", "NRML", "BUY", "stamp", 300.0),
        ("nse", "equities", "CNC", "SELL", "stamp", 0.0),
        ("nse", "equities", "CNC", "SELL", "regulator", 10.0),
        ("nse", "currency_options", "NRML", "SELL", "regulator", 10.0),
        ("bse", "equities", "CNC", "BUY", "exchange", 375.0),
        ("nse", "equities", "MIS", "SELL", "exchange", 307.0),
        ("nse", "equity_futures", "NRML", "SELL", "exchange", 183.0),
        ("nse", "equity_options", "NRML", "SELL", "exchange", 3553.0),
        ("bse", "equity_index_options", "NRML", "SELL", "exchange", 3250.0),
        # support.hdfcsky.com: currency 0.00035 % and 0.0311 %, MCX 0.0021 % and 0.0418 %, NCDEX 0.0058 %.
        ("nse", "currency_futures", "MIS", "BUY", "exchange", 35.0),
        ("nse", "currency_options", "MIS", "BUY", "exchange", 3110.0),
        ("mcx", "commodity_futures", "MIS", "BUY", "exchange", 210.0),
        ("mcx", "commodity_options", "MIS", "BUY", "exchange", 4180.0),
        ("ncdex", "commodity_futures", "MIS", "BUY", "exchange", 580.0),
        # Securities and commodities transaction tax after the budget of 2026.
        ("nse", "equities", "CNC", "BUY", "transaction_tax", 10_000.0),
        ("nse", "equities", "CNC", "SELL", "transaction_tax", 10_000.0),
        ("nse", "equities", "MIS", "BUY", "transaction_tax", 0.0),
        ("nse", "equities", "MIS", "SELL", "transaction_tax", 2500.0),
        ("nse", "equity_futures", "NRML", "SELL", "transaction_tax", 5000.0),
        ("nse", "equity_options", "NRML", "SELL", "transaction_tax", 15_000.0),
        ("nse", "currency_futures", "NRML", "SELL", "transaction_tax", 0.0),
        # support.zerodha.com and faq.shoonya.com: 0.001 % of a delivered sale of a fund, 0.025 % of one within the day.
        ("nse", "exchange_traded_funds", "CNC", "BUY", "transaction_tax", 0.0),
        ("nse", "exchange_traded_funds", "CNC", "SELL", "transaction_tax", 100.0),
        ("bse", "exchange_traded_funds", "MIS", "SELL", "transaction_tax", 2500.0),
        ("mcx", "commodity_futures", "NRML", "SELL", "transaction_tax", 1000.0),
        ("mcx", "commodity_options", "NRML", "SELL", "transaction_tax", 5000.0),
    ],
)
def test_what_a_crore_is_charged(exchange, bare, product, side, name, rupees):
    found = cost("fivepaisa", side, product, 100_000, "100", exchange=exchange, bare=bare)
    assert found.shown()[name] == rupees


def test_tax_on_futures_was_lower_before_the_budget_of_2026():
    before = cost("zerodha", "SELL", "NRML", 100_000, "100", bare="equity_futures", day=date(2026, 3, 31))
    assert before.shown()["transaction_tax"] == 2000.0


@pytest.mark.parametrize("symbol", ["LIQUIDBEES", "GOLDBEES", "SILVERBEES", "MON100"])
def test_some_funds_pay_no_transaction_tax(symbol):
    assert (
        cost("zerodha", "SELL", "CNC", 1000, "1000", bare="exchange_traded_funds", underlying=symbol).transaction_tax
        == 0
    )
    assert cost("zerodha", "SELL", "CNC", 1000, "1000", underlying=symbol).transaction_tax == 100_000


def test_no_tax_on_services_is_taken_of_the_investor_protection_fund():
    # A crore of premium: ₹50 of the exchange's 3,553 are the fund's, so tax is 18 % of 20 + 3,503 + 10.
    assert cost("fivepaisa", "BUY", "NRML", 100_000, "100", bare="equity_options").shown()["gst"] == 635.94
    assert (
        cost("fivepaisa", "BUY", "NRML", 100_000, "100", exchange="bse", bare="equity_options").shown()["gst"] == 590.4
    )


def test_the_regulator_takes_a_tenth_of_farm_goods():
    sold = {"exchange": "ncdex", "bare": "commodity_futures"}
    assert (
        cost("fivepaisa", "SELL", "NRML", 1000, "100000", underlying="JEERAUNJHA", **sold).shown()["regulator"] == 10.0
    )
    assert (
        cost("fivepaisa", "SELL", "NRML", 1000, "100000", underlying="CRUDEOIL", **sold).shown()["regulator"] == 100.0
    )


def test_farm_goods_pay_no_transaction_tax():
    sold = {"exchange": "mcx", "bare": "commodity_futures"}
    assert cost("zerodha", "SELL", "NRML", 10, "5000", underlying="COTTONCNDY", **sold).transaction_tax == 0
    assert cost("zerodha", "SELL", "NRML", 10, "5000", underlying="CRUDEOIL", **sold).transaction_tax == 500


# --- brokers' own ------------------------------------------------------------------------------------------------------


@every_case(
    ("broker", "product", "bare", "quantity", "price", "lot", "rupees"),
    [
        ("zerodha", "CNC", "equities", 100, "250", 1, 0.0),
        ("zerodha", "MIS", "equities", 100, "250", 1, 7.5),
        ("zerodha", "MIS", "equities", 1000, "250", 1, 20.0),
        ("angelone", "CNC", "equities", 10, "100", 1, 5.0),
        ("groww", "MIS", "equities", 100, "250", 1, 20.0),
        ("fyers", "CNC", "equities", 10, "250", 1, 7.5),
        ("icicidirect", "CNC", "equities", 100, "250", 1, 72.5),
        ("icicidirect", "NRML", "equity_index_options", 195, "10", 65, 135.0),
        ("kotakneo", "NRML", "equity_index_futures", 65, "25000", 65, 0.0),
        ("zerodha", "NRML", "currency_options", 1000, "0.5", 1000, 20.0),
        ("shoonya", "NRML", "equity_index_futures", 65, "25000", 65, 5.0),
    ],
)
def test_a_brokers_plan(broker, product, bare, quantity, price, lot, rupees):
    assert cost(broker, "BUY", product, quantity, price, bare=bare, lot=lot).shown()["brokerage"] == rupees


def test_a_part_of_a_lot_is_charged_as_a_whole_one():
    per_lot = own_plan(per_lot=Decimal(45))
    assert cost("alpha", "BUY", "NRML", 66, "10", bare="equity_options", lot=65, charges=per_lot).brokerage == 9000


def test_shares_that_leave_the_account_cost_the_depositorys_fee_once_a_day():
    assert cost("zerodha", "SELL", "CNC", 10, "100").shown()["dp"] == 15.34
    assert cost("zerodha", "SELL", "CNC", 10, "100", dp_paid=True).dp == 0
    assert cost("zerodha", "BUY", "CNC", 10, "100").dp == 0
    assert cost("fyers", "SELL", "CNC", 10, "100").shown()["dp"] == 14.75
    assert cost("kotakneo", "SELL", "CNC", 10, "100").shown()["dp"] == 23.6
    assert cost("kotakneo", "SELL", "CNC", 1000, "100").shown()["dp"] == 47.2
    assert cost("zerodha", "SELL", "MIS", 10, "100").dp == 0


def test_every_broker_has_a_plan_and_a_fee_for_all_it_takes_orders_for():
    for code, broker in build_registry().items():
        for segment in broker.capabilities.segments:
            exchange, _, bare = segment.partition("_")
            group = group_of(bare, "NRML")
            if group is Group.OTHER or BUILT_IN.statutory_row(exchange, group, TODAY) is None:
                continue
            assert BUILT_IN.brokerage_row(code, group, "NRML", TODAY) is not None, (code, segment)
        assert BUILT_IN.dp_fee(code, Decimal(1000), TODAY) > 0, code


def test_every_figure_says_where_it_comes_from_and_since_when():
    for table in (BUILT_IN.statutory, BUILT_IN.brokerage, BUILT_IN.dp):
        assert [row.key for row in table.rows if not row.source or row.valid_from == ALWAYS] == []


@every_case("bare", sorted(ORDERABLE_SEGMENTS))
@every_case("product", ["CNC", "MIS", "NRML"])
def test_every_segment_has_a_group(bare, product):
    assert group_of(bare, product) in Group


@pytest.mark.parametrize(
    ("exchange", "bare", "price", "broker"),
    [
        ("nse", "fixed_income", "100", "kotakneo"),
        ("nse", "equities", None, "zerodha"),
        ("nse", "equities", "1", "eleventh"),
    ],
)
def test_a_cost_of_which_something_is_not_known_is_not_known(exchange, bare, price, broker):
    order = LegOrder(
        instrument=instrument(exchange, bare), transaction_type="BUY", product="CNC", order_type="MARKET", quantity=1
    )
    known = None if price is None else Decimal(price)
    levies = levies_of(order, known, BUILT_IN, TODAY)
    assert cost_of(order, broker, levies, BUILT_IN, TODAY, lot=1, dp_paid=False) is None


# --- what holds of every order -----------------------------------------------------------------------------------------

BROKERS = st.sampled_from(sorted(build_registry()))
SIDES = st.sampled_from(["BUY", "SELL"])
TRADED = st.sampled_from(
    [
        ("nse", "equities", "CNC"), ("bse", "equities", "MIS"), ("nse", "equity_index_futures", "NRML"),
        ("nse", "equity_options", "MIS"), ("mcx", "commodity_futures", "NRML"), ("mcx", "commodity_options", "MIS"),
    ]
)  # fmt: skip
FUND_SHARES = {
    Group.EQUITY_DELIVERY: Decimal(10) / 307, Group.EQUITY_FUTURES: Decimal(10) / 183, Group.EQUITY_OPTIONS: Decimal(50) / 3553,
}  # fmt: skip
"""Of NSE's charge: ₹10 or ₹50 a crore for the investor protection fund."""
QUANTITIES = st.integers(1, 1_000_000)
PRICES = st.decimals(Decimal("0.05"), Decimal(200_000), places=2)


@given(BROKERS, SIDES, TRADED, QUANTITIES, QUANTITIES, PRICES)
def test_more_units_never_cost_less_and_the_lines_are_the_total(broker, side, traded, some, more, price):
    exchange, bare, product = traded
    few, many = (
        cost(broker, side, product, quantity, price, exchange=exchange, bare=bare, lot=25)
        for quantity in (min(some, more), max(some, more))
    )
    assert few.total <= many.total
    for one in (few, many):
        shown = lines(one)
        assert all(line >= 0 for line in shown)
        assert round(sum(shown[:-1]), 2) == shown[-1]
        fund = 0 if exchange != "nse" else one.exchange * FUND_SHARES[group_of(bare, product)]
        taxed = one.brokerage + one.exchange - fund + one.regulator
        assert abs(one.gst - taxed * Decimal("0.18")) <= 1


def round_half_up(value, of):
    return (2 * value + of) // (2 * of)


@given(SIDES, TRADED, QUANTITIES, PRICES)
def test_every_broker_of_an_exchange_pays_the_same_to_the_state_and_the_exchange(side, traded, quantity, price):
    exchange, bare, product = traded
    paid = {
        statutory_lines(cost(code, side, product, quantity, price, exchange=exchange, bare=bare, lot=25))
        for code in build_registry()
        if BUILT_IN.brokerage_row(code, group_of(bare, product), product, TODAY) is not None
    }
    assert len(paid) == 1


def statutory_lines(found: Cost):
    return found.exchange, found.regulator, found.stamp, found.transaction_tax
