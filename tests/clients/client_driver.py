"""Plays one scenario with the client, in the client's own environment: sync, or async under asyncio or trio.

It reads one JSON line, `{"kind": ..., "scenario": ..., "url": ..., ...}`, and writes `{"step": NAME, "value": ...}` lines. A scenario is written
once, for an async client; the sync client is played behind the same shape, and its coroutine never waits.
"""

import asyncio
import inspect
import json
import sys
import time
from decimal import Decimal

import anyio
import trio
from onebroker_client import AsyncClient, Client, Gap, errors, requests, subscriptions


class Uniform:
    """A client of either kind as an async one."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        async def called(*arguments, **named):
            return await resolved(getattr(self._client, name)(*arguments, **named))

        return called

    async def follow(self, *asked, until):
        """Return the events of a stream, up to the first for which `until` is true."""
        events = []
        stream = self._client.stream(*asked)
        try:
            while not events or not until(events[-1]):
                events.append(await resolved(stream.__anext__() if hasattr(stream, "__anext__") else next(stream)))
        finally:
            await resolved(stream.close())
        return events


async def resolved(value):
    return await value if inspect.isawaitable(value) else value


def tell(step, value):
    print(json.dumps({"step": step, "value": value}), flush=True)


async def told(step, awaitable, show=lambda value: value):
    """Tell what a call came to: its value, or its exception."""
    try:
        tell(step, show(await awaitable))
    except errors.Refusal as error:
        tell(step, [type(error).__name__, error.status, error.error])
    except errors.OnebrokerError as error:
        tell(step, [type(error).__name__, str(error)])


async def play_calls(client, line):
    await told("halt", client.get_halt(), lambda value: value.halted)
    await told("flaky", client.get_welcome(), lambda value: value.message)
    await told("refused", client.cancel_order(order_id="1"))
    await told(
        "price",
        client.get_ltp(instrument_id="c073"),
        lambda value: [type(value.last_price).__name__, str(value.last_price)],
    )
    order = {"instrument_id": "c073", "transaction_type": "BUY", "quantity": 1, "price": Decimal("1501.10")}
    try:
        await client.place_order(**order)
    except errors.OutcomeUnknown as unknown:
        tell("unknown", [unknown.intent_id, unknown.status])
        settled = await resolved(unknown.settle(timeout_seconds=10.0))
        tell("settled", [settled.intent_id, settled.outcome])


async def play_nowhere(client, line):
    started = time.monotonic()
    await told("order", client.place_order(quantity=1), str)
    tell("bounded", time.monotonic() - started < 30)


def shown(event):
    if isinstance(event, Gap):
        return ["Gap", event.reason, event.after_seq]
    return [type(event).__name__, getattr(event, "missed", None)]


async def play_stream(client, line):
    orders = subscriptions.SubscribeEvents(subscribe="orders")
    events = await client.follow(orders, until=lambda event: getattr(event, "missed", 0) == line["length"])
    tell("events", [shown(event) for event in events])


async def play_cancelled(client, line):
    """Read a stream in slices of time that are often too short: a cancelled wait skips nothing."""
    if line["kind"] == "sync":
        return await play_stream(client, line)
    events = []
    stream = client._client.stream(subscriptions.SubscribeEvents(subscribe="orders"))
    slices = 0
    while not events or getattr(events[-1], "missed", 0) != line["length"]:
        slices += 1
        with anyio.move_on_after(0.001 * (slices % 20)):
            events.append(await stream.__anext__())
    await stream.close()
    return tell("events", [shown(event) for event in events])


async def play_order(client, line):
    """Place, change, read and cancel a real order."""
    placed = await client.place_order(**line["order"])
    tell("placed", [placed.outcome, placed.order_id])
    row = await until(client, placed.order_id, "OPEN")
    tell("open", [row.status, str(row.price), str(row.order_timestamp.utcoffset())])
    changed = await client.modify_order(order_id=placed.order_id, quantity=2)
    tell("changed", changed.outcome)
    cancelled = await client.cancel_order(order_id=placed.order_id)
    tell("cancelled", cancelled.outcome)
    tell("ended", (await until(client, placed.order_id, "CANCELLED")).quantity)
    await told("again", client.cancel_order(order_id=placed.order_id))
    await told("wrong", client.place_order(**{**line["order"], "quantity": -1}))
    listed = await client.place_order(orders=[requests.PlaceOrderBodyItem(**line["order"])])
    tell("listed", [entry.status for entry in listed.results])
    await told("health", client.get_health(), lambda value: value.status in ("ok", "degraded"))


async def until(client, order_id, status):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        rows = (await client.get_orders(order_id=order_id)).orders
        if rows and rows[0].status == status:
            return rows[0]
        await client.get_welcome()
    raise TimeoutError(status)


async def play_lost(client, line):
    """Place an order through a proxy that keeps the answer back, then settle by the direct way."""
    try:
        await client.place_order(**line["order"])
        tell("unknown", None)
    except errors.OutcomeUnknown as unknown:
        tell("unknown", [unknown.intent_id, unknown.status, len(unknown.tag or "")])
        settled = await resolved(unknown.settle(timeout_seconds=60.0))
        tell("settled", [settled.outcome, settled.intent_id is not None])


async def play_follow(client, line):
    """Follow orders until an order that is placed last is cancelled; tell the life of every order of interest."""

    def is_last(event):
        return any(
            one.order.tag == line["last"] and one.order.status == "CANCELLED" for one in getattr(event, "events", ())
        )

    orders = subscriptions.SubscribeEvents(subscribe="orders")
    events = await client.follow(orders, until=lambda event: _ready(event) or is_last(event))
    tell("gaps", sum(isinstance(event, Gap) for event in events))
    tell(
        "lives",
        [
            [one.order.order_id, one.event, one.previous_status, one.order.status]
            for event in events
            for one in _orders(event)
        ],
    )


def _ready(event):
    if type(event).__name__ == "OrdersSnapshot":
        tell("ready", True)
    return False


def _orders(event):
    return event.events if type(event).__name__ == "OrderEvents" else ()


SCENARIOS = {name.removeprefix("play_"): played for name, played in list(globals().items()) if name.startswith("play_")}


async def play(line):
    kind = Client if line["kind"] == "sync" else AsyncClient
    client = Uniform(kind(line["url"], **line.get("options", {})))
    try:
        await SCENARIOS[line["scenario"]](client, line)
    finally:
        await client.close()


def main():
    line = json.loads(sys.stdin.readline())
    if line["kind"] == "asyncio":
        asyncio.run(play(line))
    elif line["kind"] == "trio":
        trio.run(play, line)
    else:
        try:
            play(line).send(None)
        except StopIteration:
            return
        raise AssertionError("the sync client has waited")


main()
