"""What an order row that cannot be read still says of whose it is, by each broker's names of the fields."""

import msgspec
import pytest

from onebroker.brokers.codec.contained import OddName, OddRows, order_names
from onebroker.brokers.codec.fields import text
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import WireResponse
from tests.support.every_case import every_case

REGISTRY = build_registry()

ROWS = [
    ("zerodha", {"order_id": "7", "tag": None}, lambda rows: {"status": "success", "data": rows}, OddName("7", "")),
    ("zerodha", {"order_id": "7", "tag": "mine"}, lambda rows: {"status": "success", "data": rows}, OddName("7", "mine")),
    ("upstox", {"order_id": "7", "tag": ""}, lambda rows: {"status": "success", "data": rows}, OddName("7", "")),
    ("dhan", {"orderId": "7", "correlationId": "NA"}, lambda rows: rows, OddName("7", "")),
    ("fyers", {"id": "7", "orderTag": "1:mine"}, lambda rows: {"s": "ok", "orderBook": rows}, OddName("7", "mine")),
    ("groww", {"groww_order_id": "7", "order_reference_id": "mine-1"},
     lambda rows: {"status": "SUCCESS", "payload": {"order_list": rows}}, OddName("7", "mine-1")),
    ("angelone", {"orderid": 7, "ordertag": "mine"}, lambda rows: {"status": True, "data": rows}, OddName("7", "mine")),
    ("fivepaisa", {"BrokerOrderId": 7, "RemoteOrderID": "mine"},
     lambda rows: {"head": {"status": "0"}, "body": {"Status": 0, "Message": "", "OrderBookDetail": rows}}, OddName("7", "mine")),
    ("kotakneo", {"nOrdNo": "7", "GuiOrdId": "mine"}, lambda rows: {"stat": "Ok", "stCode": 200, "data": rows}, OddName("7", "mine")),
    ("shoonya", {"norenordno": "7", "remarks": "mine", "stat": "Ok"}, lambda rows: rows, OddName("7", "mine")),
    ("icicidirect", {"order_id": "7", "user_remark": "mine"}, lambda rows: {"Success": rows, "Status": 200, "Error": None}, OddName("7", "mine")),
]  # fmt: skip


@every_case(("code", "row", "wrapped", "name"), ROWS)
def test_a_row_without_its_quantities_names_its_order_and_its_tag(code, row, wrapped, name):
    answer = WireResponse(status=200, body=msgspec.json.encode(wrapped([row])))
    with pytest.raises(OddRows) as odd:
        REGISTRY[code].books.parse_orders([answer], {})
    assert odd.value.names == (name,)


def test_every_broker_is_among_them():
    assert {code for code, *_ in ROWS} == set(REGISTRY)


@every_case(
    ("row", "name"),
    [
        ({}, OddName(None, None)),
        ({"id": "7"}, OddName("7", None)),
        ({"id": "", "tag": ""}, OddName(None, "")),
        ({"id": {"a": 1}, "tag": {"a": 1}}, OddName(None, None)),
        ({"id": True, "tag": 5}, OddName(None, None)),
        ({"id": 0, "no": 7, "tag": None}, OddName("7", "")),
    ],
)
def test_what_cannot_be_read_of_it_is_not_told(row, name):
    assert order_names(("id", "no"), ("tag",), text)(row) == name
