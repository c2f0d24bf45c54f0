"""Orders for the tests of the engine's day: resting ones of the engine and of elsewhere, and what the exchange says of them."""

from decimal import Decimal
from typing import Any

import pytest
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.sessions.messages import AskRoom
from onebroker.actors.sessions.order_sender import OrderDesk
from onebroker.brokers.broker import OrderTicket
from tests.support.day import Day


def tick_of(day: Day, instrument: Instrument) -> Decimal:
    """The exchange's tick: the catalogue has none where the only broker's file tells none."""
    return day.exchange.market(instrument.instrument_id).tick_size


def ticks(day: Day, share: Instrument, percent: float) -> Decimal:
    """A price so many percent from the share's last one, on its tick."""
    last = day.exchange.market(share.instrument_id).last_price
    tick = tick_of(day, share)
    return (last * (1 + Decimal(percent) / 100) / tick).quantize(Decimal(1)) * tick


async def resting(
    day: Day, *, number: int = 0, intent_id: str = "i-1", percent: float = -3, **more: Any
) -> tuple[Instrument, str, str, str]:
    """Place a resting order through the engine; return its share, parent, broker and order id."""
    await trio.sleep(2)  # the calls of the start have left the brokers' windows
    share = day.equity(number)
    answer = await day.place(day.body(share, price=ticks(day, share, percent), **more), intent_id=intent_id)
    assert answer.status == 200, answer
    code, order_id = answer.body["broker"], answer.body["order_id"]
    await day.until(lambda: order_id in day.sessions[code].view.value.orders)
    return share, answer.body["parent_id"], code, order_id


async def placed_elsewhere(day: Day, code: str, *, number: int = 0, **more: Any) -> tuple[Instrument, str]:
    """Place an order as the account's holder would, beside the service; return its share and order id."""
    share, handle = day.equity(number), day.sessions[code]
    fields: dict[str, Any] = {
        "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT", "validity": "DAY", "quantity": 10,
        "disclosed_quantity": 0, "price": ticks(day, share, -3), "trigger_price": None, "after_market": False, "token": "elsewhere01",
        **more,
    }  # fmt: skip
    ticket = OrderTicket(listing=share.listings[code], segment=share.identity.segment, **fields)
    access = handle.view.value.access
    assert access is not None, code
    request = handle.broker.orders.place_request(access, ticket, day.clock.now())
    async with day.open_transport() as transport:
        response = await transport.send(request, 5)
    order_id = handle.broker.orders.parse_order_answer(response).order_id
    assert order_id is not None, (code, response.body)
    await day.until(lambda: order_id in handle.view.value.orders, 120)
    return share, order_id


def truth(day: Day, order_id: str, broker: str | None = None) -> dict[str, Any]:
    """The order as the exchange has it."""
    found: list[dict[str, Any]] = [
        one for one in day.ledger()["orders"] if one["order_id"] == order_id and broker in (None, one["broker"])
    ]
    (order,) = found
    return order


def take_room_later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let every order wait so long for room."""
    take_room = OrderDesk.take_room

    async def later(desk: OrderDesk, message: AskRoom) -> None:
        await trio.sleep(seconds)
        await take_room(desk, message)

    monkeypatch.setattr(OrderDesk, "take_room", later)
    no_free_room(monkeypatch)


def no_free_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no order find room that is free at once: the session is asked for it."""
    monkeypatch.setattr(OrderDesk, "take_free_room", lambda _desk, _priority: None)
