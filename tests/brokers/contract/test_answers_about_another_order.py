"""An answer about another order than was asked about is no data, at all ten brokers: neither an acceptance nor a refusal, so that the
book decides. Answers as each broker writes them."""

from collections import defaultdict
from datetime import datetime
from decimal import Decimal

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, Login, OrderChange
from onebroker.brokers.codec.order_messages import answer_to
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import OrderNames, WireRequest, WireResponse
from onebroker.config.clock import IST
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

REGISTRY = build_registry()
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
TOKEN, OTHER_TOKEN = "ob0123456789ab", "ob0123456789ac"
EXCHANGE_ID = "1100000001089341"
LEFT_OUT = object()


def without(fields):
    return {name: value for name, value in fields.items() if value is not LEFT_OUT}


@attrs.frozen(kw_only=True)
class Words:
    """How one broker names a share, an order, and what it answers."""

    share: tuple[str, str, str]
    """broker_token, tradingsymbol, exchange."""
    order_id: str
    another: str
    placed: object
    """(order id, repeated tag) -> the body of a place's answer; `LEFT_OUT` leaves one out."""
    changed: object
    """(order id) -> that of a modify's."""
    cancelled: object
    room: str | None = None


def five(order_id, token=TOKEN, exchange_id="0", status=0):
    """5paisa answers all three alike; an order just placed has no exchange number yet."""
    body = {
        "BrokerOrderID": order_id if order_id is LEFT_OUT else int(order_id), "ClientCode": "52345678", "Exch": "N",
        "ExchOrderID": exchange_id, "ExchType": "C", "LocalOrderID": 0, "Message": "Success", "RMSResponseCode": 1,
        "RemoteOrderID": token, "ScripCode": 1660, "Status": status, "Time": "/Date(1658255400000+0530)/",
    }  # fmt: skip
    return {
        "body": without(body),
        "head": {"responseCode": "5PPlaceOrdReqV1", "status": "0", "statusDescription": "Success"},
    }


def five_standing(named):
    """Modify and cancel are asked by the exchange's number: what is left out or another is that one."""
    exchange_id = {"672112769": EXCHANGE_ID, "672112770": "1100000001089342"}.get(named, named)
    return five(LEFT_OUT if named is LEFT_OUT else "672112769", exchange_id="0" if named is LEFT_OUT else exchange_id)


def kite(order_id, _token=None):
    return {"status": "success", "data": without({"order_id": order_id})}


def upstox_placed(order_id, _token=None):
    data = {} if order_id is LEFT_OUT else {"order_ids": [order_id]}
    return {"status": "success", "data": data, "metadata": {"latency": 30}}


def angel(order_id, _token=None):
    data = without({"orderid": order_id, "uniqueorderid": "34reqfachdfih"})
    return {"status": True, "message": "SUCCESS", "errorcode": "", "data": data}


def fyers(code, message):
    return lambda order_id, _token=None: without({"s": "ok", "code": code, "message": message, "id": order_id})


def neo(order_id, _token=None):
    return without({"nOrdNo": order_id, "stat": "Ok", "stCode": 200})


def noren(field):
    return lambda order_id, _token=None: without({"request_time": "10:00:00 23-11-2026", "stat": "Ok", field: order_id})


def groww(order_id, token=LEFT_OUT):
    payload = {"groww_order_id": order_id, "order_status": "OPEN", "order_reference_id": token}
    return {"status": "SUCCESS", "payload": without(payload)}


def breeze(order_id, remark=LEFT_OUT):
    success = {"order_id": order_id, "message": "Successfully Placed the order", "user_remark": remark}
    return {"Success": without(success), "Status": 200, "Error": None}


def dhan(status):
    return lambda order_id, token=LEFT_OUT: without(
        {"orderId": order_id, "orderStatus": status, "correlationId": token}
    )


