"""Records made of rows by a table: names, functions, units, absent figures."""

from decimal import Decimal

import pytest

from onebroker.brokers.codec.fields import counted
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields, at
from onebroker.brokers.records import OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer

PLAIN = OrderFields(
    order_id=("id", "number"),
    status=lambda row: str(row["state"]),
    transaction_type=lambda row: "BUY",
    product=lambda row: "MIS",
    order_type=lambda row: str(row.get("type") or "LIMIT"),
    validity=lambda row: "DAY",
    quantity="qty",
    filled="done",
    price="rate",
    trigger_price="stop",
    average_price="average",
)
FULL = OrderFields(
    order_id=lambda row: f"odd {row['id']}",
    status=lambda row: str(row["state"]),
    standing=lambda row, status, order_type, quantity, filled: f"{status} {order_type} {filled} of {quantity}",
    transaction_type=lambda row: "BUY",
    product=lambda row: "MIS",
    order_type=lambda row: "SL",
    validity=lambda row: "DAY",
    quantity=lambda row: counted(row.get("qty")),
    filled=lambda row, status: 1 if status == "OPEN" else 0,
    disclosed="shown",
    price=lambda row: 5.0,
    trigger_price="stop",
    average_price="average",
    exchange_order_id="exchange",
    parent_order_id=("parent", "mother"),
    status_message=lambda row: "said",
    order_timestamp=("entered", "changed"),
    exchange_timestamp=lambda row: "noon",
    tag=at(lambda value: None if value == "NA" else str(value), "tag", "remark"),
    variety="variety",
)
TRADE = TradeFields(
    trade_id="fill",
    order_id="id",
    transaction_type=lambda row: "SELL",
    product=lambda row: "CNC",
    quantity="qty",
    price=("average", "rate"),
    exchange_order_id="exchange",
    trade_timestamp="when",
)
SHARE = Instrument("1", "SBIN", "NSE")
ORDER = {"id": "7", "state": "OPEN", "qty": "10", "done": 4}


def test_an_order_needs_no_more_than_its_names_and_absent_prices_are_zero():
    assert PLAIN.row(ORDER, SHARE) == OrderRow(
        order_id="7", status="OPEN", transaction_type="BUY", product="MIS", order_type="LIMIT", validity="DAY",
        instrument_token="1", tradingsymbol="SBIN", exchange="NSE", quantity=10, filled_quantity=4, pending_quantity=6,
    )  # fmt: skip


def test_every_field_may_be_a_function_of_the_row_or_the_first_filled_of_several_names():
    row = {**ORDER, "shown": "2", "stop": "9.5", "exchange": 11, "mother": "6", "changed": "2026-11-23 09:15:00", "tag": "NA",
           "remark": "ab", "variety": "amo"}  # fmt: skip
    assert FULL.row(row, SHARE) == OrderRow(
        order_id="odd 7", status="OPEN SL 1 of 10", transaction_type="BUY", product="MIS", order_type="SL", validity="DAY",
        instrument_token="1", tradingsymbol="SBIN", exchange="NSE", quantity=10, filled_quantity=1, pending_quantity=9,
        disclosed_quantity=2, price=5.0, trigger_price=9.5, exchange_order_id="11", parent_order_id="6",
        status_message="said", order_timestamp="2026-11-23T09:15:00+05:30", exchange_timestamp="noon", tag="ab", variety="amo",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("instrument", "quantity", "pending", "units"),
    [
        (Instrument("1", "USDINR", "CDS", 1000), 10_000, 6000, 1000),
        (Instrument("1", "USDINR", "CDS", None), 10, 6, None),
        (Instrument("1", "GOLD", "MCX", 1, Decimal("0.5")), 5, 3, 1),
        (Instrument("1", "GOLD", "MCX", 100, Decimal(100)), 1000, 600, 100),
    ],
)
def test_quantities_are_in_units_where_the_units_are_known(instrument, quantity, pending, units):
    row = PLAIN.row(ORDER, instrument)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (quantity, pending, units)
    assert all(type(each) is int for each in (row.quantity, row.filled_quantity, row.disclosed_quantity))
    assert TRADE.row({"fill": "f", "id": "7", "qty": 10, "rate": 1}, instrument).quantity == quantity


def test_a_quantity_that_is_no_whole_number_of_units_is_never_rounded():
    tenth = Instrument("1", "GOLD", "MCX", 1, Decimal("0.1"))
    with pytest.raises(BadAnswer, match=r"a quantity of 0\.4 units"):
        PLAIN.row(ORDER, tenth)
    with pytest.raises(BadAnswer, match=r"a quantity of 0\.3 units"):
        TRADE.row({"fill": "f", "id": "7", "qty": 3, "rate": 1}, tenth)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"state": "OPEN", "qty": 1, "done": 0}, "a row without id"),
        ({"id": "7", "state": "OPEN", "done": 0}, "a row without qty"),
        ({"id": "7", "state": "OPEN", "qty": 1}, "a row without done"),
        ({"id": "7", "state": "COMPLETE", "qty": 2, "done": 1}, "an order of 2 that is COMPLETE with 1 filled"),
    ],
)
def test_an_order_without_what_it_must_have_is_unreadable(row, why):
    with pytest.raises(BadAnswer, match=why):
        PLAIN.row(row, SHARE)


def test_an_order_that_cannot_have_filled_may_leave_the_figure_out_and_its_rest_is_cancelled_when_it_is():
    assert PLAIN.row({"id": "7", "state": "REJECTED", "qty": 5}, SHARE).filled_quantity == 0
    assert PLAIN.row({**ORDER, "state": "CANCELLED"}, SHARE).cancelled_quantity == 6


def test_a_trade_is_read_and_has_a_price():
    row = {"fill": 3, "id": "7", "qty": "2", "average": "0", "rate": "9.25", "exchange": "e", "when": "09:15:00"}
    assert TRADE.row(row, SHARE) == TradeRow(
        trade_id="3", order_id="7", transaction_type="SELL", product="CNC", instrument_token="1", tradingsymbol="SBIN",
        exchange="NSE", quantity=2, price=9.25, exchange_order_id="e", trade_timestamp="09:15:00",
    )  # fmt: skip
    with pytest.raises(BadAnswer, match="a trade without a price"):
        TRADE.row({**row, "rate": 0}, SHARE)
