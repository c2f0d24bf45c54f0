"""`/stream` of a running demo: quotes that move, an order's events, a cut connection, the end of a token, the example of the
page, and the stop of the service. Judged by what the REST routes answer."""

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, open_websocket_url

from tests.support.described import check_message

pytestmark = pytest.mark.long

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stream.md"
HEAR_SECONDS = 60.0
MOST_BYTES = 64 * 1024 * 1024


class Talk:
    """A client that checks the numbers."""

    def __init__(self, socket: WebSocketConnection, seq: int = 0) -> None:
        self.socket = socket
        self.seq = seq

    async def say(self, **message: object) -> None:
        await self.socket.send_message(msgspec.json.encode(message).decode())

    async def hear(self) -> Any:
        with trio.fail_after(HEAR_SECONDS):
            message = msgspec.json.decode(await self.socket.get_message())
        check_message(message)
        assert message["seq"] == self.seq + 1
        self.seq += 1
        return message

    async def until(self, wanted: Callable[[Any], Any]) -> Any:
        """Return what `wanted` makes of the first message of which it makes something."""
        with trio.fail_after(HEAR_SECONDS):
            while not (found := wanted(await self.hear())):
                pass
        return found


@asynccontextmanager
async def connected(demo, seq: int = 0, *, header: bool = True) -> AsyncIterator[Talk]:
    url = f"ws://127.0.0.1:{demo.port}/stream"
    headers = [("access-token", demo.token)] if header else None
    async with open_websocket_url(url, extra_headers=headers, max_message_size=MOST_BYTES) as socket:
        try:
            yield Talk(socket, seq)
        finally:
            await socket.aclose()
            await socket._stream.aclose()


def event_of(order_id: str, status: str) -> Callable[[Any], Any]:
    """Find the event that shows an order in a status."""

    def found(message: Any) -> Any:
        events = message.get("events", ()) if message["type"] == "orders" else ()
        return next(
            (one for one in events if (one["order"]["order_id"], one["order"]["status"]) == (order_id, status)), None
        )

    return found


@pytest.fixture(scope="module")
def share(demo) -> Any:
    return demo.share()


async def test_quotes_come_and_move_as_the_route_shows_them(demo, share):
    async with connected(demo) as talk:
        await talk.until(lambda message: message["type"] == "started")
        await talk.say(subscribe="quotes", mode="depth", instruments=[{"instrument_id": share["instrument_id"]}])
        assert (await talk.until(lambda message: message.get("results")))[0]["status"] == 200

        def live(message: Any) -> Any:
            quotes = message.get("quotes", ())
            return next((one for one in quotes if not one["stale"]), None)

        first = await talk.until(live)
        route = await trio.to_thread.run_sync(
            lambda: demo.read("/api/instruments/quote", instrument_id=share["instrument_id"])
        )
        assert list(first) == list(route)
        price = demo.at_price(share, 1.0)
        await trio.to_thread.run_sync(lambda: demo.move(share["instrument_id"], price))
        moved = await talk.until(lambda message: (quote := live(message)) and quote["last_price"] == price and quote)
        assert moved["received_at"] > first["received_at"]
        streams = (await trio.to_thread.run_sync(lambda: demo.read("/api/health")))["streams"]
        assert streams["connections"] >= 1
        assert streams["instruments"] == 1


async def test_an_order_is_told_from_its_birth_to_its_end_with_its_parent(demo, share):
    async with connected(demo) as talk:
        await talk.say(subscribe="orders")
        await talk.say(subscribe="parents")
        book = await talk.until(
            lambda message: message if message["type"] == "orders" and "orders" in message else None
        )
        assert book["snapshot"]
        answer = await trio.to_thread.run_sync(lambda: demo.place(**demo.limit_buy(share)))
        assert answer.status == 200, answer
        order_id, parent_id = answer.json["order_id"], answer.json["parent_id"]
        seen: dict[str, Any] = {}

        def note(message: Any) -> bool:
            for event in message.get("events", ()):
                if "order" in event and event["order"]["order_id"] == order_id:
                    seen.setdefault(event["order"]["status"], event)
                if "parent" in event and event["parent"]["parent_order_id"] == parent_id:
                    seen.setdefault(event["parent"]["state"], event)
            return {"OPEN", "working"} <= set(seen)

        await talk.until(note)
        assert seen["OPEN"]["order"]["engine_parent_id"] == parent_id
        assert (await trio.to_thread.run_sync(lambda: demo.cancel(order_id))).status == 200
        await talk.until(lambda message: note(message) or {"CANCELLED", "cancelled"} <= set(seen))
        while not {"CANCELLED", "cancelled"} <= set(seen):
            note(await talk.hear())
        assert seen["CANCELLED"]["previous_status"] == "OPEN"
        assert seen["cancelled"]["event"] == "finished"
        row = (await trio.to_thread.run_sync(lambda: demo.orders(order_id=order_id)))[0]
        assert seen["CANCELLED"]["order"]["status"] == row["status"]


