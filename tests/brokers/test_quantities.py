"""A quantity that a broker does not give, or gives unreadably, is never zero: the row is refused by its name.

The rows are the recorded and documented ones of `tests/data/`.
"""

from pathlib import Path

import msgspec
import pytest

from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BadAnswer, WireResponse

DATA = Path(__file__).resolve().parents[1] / "data"
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
    broker = REGISTRY[code]
    body = body_of(code, name)
    for field, new in changes:
        body = spoiled(body, field, new)
    answers = [WireResponse(status=200, body=msgspec.json.encode(body))]
    if code == "upstox" and resource == "holdings":
        answers.append(WireResponse(status=200, body=(DATA / code / "mtf_positions.json").read_bytes()))
    elif code == "icicidirect":
        answers += [WireResponse(status=200, body=EMPTY[code])] * 3
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
            pytest.fail(f"{new!r} is read as {read(code, 'orders', name, (status, word), ('cancelqty', 0), ('quantity', 5), (field, new))}")


def test_garbage_in_any_quantity_of_a_position_is_no_zero():
    """Of every broker, and of every field that is named after a quantity."""
    for code, (name, _) in POSITIONS.items():
        fields = {field for row in rows_in(body_of(code, name)) for field in row if is_quantity(field)}
        assert fields
        for field in fields & USED[code]:
            with pytest.raises(BadAnswer):
                pytest.fail(f"{code} {field}: {read(code, 'positions', name, (field, 'many'))}")


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