WORDS = {
    "zerodha": Words(
        share=("408065", "INFY", "NSE"), order_id="151220000000000", another="151220000000001",
        placed=kite, changed=kite, cancelled=kite,
    ),
    "upstox": Words(
        share=("NSE_EQ|INE009A01021", "INFY", "NSE_EQ"), order_id="231019025057849", another="231019025057840",
        placed=upstox_placed, changed=kite, cancelled=kite,
    ),
    "dhan": Words(
        share=("NSE_EQ:1594", "INFY", "NSE_EQ"), order_id="112111182198", another="112111182199",
        placed=dhan("TRANSIT"), changed=dhan("TRANSIT"), cancelled=dhan("CANCELLED"),
    ),
    "angelone": Words(
        share=("NSE|3045", "SBIN-EQ", "NSE"), order_id="200910000000111", another="200910000000112",
        placed=angel, changed=angel, cancelled=angel,
    ),
    "fyers": Words(
        share=("nse_cm|3045", "NSE:SBIN-EQ", "NSE"), order_id="23030900015105", another="23030900015106",
        placed=fyers(1101, "Order submitted successfully. Your Order Ref. No.XXX"),
        changed=fyers(1102, "Successfully modified order"), cancelled=fyers(1103, "Successfully cancelled order"),
    ),
    "kotakneo": Words(
        share=("nse_cm|3456", "M&M-EQ", "nse_cm"), order_id="250720000007242", another="250720000007243",
        placed=neo, changed=neo, cancelled=neo,
    ),
    "fivepaisa": Words(
        share=("N:C:1660", "ITC", "N:C"), order_id="672112769", another="672112770",
        placed=five, changed=five_standing, cancelled=five_standing,
    ),
    "groww": Words(
        share=("NSE:CASH:RELIANCE", "RELIANCE", "NSE"), order_id="GMK39038RDT490CCVRO", another="GMK39038RDT490CCVRP",
        placed=groww, changed=groww, cancelled=groww,
    ),
    "icicidirect": Words(
        share=("NSE:RELIND", "RELIND", "NSE"), order_id="20250205N300001234", another="20250205N300001235",
        placed=breeze, changed=breeze, cancelled=breeze, room="4!2885",
    ),
    "shoonya": Words(
        share=("NSE|11536", "TCS-EQ", "NSE"), order_id="26112300012345", another="26112300012346",
        placed=noren("norenordno"), changed=noren("result"), cancelled=noren("result"),
    ),
}  # fmt: skip
REPEATS_THE_TAG = ("dhan", "fivepaisa", "groww", "icicidirect")
STANDING = ("modify", "cancel")

each_broker = every_case("code", REGISTRY)
each_change = every_case("verb", STANDING)


class Asked:
    """One broker's three messages, built by its own codec."""

    def __init__(self, code):
        self.broker, self.words = REGISTRY[code], WORDS[code]
        token, symbol, exchange = self.words.share
        names = {} if self.words.room is None else {"other_names": self.words.room}
        self.listing = Listing(broker_token=token, tradingsymbol=symbol, exchange=exchange, contract_units=1, **names)
        self.row = OrderRow(
            order_id=self.words.order_id, status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT",
            validity="DAY", instrument_token=token, tradingsymbol=symbol, exchange=exchange, quantity=5, price=1573.1,
            exchange_order_id=EXCHANGE_ID, contract_units=1,
        )  # fmt: skip
        login = Login(tokens=defaultdict(lambda: "token"), user_id="AB1234", logged_in_at=0.0, expires_at=0.0)
        keys = dict.fromkeys(self.broker.all_credential_keys, "key")
        self.access = Access(endpoints=self.broker.endpoints, credentials=keys, login=login)

    def request(self, verb):
        orders = self.broker.orders
        if verb == "place":
            return orders.place_request(self.access, limit_order(self.listing, token=TOKEN), NOW)
        if verb == "modify":
            change = OrderChange(
                row=self.row, listing=self.listing, segment="nse_equities", quantity=6, price=Decimal("1574.00")
            )
            return orders.modify_request(self.access, change, NOW)
        return orders.cancel_request(self.access, self.row, NOW)

    def answer(self, verb, body, *, status=200, known=()):
        response = WireResponse(status=status, body=msgspec.json.encode(body))
        return answer_to(self.broker.orders, self.request(verb), response, known=known)

    def standing(self, verb, order_id):
        """Return the body of an answer to a modify or cancel that names this order."""
        return (self.words.changed if verb == "modify" else self.words.cancelled)(order_id)


@each_broker
def test_an_answer_about_the_order_that_was_asked_about_is_an_acceptance(code):
    asked = Asked(code)
    placed = asked.answer("place", asked.words.placed(asked.words.order_id, TOKEN), known={asked.words.another})
    assert (placed.outcome, placed.order_id) == (Outcome.ACCEPTED, asked.words.order_id)
    for verb in STANDING:
        answer = asked.answer(verb, asked.standing(verb, asked.words.order_id), known={asked.words.order_id})
        assert (answer.outcome, answer.order_id) == (Outcome.ACCEPTED, asked.words.order_id)
        assert answer.status_message is None


@each_broker
@each_change
def test_a_change_answered_with_another_order_is_unknown_and_says_so(code, verb):
    asked = Asked(code)
    body = asked.standing(verb, asked.words.another)
    answer = asked.answer(verb, body)
    assert (answer.outcome, answer.order_id) == (Outcome.UNKNOWN, None)
    told, meant = asked.words.another, asked.words.order_id
    if code == "fivepaisa":
        told, meant = "1100000001089342", EXCHANGE_ID
    assert answer.status_message == texts.answer_of_another_order(told, meant)
    assert answer.broker_response == body


@each_broker
@each_change
def test_a_change_answered_without_an_order_is_read_as_ever_and_blamed_for_nothing(code, verb):
    asked = Asked(code)
    answer = asked.answer(verb, asked.standing(verb, LEFT_OUT))
    assert answer.status_message is None
    assert answer.outcome is Outcome.UNKNOWN  # no broker's page has a yes without its order's id


@every_case("code", ["angelone", "dhan", "fyers", "upstox"])
@each_change
def test_an_order_id_written_as_a_number_is_the_same(code, verb):
    asked = Asked(code)
    answer = asked.answer(verb, asked.standing(verb, int(asked.words.order_id)))
    assert (answer.outcome, answer.order_id) == (Outcome.ACCEPTED, asked.words.order_id)


