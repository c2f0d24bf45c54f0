"""A quantity that a broker does not give, or gives unreadably, is never zero: the row is refused by its name, or where the broker may
leave it out, the figure is not told.

The rows are the recorded and documented ones of `tests/data/`.
"""

from pathlib import Path

import msgspec
import pytest

from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BadAnswer, WireResponse
from tests.support.every_case import every_case

DATA = Path(__file__).resolve().parents[2] / "data"
REGISTRY = build_registry()
EMPTY = {"icicidirect": b'{"Success":[],"Status":200,"Error":null}'}

POSITIONS = {
    "zerodha": ("positions", "quantity"), "upstox": ("positions", "quantity"), "dhan": ("get_positions", "netQty"),
    "angelone": ("positions", "netqty"), "fyers": ("positions", "netQty"), "kotakneo": ("positions", "flBuyQty"),
    "fivepaisa": ("positions", "NetQty"), "groww": ("positions", "quantity"), "shoonya": ("positions", "netqty"),
    "icicidirect": ("positions", "quantity"),
}  # fmt: skip
ORDERS = {
    "zerodha": ("orders", "quantity"), "upstox": ("order_book", "quantity"), "dhan": ("get-current-orders-list", "quantity"),
    "angelone": ("order_book", "quantity"), "fyers": ("order_book", "qty"), "kotakneo": ("order_report", "qty"),
    "fivepaisa": ("order_book", "Qty"), "groww": ("orders", "quantity"), "shoonya": ("orders", "qty"),
    "icicidirect": ("orders", "quantity"),
}  # fmt: skip
TRADES = {
    "upstox": ("trades", "quantity"), "dhan": ("get_all_trades", "tradedQuantity"), "angelone": ("trade_book", "fillsize"),
    "fyers": ("trades", "tradedQty"), "kotakneo": ("trade_report", "fldQty"), "fivepaisa": ("trade_book", "Qty"),
    "shoonya": ("trades", "flqty"), "icicidirect": ("trades", "quantity"),
}  # fmt: skip
HOLDINGS = {
    "zerodha": ("holdings", "quantity"), "upstox": ("holdings", "quantity"), "dhan": ("get-current-holdings", "totalQty"),
    "angelone": ("holdings", ("quantity", "realisedquantity")), "fyers": ("holdings", "quantity"), "kotakneo": ("holdings", "quantity"),
    "fivepaisa": ("holdings", "Quantity"), "groww": ("holdings", "quantity"),
}  # fmt: skip
FILLED = {
    "zerodha": ("orders", "filled_quantity", "status", "COMPLETE"), "upstox": ("order_book", "filled_quantity", "status", "complete"),
    "dhan": ("get-current-orders-list", "filledQty", "orderStatus", "TRADED"),
    "angelone": ("order_book", "filledshares", "status", "complete"), "fyers": ("order_book", "filledQty", "status", 2),
    "kotakneo": ("order_report", "fldQty", "ordSt", "complete"), "fivepaisa": ("order_book", "TradedQty", "OrderStatus", "Fully Executed"),
    "groww": ("orders", "filled_quantity", "order_status", "EXECUTED"), "shoonya": ("orders", "fillshares", "status", "COMPLETE"),
}  # fmt: skip
ALWAYS_SENT = {
    ("zerodha", "positions", "positions"): "quantity overnight_quantity buy_quantity sell_quantity",
    ("zerodha", "holdings", "holdings"): "quantity t1_quantity",
    ("upstox", "positions", "positions"):
        "quantity overnight_quantity overnight_buy_quantity overnight_sell_quantity day_buy_quantity day_sell_quantity",
    ("upstox", "holdings", "holdings"): "quantity t1_quantity collateral_quantity",
    ("dhan", "positions", "get_positions"): "netQty buyQty sellQty carryForwardBuyQty carryForwardSellQty dayBuyQty daySellQty",
    ("dhan", "holdings", "get-current-holdings"): "totalQty t1Qty collateralQty",
    ("angelone", "positions", "positions"): "netqty buyqty sellqty cfbuyqty cfsellqty",
    ("angelone", "holdings", "holdings"): "t1quantity",
    ("fyers", "positions", "positions"): "netQty buyQty sellQty cfBuyQty cfSellQty dayBuyQty daySellQty",
    ("fyers", "holdings", "holdings"): "quantity qty_t1 collateralQuantity",
    ("kotakneo", "positions", "positions"): "cfBuyQty cfSellQty flBuyQty flSellQty",
    ("kotakneo", "holdings", "holdings"): "quantity",
    ("fivepaisa", "positions", "positions"): "NetQty BodQty BuyQty SellQty",
    ("fivepaisa", "holdings", "holdings"): "Quantity PoolQty MTFQty",
    ("groww", "positions", "positions"):
        "quantity credit_quantity debit_quantity carry_forward_credit_quantity carry_forward_debit_quantity",
    ("groww", "holdings", "holdings"):
        "quantity t1_quantity pledge_quantity demat_free_quantity demat_locked_quantity groww_locked_quantity",
    ("shoonya", "positions", "positions"): "netqty",
    ("icicidirect", "positions", "positions"): "quantity",
    ("icicidirect", "holdings", "demat_holdings"): "quantity demat_avail_quantity demat_allocated_quantity blocked_quantity",
}  # fmt: skip
"""(broker, resource, file) -> the quantities that its documents show in every row."""
PLEDGED = {"zerodha": "collateral_quantity", "angelone": "collateralquantity"}
"""Recorded rows leave these out or say null, so that nothing is pledged."""
LEFT_OUT = {"shoonya": {"daybuyqty", "daysellqty", "cfbuyqty", "cfsellqty"}}
"""Broker -> what its documents leave out where it is zero (`shoonya/test_portfolio.py`)."""
GONE = object()
SPOILED = [GONE, None, "", "NA", "many", [1], {"is": 1}, True, 1.5, "nan", 1e30]


