"""How a user's code is typed: judged by mypy alone (test_types.py), never run."""

from datetime import datetime
from decimal import Decimal

from onebroker_client import AsyncClient, Client, Gap, answers, messages
from onebroker_client.requests import BracketOrder, PlaceOrderBodyItem
from onebroker_client.subscriptions import SubscribeEvents
from typing_extensions import assert_type  # noqa: UP035 — the client is typed for Python 3.10


def floats(client: Client) -> None:
    placed = client.place_order(
        quantity=1, price=Decimal("1.05"), synthetic=BracketOrder(stop_price=1, stop_limit_price=1.0, target_price=2)
    )
    assert_type(placed, answers.Placed[float])
    assert_type(client.place_order(orders=[PlaceOrderBodyItem(quantity=1)]), answers.PlaceResults[float])
    assert_type(client.get_orders().orders[0].price, float)
    assert_type(client.get_orders().as_of, datetime)
    assert_type(client.get_parents(), answers.OpenParents[float])
    assert_type(client.get_parents(parent_id="b6"), answers.Parent[float])


def exact() -> None:
    with Client(decimals=True) as client:
        assert_type(client, Client[Decimal])
        assert_type(client.get_ltp(instrument_id="c0").last_price, Decimal)


async def later() -> None:
    client = AsyncClient(token="t")
    assert_type(client, AsyncClient[float])
    assert_type((await client.get_funds()).summary, answers.FundsSummary[float])
    async with client.stream(SubscribeEvents(subscribe="orders")) as stream:
        async for event in stream:
            if isinstance(event, messages.OrderEvents):
                assert_type(event.events[0].order.quantity, int)
            if isinstance(event, Gap):
                assert_type(event.reason, str)


def wrong(client: Client) -> None:
    client.place_order(transaction_type="HOLD")  # expected: an error
    client.cancel_order(order="1")  # expected: an error
    SubscribeEvents(subscribe="ticks")  # expected: an error
