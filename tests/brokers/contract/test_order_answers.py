"""Whatever a broker answers to an order, reading it raises nothing, and an order counts as accepted exactly when it has an id."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.codec.order_messages import answer_to
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind, OrderNames, WireRequest, WireResponse
from onebroker.config.vocabulary import Outcome

REGISTRY = build_registry()
WORDS = {
    "zerodha": (["status", "data", "order_id", "error_type", "message"], ["success", "error", "TokenException"]),
    "upstox": (["status", "data", "order_id", "order_ids", "errors", "errorCode"], ["success", "error", "UDAPI10005"]),
    "dhan": (
        ["orderId", "orderStatus", "data", "status", "errorCode", "807", "correlationId"],
        ["success", "failure", "DH-901"],
    ),
    "angelone": (["status", "success", "data", "orderid", "errorcode"], ["AG8001", "AB1010"]),
    "fyers": (["s", "code", "id", "message"], ["ok", "error"]),
    "kotakneo": (["stat", "stCode", "nOrdNo", "error", "fault", "status", "code"], ["Ok", "Not_Ok", 200, 100022]),
    "fivepaisa": (
        ["head", "body", "status", "Status", "Message", "BrokerOrderID", "ExchOrderID", "RemoteOrderID"],
        [0, "0", "5"],
    ),
    "groww": (
        ["status", "payload", "error", "code", "groww_order_id", "order_reference_id"],
        ["SUCCESS", "FAILURE", "GA001"],
    ),
    "icicidirect": (["Success", "Status", "Error", "order_id", "user_remark"], [200, 500]),
    "shoonya": (["stat", "emsg", "norenordno", "result"], ["Ok", "Not_Ok"]),
}
"""code -> the fields and words of its answers."""


def answers(code):
    """Return a strategy of bodies: bytes, JSON of the broker's fields, and such JSON cut off."""
    fields, words = WORDS[code]
    plain = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=8)
    )
    value = st.recursive(
        plain | st.sampled_from(words),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(fields), inner),
        max_leaves=8,
    )
    whole = value.map(msgspec.json.encode)
    return st.binary(max_size=60) | whole | whole.map(lambda body: body[:-1])


@pytest.mark.parametrize("code", REGISTRY)
def test_no_answer_raises_and_only_an_order_id_is_an_acceptance(code):
    orders = REGISTRY[code].orders
    asked = (OrderNames(), OrderNames(token="ob1"), OrderNames(order_id="1", exchange_order_id="2"))
    requests = [WireRequest(kind=CallKind.ORDER, method="POST", url="https://x", about=about) for about in asked]

    @given(status=st.integers(100, 599), body=answers(code))
    def every(status, body):
        response = WireResponse(status=status, body=body)
        answer = orders.parse_order_answer(response)
        for request in requests:
            read = answer_to(orders, request, response)
            assert read == answer or (read.outcome, read.order_id) == (Outcome.UNKNOWN, None)
        assert (answer.outcome is Outcome.ACCEPTED) == (answer.order_id is not None)
        assert status < 500 or answer.outcome is Outcome.UNKNOWN  # its own systems failed: nothing is sure

    every()