def body_of(code, name):
    if code == "icicidirect":
        return msgspec.json.decode((DATA / code / "readme.json").read_bytes())[name]
    body = msgspec.json.decode((DATA / code / f"{name}.json").read_bytes())
    return body["data"] if code == "dhan" else body


def spoiled(value, field, new):
    """Return a body with the field (or fields) of every row replaced, or gone."""
    if isinstance(field, tuple):
        for each in field:
            value = spoiled(value, each, new)
        return value
    if isinstance(value, list):
        return [spoiled(each, field, new) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {name: spoiled(each, field, new) for name, each in value.items() if name != field or new is not GONE}
    return {**changed, field: new} if field in changed and new is not GONE else changed


def read(code, resource, name, *changes):
    body = body_of(code, name)
    for field, new in changes:
        body = spoiled(body, field, new)
    return parsed(code, resource, body)


def parsed(code, resource, body):
    broker = REGISTRY[code]
    answers = [WireResponse(status=200, body=msgspec.json.encode(body))]
    if code == "upstox" and resource == "holdings":
        answers.append(WireResponse(status=200, body=(DATA / code / "mtf_positions.json").read_bytes()))
    elif code == "icicidirect":
        answers += [WireResponse(status=200, body=EMPTY[code])] * (1 if resource == "holdings" else 3)
    parse = getattr(broker.books if resource in ("orders", "trades") else broker.portfolio, f"parse_{resource}")
    return parse(answers) if resource == "holdings" else parse(answers, {})


def cases():
    tables = {"positions": POSITIONS, "orders": ORDERS, "trades": TRADES, "holdings": HOLDINGS}
    for resource, table in tables.items():
        for code, (name, field) in table.items():
            yield pytest.param(code, resource, name, field, id=f"{code}-{resource}")


@pytest.mark.parametrize(("code", "resource", "name", "field"), [*cases()])
def test_a_quantity_that_is_not_told_or_is_no_number_is_never_zero(code, resource, name, field):
    for new in SPOILED:
        with pytest.raises(BadAnswer):
            pytest.fail(f"{new!r} is read as {read(code, resource, name, (field, new))}")


@pytest.mark.parametrize("code", FILLED)
def test_a_complete_order_that_is_not_filled_contradicts_itself(code):
    name, field, status, word = FILLED[code]
    for new in (GONE, None, "", 0, "0", "many"):
        with pytest.raises(BadAnswer):
            pytest.fail(
                f"{new!r} is read as {read(code, 'orders', name, (status, word), ('cancelqty', 0), ('quantity', 5), (field, new))}"
            )


UNREADABLE = {"absent": GONE, "null": None, "blank": "", "a word": "many"}


def each_field(table):
    return [(code, *names, field) for (code, *names), listed in table.items() for field in listed.split()]


@every_case("given", UNREADABLE.values(), ids=UNREADABLE)
@every_case("code, resource, name, field", each_field(ALWAYS_SENT))
def test_a_quantity_that_the_broker_always_sends_is_no_zero_without_it(code, resource, name, field, given):
    with pytest.raises(BadAnswer):
        pytest.fail(f"read as {read(code, resource, name, (field, given))}")


@every_case("code", PLEDGED)
def test_a_pledge_is_none_where_it_is_not_told_and_refused_where_it_is_no_number(code):
    assert {row.collateral_quantity for row in read(code, "holdings", "holdings", (PLEDGED[code], None))} == {0}
    with pytest.raises(BadAnswer):
        read(code, "holdings", "holdings", (PLEDGED[code], "many"))


@every_case("given", UNREADABLE.values(), ids=UNREADABLE)
def test_margin_trading_units_of_kite_that_do_not_say_how_many_are_refused(given):
    body = body_of("zerodha", "holdings")
    for row in body["data"]:
        row["mtf"] = spoiled(row["mtf"], "quantity", given)
    with pytest.raises(BadAnswer):
        parsed("zerodha", "holdings", body)


@every_case("given", UNREADABLE.values(), ids=UNREADABLE)
@every_case(
    "code, stop", [("dhan", {"orderStatus": "PENDING", "orderType": "STOP_LOSS"}), ("fyers", {"status": 6, "type": 4})]
)
def test_a_stop_is_not_taken_as_waiting_because_its_fills_are_not_told(code, stop, given):
    """Where the broker has one word for a stop before and after its trigger, what it filled tells them apart."""
    name, field = FILLED[code][:2]
    with pytest.raises(BadAnswer):
        pytest.fail(f"read as {read(code, 'orders', name, *stop.items(), (field, given))}")


@every_case("given", UNREADABLE.values(), ids=UNREADABLE)
def test_a_trade_book_is_not_whole_while_an_order_does_not_tell_its_fills(given):
    """Groww lists trades order by order, of those that have fills."""
    orders = spoiled(body_of("groww", "orders"), "filled_quantity", given)
    with pytest.raises(BadAnswer):
        pytest.fail(f"read as {parsed('groww', 'trades', orders)}")


@every_case("given", UNREADABLE.values(), ids=UNREADABLE)
@every_case("status", ["Cancelled", "Ordered", "Partially Executed"])
@every_case("field", ["pending_quantity", "cancelled_quantity"])
def test_a_fill_is_not_worked_out_of_a_rest_that_is_not_told(field, status, given):
    """Of ICICI Direct's orders: they are asked for their fills."""
    order = body_of("icicidirect", "orders")["Success"][0]
    told = order | {"status": status, "quantity": "10", "pending_quantity": "3", "cancelled_quantity": "3"}
    body = {"Success": [spoiled(told, field, given)], "Status": 200, "Error": None}
    answers = [WireResponse(status=200, body=each) for each in (msgspec.json.encode(body), *[EMPTY["icicidirect"]] * 3)]
    with pytest.raises(BadAnswer):
        pytest.fail(f"read as {REGISTRY['icicidirect'].books.parse_orders(answers, {})}")


def test_every_quantity_that_is_read_of_a_position_is_tried():
    for code, (name, _) in POSITIONS.items():
        listed = set(ALWAYS_SENT.get((code, "positions", name), "").split())
        assert listed == {field for row in rows_in(body_of(code, name)) for field in row if is_quantity(field)} & USED[
            code
        ] - LEFT_OUT.get(code, set())


def is_quantity(field):
    return "qty" in field.lower() or "quantity" in field.lower()


def rows_in(value):
    if isinstance(value, list):
        return [row for each in value for row in rows_in(each)]
    if isinstance(value, dict):
        inner = [row for each in value.values() for row in rows_in(each)]
        return [*inner, value]
    return []


USED = {
    "zerodha": {"quantity", "overnight_quantity", "buy_quantity", "sell_quantity"},
    "upstox": {"quantity", "overnight_quantity", "overnight_buy_quantity", "overnight_sell_quantity", "day_buy_quantity", "day_sell_quantity"},
    "dhan": {"netQty", "buyQty", "sellQty", "carryForwardBuyQty", "carryForwardSellQty", "dayBuyQty", "daySellQty"},
    "angelone": {"netqty", "buyqty", "sellqty", "cfbuyqty", "cfsellqty"},
    "fyers": {"netQty", "buyQty", "sellQty", "cfBuyQty", "cfSellQty", "dayBuyQty", "daySellQty"},
    "kotakneo": {"cfBuyQty", "cfSellQty", "flBuyQty", "flSellQty"},
    "fivepaisa": {"NetQty", "BodQty", "BuyQty", "SellQty"},
    "groww": {"quantity", "credit_quantity", "debit_quantity", "carry_forward_credit_quantity", "carry_forward_debit_quantity"},
    "shoonya": {"netqty", "daybuyqty", "daysellqty", "cfbuyqty", "cfsellqty"},
    "icicidirect": {"quantity"},
}  # fmt: skip


VALUES = {
    "zerodha": "buy_value sell_value",
    "upstox": "buy_value sell_value day_buy_value day_sell_value",
    "dhan": "carryForwardBuyValue carryForwardSellValue dayBuyValue daySellValue",
    "angelone": "totalbuyvalue totalsellvalue buyamount sellamount cfbuyamount cfsellamount",
    "fyers": "buyVal sellVal",
    "kotakneo": "cfBuyAmt cfSellAmt buyAmt sellAmt",
    "fivepaisa": "BuyValue SellValue BODPositionPrice",
    "groww": "credit_price debit_price carry_forward_credit_price carry_forward_debit_price",
    "shoonya": "cfbuyamt cfsellamt daybuyamt daysellamt",
}
"""Broker -> what the value of a leg of a position is read from."""
FOUR_LEGS = {
    "dhan": {
        "netQty": 3, "buyQty": 12, "sellQty": 9, "carryForwardBuyQty": 5, "carryForwardSellQty": 5, "dayBuyQty": 7, "daySellQty": 4,
        "carryForwardBuyValue": 50.0, "carryForwardSellValue": 55.0, "dayBuyValue": 70.0, "daySellValue": 44.0, "buyAvg": 10.0,
        "sellAvg": 11.0,
    },
    "angelone": {
        "netqty": "3", "buyqty": "12", "sellqty": "9", "cfbuyqty": "5", "cfsellqty": "5", "buyamount": "70.00", "sellamount": "44.00",
        "cfbuyamount": "50.00", "cfsellamount": "55.00", "totalbuyvalue": "120.00", "totalsellvalue": "99.00",
    },
    "kotakneo": {
        "cfBuyQty": "5", "cfSellQty": "5", "flBuyQty": "7", "flSellQty": "4", "cfBuyAmt": "50.00", "cfSellAmt": "55.00", "buyAmt": "70.00",
        "sellAmt": "44.00",
    },
    "fivepaisa": {
        "NetQty": 8, "BodQty": 5, "BuyQty": 7, "SellQty": 4, "BuyValue": 70.0, "SellValue": 44.0, "BODPositionPrice": 10.0,
        "BuyAvgRate": 10.0, "SellAvgRate": 11.0,
    },
    "shoonya": {
        "netqty": "3", "cfbuyqty": "5", "cfsellqty": "5", "daybuyqty": "7", "daysellqty": "4", "cfbuyamt": "50.00", "cfsellamt": "55.00",
        "daybuyamt": "70.00", "daysellamt": "44.00",
    },
}  # fmt: skip
"""Broker -> figures of a position that has all legs, for those whose recorded rows have one a side."""


@every_case("given", UNREADABLE.values(), ids=UNREADABLE)
@every_case("code, field", [(code, field) for code, listed in VALUES.items() for field in listed.split()])
def test_a_value_that_is_not_told_is_not_what_is_left_of_it(code, field, given):
    """It is the whole value, where the leg it is of holds nothing, or it is not told; never that of the other legs."""
    name = POSITIONS[code][0]
    for legs in ({}, FOUR_LEGS.get(code, {})):
        whole = body_of(code, name)
        for each, figure in legs.items():
            whole = filled_in(whole, each, figure)
        told, less = values_of(code, name, whole), values_of(code, name, spoiled(whole, field, given))
        assert less.keys() == told.keys()
        wrong = {key: (told[key], less[key]) for key in told if (less[key] or None) not in (None, told[key])}
        assert not wrong
        assert any(told.values()) or (not legs and code in FOUR_LEGS)


def filled_in(value, field, new):
    """Return a body with the field set in every row of a position, whether or not it was there."""
    if isinstance(value, list):
        return [{**filled_in(each, field, new), field: new} for each in value]
    return {key: filled_in(each, field, new) for key, each in value.items()} if isinstance(value, dict) else value


def values_of(code, name, body):
    rows = parsed(code, "positions", body)
    return {
        (row.view, row.position_key, side): getattr(row, side) for row in rows for side in ("buy_value", "sell_value")
    }