@every_case(
    ("asked", "told", "same"),
    [
        ("0012345678", "12345678", True), ("12345678", "0012345678", True), ("GMK1ab", " gmk1AB ", True),
        ("12345678", "123456780", False), ("GMK1", "GMK10", False), ("0", "00", True), ("12A", "012A", False),
        ("808058117761-BO-1", "808058117761", True), ("808058117761", "808058117761-BO-1", True),
        ("808058117761-BO-1", "808058117761-BO-2", False), ("808058117761-BO-1", "808058117762", False),
    ],
)  # fmt: skip
def test_ids_are_compared_as_brokers_write_them(asked, told, same):
    """Fyers' books may name a leg after a hyphen, its answers the order without it."""
    request = WireRequest(kind="order", method="DELETE", url="https://x", about=OrderNames(order_id=asked))
    body = msgspec.json.encode({"s": "ok", "code": 1103, "message": "", "id": told})
    answer = answer_to(REGISTRY["fyers"].orders, request, WireResponse(status=200, body=body))
    assert answer.outcome is (Outcome.ACCEPTED if same else Outcome.UNKNOWN)


@pytest.mark.parametrize("code", REPEATS_THE_TAG)
def test_a_placed_order_answered_with_another_tag_is_unknown_and_says_so(code):
    asked = Asked(code)
    answer = asked.answer("place", asked.words.placed(asked.words.order_id, OTHER_TOKEN))
    assert (answer.outcome, answer.order_id) == (Outcome.UNKNOWN, None)
    assert answer.status_message == texts.answer_of_another_tag(OTHER_TOKEN, TOKEN)


@every_case("code", REPEATS_THE_TAG)
@every_case("said", [TOKEN.upper(), "", None, LEFT_OUT])
def test_a_tag_in_capitals_or_left_out_contradicts_nothing(code, said):
    asked = Asked(code)
    answer = asked.answer("place", asked.words.placed(asked.words.order_id, said))
    assert (answer.outcome, answer.order_id) == (Outcome.ACCEPTED, asked.words.order_id)


@each_broker
def test_a_placed_order_answered_with_an_order_that_was_there_before_is_unknown_and_says_so(code):
    asked = Asked(code)
    answer = asked.answer("place", asked.words.placed(asked.words.order_id, TOKEN), known={asked.words.order_id})
    assert (answer.outcome, answer.order_id) == (Outcome.UNKNOWN, None)
    assert answer.status_message == texts.answer_of_older_order(asked.words.order_id)


def test_a_rejected_order_of_dhan_with_another_tag_is_not_ours_to_take_as_rejected():
    asked = Asked("dhan")
    assert asked.answer("place", dhan("REJECTED")("1", TOKEN)).outcome is Outcome.REJECTED
    assert asked.answer("place", dhan("REJECTED")("1", OTHER_TOKEN)).outcome is Outcome.UNKNOWN
    assert asked.answer("modify", dhan("REJECTED")("1")).outcome is Outcome.UNKNOWN


@each_change
def test_a_refusal_of_5paisa_that_names_another_order_is_no_refusal_of_ours(verb):
    asked = Asked("fivepaisa")
    assert asked.answer(verb, five("672112769", exchange_id=EXCHANGE_ID, status=1)).outcome is Outcome.REJECTED
    other = asked.answer(verb, five("672112769", exchange_id="1100000001089342", status=1))
    assert (other.outcome, other.status_message) == (
        Outcome.UNKNOWN, texts.answer_of_another_order("1100000001089342", EXCHANGE_ID),
    )  # fmt: skip


@each_change
def test_5paisa_is_held_to_its_own_number_where_it_leaves_out_the_exchanges_and_not_where_it_gives_it(verb):
    """The number of a stop order may change; the exchange's, by which it was asked for, does not."""
    asked = Asked("fivepaisa")
    assert asked.answer(verb, five("672112770", exchange_id=EXCHANGE_ID)).outcome is Outcome.ACCEPTED
    assert asked.answer(verb, five("672112770", exchange_id="0")).outcome is Outcome.UNKNOWN
    assert asked.answer(verb, five("672112770", exchange_id="00" + EXCHANGE_ID)).outcome is Outcome.ACCEPTED
    assert asked.answer(verb, five("672112770", exchange_id=int(EXCHANGE_ID))).outcome is Outcome.ACCEPTED


@pytest.mark.parametrize("code", REGISTRY)
@pytest.mark.parametrize("verb", STANDING)
def test_no_other_order_is_ever_accepted_for_the_one_asked_about(code, verb):
    asked = Asked(code)
    own = {asked.words.order_id.lower(), EXCHANGE_ID}

    @given(told=st.integers(1, 10**16).map(str) | st.from_regex(r"[A-Za-z1-9][A-Za-z0-9]{0,19}", fullmatch=True))
    def every(told):
        answer = asked.answer(verb, asked.standing(verb, told))
        assert answer.outcome is (Outcome.ACCEPTED if told.lower() in own else Outcome.UNKNOWN)

    every()