async def test_a_client_that_was_cut_off_misses_no_order(demo, share):
    async with connected(demo) as talk:
        stream = (await talk.hear())["stream"]
        await talk.say(subscribe="orders")
        await talk.until(lambda message: "orders" in message)
        await talk.socket._stream.aclose()
        last = talk.seq
    answer = await trio.to_thread.run_sync(lambda: demo.place(**demo.limit_buy(share)))
    order_id = answer.json["order_id"]
    await trio.to_thread.run_sync(lambda: demo.until_status(order_id, "OPEN"))
    async with connected(demo, last, header=False) as talk:
        await talk.say(**{"access-token": demo.token, "resume": last, "stream": stream})
        assert (await talk.hear())["type"] == "resumed"
        event = await talk.until(event_of(order_id, "OPEN"))
        assert event["order"]["instrument_id"] == share["instrument_id"]
    assert (await trio.to_thread.run_sync(lambda: demo.cancel(order_id))).status == 200


async def test_documents_are_those_of_the_routes(demo):
    paths = {
        "funds": "/api/portfolio/funds",
        "holdings": "/api/portfolio/holdings",
        "positions": "/api/portfolio/positions",
        "orders": "/api/orders/details",
        "trades": "/api/orders/trades",
    }
    async with connected(demo) as talk:
        await talk.say(subscribe="documents", documents=list(paths))
        told: dict[str, Any] = {}
        while set(told) != set(paths):
            message = await talk.hear()
            if message["type"] == "document":
                told[message["document"]] = message["data"]
    for name, path in paths.items():
        route = await trio.to_thread.run_sync(lambda path=path: demo.read(path))
        assert list(told[name]) == list(route)


def test_the_example_of_the_page_follows_quotes_and_orders(demo, share, tmp_path):
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    script = tmp_path / "stream.py"
    script.write_text(program)
    url = f"ws://127.0.0.1:{demo.port}/stream"
    process = subprocess.Popen(
        [sys.executable, str(script), url, demo.token, share["symbol"]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    timer = threading.Timer(60, process.kill)
    timer.start()
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line.strip())
            quoted = any(one.startswith(f"{share['symbol']} ") and not one.endswith("stale") for one in lines)
            if quoted and "stream: started" in lines and any(re.fullmatch(r"orders: \d+", one) for one in lines):
                break
        else:
            pytest.fail("\n".join(lines))
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdout.close()


async def test_a_disconnect_ends_the_stream_and_a_stop_closes_it(new_demo):
    demo = await trio.to_thread.run_sync(lambda: new_demo().start())
    async with connected(demo) as talk:
        await talk.hear()
        assert (await trio.to_thread.run_sync(lambda: demo.ask("DELETE", "/api/session/disconnect"))).status == 200
        with pytest.raises(ConnectionClosed) as closed:
            await talk.hear()
        assert closed.value.reason.code == 4401
    demo.token = await trio.to_thread.run_sync(demo.connect)
    async with connected(demo) as talk:
        await talk.hear()
        ended: list[int] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: _end(demo, ended))
            with contextlib.suppress(ConnectionClosed):
                while True:
                    await talk.hear()
            assert talk.socket.closed.code == 1001
    assert ended == [0]


async def _end(demo, ended: list[int]) -> None:
    ended.append(await trio.to_thread.run_sync(demo.end))
