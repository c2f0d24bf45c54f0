"""Asking a broker for one order by our token, at every broker that can be asked so (order-engine 2.4, row 13)."""

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.orders.leg_tokens import leg_token
from onebroker.actors.sessions.messages import AskByToken, NotOffered
from onebroker.brokers.broker import FoundByToken, TokenQuestion
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BadAnswer, BrokerError, WireResponse
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.unknown.test_unknown_orders import ticket_price
from tests.support.every_case import every_case

REGISTRY = build_registry()
ASKED = [code for code, broker in REGISTRY.items() if broker.by_token is not None]
QUESTION = TokenQuestion(token="ob0123456789ab", instrument_token="N:C:1", segment="nse_equities")


def test_it_is_said_once_who_can_be_asked():
    assert sorted(ASKED) == ["dhan", "fivepaisa", "fyers", "groww", "upstox"]
    assert all(broker.capabilities.asked_by_token is (code in ASKED) for code, broker in REGISTRY.items())


async def ask(day, code, question):
    return await day.sessions[code].address.ask(lambda reply: AskByToken(question=question, reply=reply), 60)


async def placed(day, code):
    """Place an order; return it and the question for it."""
    share = day.equity()
    answer = await day.place(day.body(share, price=ticket_price(day, share), product="MIS"))
    assert answer.status == 200, answer.body
    token = leg_token("i-1", "entry", 0)
    listing = share.listings[code]
    question = TokenQuestion(token=token, instrument_token=listing.broker_token, segment=share.identity.segment)
    return answer.body["order_id"], question


@pytest.mark.parametrize("code", ASKED)
async def test_the_order_is_found_and_another_token_is_a_clear_no(day, code, autojump_clock):
    day.__init__(brokers=(code,))
    async with day.market(), day.service():
        order_id, question = await placed(day, code)
        named = None if code == "fivepaisa" else order_id
        assert await ask(day, code, question) == FoundByToken(named)
        assert await ask(day, code, attrs.evolve(question, token=leg_token("i-2", "entry", 0))) is None


@pytest.mark.parametrize("code", ASKED)
@pytest.mark.parametrize("kind", [FaultKind.HTTP_500, FaultKind.GARBAGE_BODY])
async def test_a_broker_that_fails_has_said_nothing(day, code, kind, autojump_clock):
    day.__init__(brokers=(code,))
    async with day.market(), day.service():
        _, question = await placed(day, code)
        await trio.sleep(30)
        day.simulator.fault("all", kind, seconds=60)
        with pytest.raises(BrokerError):
            await ask(day, code, attrs.evolve(question, token=leg_token("i-2", "entry", 0)))


async def test_a_broker_that_cannot_be_asked_is_not_asked(day, autojump_clock):
    day.__init__(brokers=("zerodha",))
    async with day.market(), day.service():
        _, question = await placed(day, "zerodha")
        with pytest.raises(NotOffered):
            await ask(day, "zerodha", question)


ANOTHER = {
    "dhan": {"orderId": "1", "correlationId": "another", "orderStatus": "PENDING"},
    "groww": {"status": "SUCCESS", "payload": {"groww_order_id": "1", "order_reference_id": "another"}},
}


@pytest.mark.parametrize("code", ANOTHER)
def test_an_answer_about_another_order_says_nothing(code):
    response = WireResponse(status=200, body=msgspec.json.encode(ANOTHER[code]))
    with pytest.raises(BadAnswer):
        REGISTRY[code].by_token.parse_token(response, QUESTION)


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("upstox", {"status": "success", "data": []}),
        ("dhan", []),
        ("fyers", {"s": "ok", "code": 200, "message": "", "orderBook": []}),
        (
            "fivepaisa",
            {"head": {"status": "0"}, "body": {"Status": 1, "Message": "No record found", "OrdStatusResLst": []}},
        ),
    ],
)
def test_an_empty_list_is_a_clear_no(code, body):
    response = WireResponse(status=200, body=msgspec.json.encode(body))
    assert REGISTRY[code].by_token.parse_token(response, QUESTION) is None


@every_case("code", ASKED)
@every_case(("status", "body"), [(401, b""), (429, b""), (502, b"<html>"), (200, b"null"), (200, b"{}")])
def test_what_is_about_the_moment_or_cannot_be_read_says_nothing(code, status, body):
    with pytest.raises(BrokerError):
        REGISTRY[code].by_token.parse_token(WireResponse(status=status, body=body), QUESTION)
