"""The simulator on real ports: control API, sockets, cut connections, refused ports, and what survives a kill."""

import json
import socket
import struct
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio
import trio.testing
import trio_websocket

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.host.run import FolderInUse, SimulatorOptions, run_simulator
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from tests.support.every_case import every_case
from tests.support.patience import PATIENCE_SECONDS

SECONDS = PATIENCE_SECONDS
ECHO = Path(__file__).with_name("echo.py")


async def ask(base, method, target, body=None, **headers):
    """One request on its own connection; returns (status, document), or None when it was cut."""
    address = urlsplit(base)
    host, port = address.hostname, address.port
    data = b"" if body is None else json.dumps(body).encode()
    sent = {
        "Host": host,
        "Connection": "close",
        "Content-Length": len(data),
        "Content-Type": "application/json",
        **headers,
    }
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in sent.items() if value is not None)
    head = f"{method} {address.path}{target} HTTP/1.1\r\n{lines}\r\n"
    with trio.fail_after(SECONDS):
        async with await trio.open_tcp_stream(host, port) as stream:
            received = b""
            try:
                await stream.send_all(head.encode() + data)
                while more := await stream.receive_some():
                    received += more
            except trio.BrokenResourceError:
                return None
    if not received:
        return None
    status, _, content = received.partition(b"\r\n\r\n")
    return int(status.split()[1]), json.loads(content) if content[:1] in b"{[" else content


class Running:
    def __init__(self, said):
        self.lines = said
        self.brokers = {line["broker"]: line for line in said if "broker" in line}
        self.control = said[-1]["control_url"]

    async def ask(self, method, target, body=None, *, code="zerodha"):
        return await ask(self.brokers[code]["rest_url"], method, target, body)

    async def command(self, method, target, body=None):
        return await ask(self.control, method, target, body)

    async def share(self):
        _, listed = await self.command("GET", "/instruments?shape=security&limit=100")
        return next(each for each in listed if each["segment"] == "nse_equities")

    def order(self, share, **changes):
        plain = {"side": "BUY", "product": "CNC", "order_type": "MARKET", "validity": "DAY", "quantity": 1}
        return {**plain, "instrument_id": share["instrument_id"], **changes}

    @contextmanager
    def held(self):
        """Keep its ports for the next simulator of its folder, which may bind them all the same (see held_port.py)."""
        addresses = [*(line["rest_url"] for line in self.brokers.values()), self.control]
        with ExitStack() as holders:
            for address in addresses:
                holder = holders.enter_context(socket.socket())
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                holder.bind(("127.0.0.1", urlsplit(address).port))
            yield


@pytest.fixture
async def running(echo, nursery):
    said = []
    options = SimulatorOptions(
        dialects={"zerodha": echo.build, "upstox": echo.build}, calendar=always_open(), clock=Clock(), instruments=100
    )
    with trio.fail_after(SECONDS):
        await nursery.start(partial(run_simulator, options, announce=said.append))
    return Running(said)


async def test_every_broker_is_announced_and_then_the_control_address(running):
    line = running.brokers["zerodha"]
    assert list(line) == [
        "broker", "rest_url", "stream_url", "order_stream_url", "instruments_url", "login_url", "order_url",
        "credentials", "session",
    ]  # fmt: skip
    assert line["stream_url"].startswith("ws://127.0.0.1:")
    assert line["credentials"] == {"api_key": "key-1"}
    assert line["session"]["access_token"].startswith("minted-")
    assert list(running.lines[-1]) == ["control_url", "made"]


async def test_a_price_set_over_http_moves_the_market_and_fills_what_it_crosses(running):
    share = await running.share()
    price = round(share["last_price"] - 10 * share["tick_size"], 2)
    _, order = await running.ask("POST", "/place", running.order(share, order_type="LIMIT", price=str(price)))
    assert order["status"] == "open"
    named = {"exchange": "nse", "segment": "equities", "symbol": share["symbol"].lower()}
    lower = round(price - 5 * share["tick_size"], 2)
    status, said = await running.command(
        "POST", "/price", {"instrument": named, "last_price": lower, "hold_seconds": 3600}
    )
    assert (status, said) == (200, {"instrument_id": share["instrument_id"], "last_price": lower})
    _, now = await running.ask("GET", f"/order?order_id={order['order_id']}")
    assert (now["status"], float(now["filled_value"])) == ("complete", price)
    _, market = await running.ask("GET", f"/market?instrument_id={share['instrument_id']}", code="upstox")
    assert float(market["last_price"]) == lower


async def test_the_market_trades_as_much_of_a_resting_order_as_it_is_told(running):
    share = await running.share()
    price = round(share["last_price"] - 10 * share["tick_size"], 2)
    await running.command("POST", "/price", {"instrument": share["instrument_id"], "last_price": share["last_price"]})
    order = running.order(share, order_type="LIMIT", price=str(price), quantity=5)
    _, order = await running.ask("POST", "/place", order)
    named = {"broker": "zerodha", "order_id": order["order_id"]}
    assert (await running.command("POST", "/fill", {**named, "quantity": 6}))[0] == 400
    assert (await running.command("POST", "/fill", {**named, "quantity": 2}))[0] == 200
    _, now = await running.ask("GET", f"/order?order_id={order['order_id']}")
    assert (now["status"], now["filled_quantity"], float(now["filled_value"])) == ("open", 2, 2 * price)
    assert (await running.command("POST", "/fill", {**named, "quantity": 3}))[0] == 200
    _, now = await running.ask("GET", f"/order?order_id={order['order_id']}")
    assert (now["status"], now["filled_quantity"]) == ("complete", 5)
    assert (await running.command("POST", "/fill", {**named, "quantity": 1}))[0] == 400


@every_case(
    ("method", "target", "body"),
    [
        ("POST", "/price", {"instrument": "nothing", "last_price": 1}),
        ("POST", "/price", {"instrument": {"exchange": "nse", "segment": "nonsense"}, "last_price": 1}),
        ("POST", "/price", {"instrument": {"exchange": "nse", "segment": "equity_options"}, "last_price": 1}),
        ("POST", "/price", {"instrument": "nothing"}),
        ("POST", "/price", {"instrument": "SHARE", "last_price": 0.031}),
        ("POST", "/price", {"instrument": "SHARE", "last_price": 10_000_000}),
        ("POST", "/price", {"instrument": "SHARE", "last_price": "much"}),
        ("POST", "/price", {"instrument": "SHARE", "last_price": 1, "extra": 1}),
        ("POST", "/fault", {"broker": "nobody", "kind": "http_500"}),
        ("POST", "/fault", {"broker": "zerodha", "kind": "http_501"}),
        ("POST", "/fault", {"broker": "zerodha", "kind": "http_500", "count": 0}),
        ("POST", "/fault", {"broker": "zerodha", "kind": "http_500", "instrument": "SHARE"}),
        ("POST", "/fault", {"broker": "zerodha", "kind": "reject_orders", "instrument": "nothing"}),
        ("POST", "/fault", {"broker": "zerodha", "kind": "reject_orders", "order_type": "STOP"}),
        ("POST", "/fault", {"broker": "zerodha", "kind": "reject_cancels", "order_type": "SL"}),
        ("POST", "/fault", None),
        ("POST", "/fill", {"broker": "nobody", "order_id": "1", "quantity": 1}),
        ("POST", "/fill", {"broker": "zerodha", "order_id": "1", "quantity": 1}),
        ("POST", "/heal", {"broker": "nobody"}),
        ("POST", "/heal", {"kind": "http_501"}),
        ("POST", "/bonus", {"instrument": "SHARE", "had": 1, "has": 1}),
        ("POST", "/move-expiry", {"exchange": "nse", "underlying": "NO", "old": "2026-01-01", "new": "2026-01-02"}),
        ("POST", "/funds", {"broker": "nobody", "available": 1}),
        ("POST", "/square-off", {"broker": "nobody", "at": None}),
        ("POST", "/square-off", {"broker": "zerodha", "at": "at three"}),
        ("POST", "/annul", {"broker": "zerodha", "trade_id": "1"}),
        ("POST", "/empty-side", {"instrument": "SHARE", "side": "BUY", "seconds": 0}),
        ("POST", "/empty-side", {"instrument": "nothing", "side": "BUY"}),
        ("POST", "/fault", {"broker": "zerodha", "kind": "late_positions", "instrument": "SHARE"}),
        ("POST", "/person", {"broker": "nobody", "verb": "cancel", "order_id": "1"}),
        ("POST", "/person", {"broker": "zerodha", "verb": "cancel", "order_id": "1"}),
        ("POST", "/person", {"broker": "zerodha", "verb": "cancel"}),
        ("POST", "/person", {"broker": "zerodha", "verb": "reduce", "instrument": "SHARE", "product": "MIS"}),
        ("POST", "/person", {"broker": "zerodha", "verb": "convert", "instrument": "SHARE", "product": "MIS"}),
        ("POST", "/person", {"broker": "zerodha", "verb": "place", "instrument": "SHARE", "product": "MIS"}),
        ("GET", "/ledger?since=x", None),
        ("GET", "/instruments?shape=round", None),
    ],
)
async def test_bad_input_to_control_is_a_400_that_says_why(running, method, target, body):
    if body and body.get("instrument") == "SHARE":
        body = {**body, "instrument": (await running.share())["instrument_id"]}
    status, said = await running.command(method, target, body)
    assert status == 400
    assert said["error"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost.evil.example:80"}, 421),
    ],
)
async def test_no_web_page_controls_anything(running, headers, status):
    share = await running.share()
    price = {"instrument": share["instrument_id"], "last_price": share["last_price"]}
    assert (await ask(running.control, "POST", "/price", price))[0] == 200
    assert (await ask(running.control, "POST", "/price", price, **headers))[0] == status
    if status != 415:
        assert (await ask(running.control, "GET", "/ledger", **headers))[0] == status


async def test_the_control_address_cannot_be_guessed_from_its_port(running):
    port = urlsplit(running.control).port
    assert (await ask(f"http://127.0.0.1:{port}", "GET", "/ledger"))[0] == 404
    assert len(urlsplit(running.control).path) >= 20


async def test_control_tells_when_each_broker_was_called(running):
    before = (await running.command("GET", "/calls"))[1]["zerodha"]
    await running.ask("POST", "/place", running.order(await running.share()))
    await running.ask("GET", "/orders")
    status, calls = await running.command("GET", "/calls")
    assert status == 200
    after = calls["zerodha"]
    assert len(after["calls"]) - len(before["calls"]) == 2
    assert len(after["orders"]) - len(before["orders"]) == 1
    assert after["orders"][-1] <= after["calls"][-1]
    assert after["refused"] == 0


async def test_control_lists_requests_faults_and_verbs_and_a_wrong_word_names_them(running):
    for target in ("", "/"):
        status, said = await running.command("GET", target)
        assert status == 200
        assert set(said["faults"]) == set(FaultKind)
    _, wrong = await running.command("POST", "/fault", {"broker": "zerodha", "kind": "nosuch"})
    assert wrong["error"].startswith("there is no fault nosuch; the kinds are refuse_connections, latency")
    assert all(kind in wrong["error"] for kind in FaultKind)
    _, wrong = await running.command("POST", "/person", {"broker": "zerodha", "verb": "nosuch"})
    assert wrong["error"] == f"there is no verb nosuch; the verbs are {', '.join(said['person'])}"


async def test_a_person_acts_over_http(running):
    share = (await running.share())["instrument_id"]

    async def act(verb, **more):
        status, said = await running.command("POST", "/person", {"broker": "zerodha", "verb": verb, **more})
        assert status == 200, said
        return said["order"]

    bought = await act("place", instrument=share, product="MIS", side="BUY", quantity=10)
    assert (bought["status"], bought["filled_quantity"]) == ("complete", 10)
    assert (await act("reduce", instrument=share, product="MIS", quantity=4))["side"] == "SELL"
    assert await act("convert", instrument=share, product="MIS", to_product="CNC", quantity=2) is None
    last = (await running.share())["last_price"]
    low = await act("place", instrument=share, product="CNC", side="BUY", quantity=1, price=round(last * 0.97, 0))
    assert (await act("modify", order_id=low["order_id"], quantity=3))["quantity"] == 3
    assert (await act("cancel", order_id=low["order_id"]))["status"] == "cancelled"
    _, ledger = await running.command("GET", "/ledger")
    held = {
        each["product"]: each["quantity"] for each in ledger["positions"]["zerodha"] if each["instrument_id"] == share
    }
    assert held == {"MIS": 4, "CNC": 2}
    assert [each["verb"] for each in ledger["acts"]] == ["place", "reduce", "convert", "place", "modify", "cancel"]
    assert ledger["messages"] == []


async def test_money_square_off_and_annulment_over_http(running):
    assert (await running.command("POST", "/funds", {"broker": "zerodha", "available": 1000}))[0] == 200
    assert (await running.command("POST", "/square-off", {"broker": "upstox", "at": "15:20:00"}))[0] == 200
    share = (await running.share())["instrument_id"]
    bought = {"broker": "upstox", "verb": "place", "instrument": share, "product": "CNC", "side": "BUY", "quantity": 1}
    assert (await running.command("POST", "/person", bought))[0] == 200
    _, ledger = await running.command("GET", "/ledger")
    # The market goes on, and the pledged shares with it; before, it was a crore.
    assert ledger["funds"]["zerodha"]["available"] == pytest.approx(1000, abs=500)
    trade = next(each for each in ledger["fills"] if each["instrument_id"] == share and each["broker"] == "upstox")
    annulled = {"broker": "upstox", "trade_id": trade["trade_id"]}
    assert (await running.command("POST", "/annul", annulled))[0] == 200
    _, ledger = await running.command("GET", "/ledger")
    assert trade["trade_id"] not in {each["trade_id"] for each in ledger["fills"]}


async def test_control_knows_no_other_paths(running):
    assert (await running.command("GET", "/price"))[0] == 404


async def test_a_dropped_answer_cuts_the_connection_after_the_order_was_taken(running):
    share = await running.share()
    await running.command("POST", "/fault", {"broker": "zerodha", "kind": "drop_after_accept", "count": 1})
    assert await running.ask("POST", "/place", running.order(share)) is None
    _, ledger = await running.command("GET", "/ledger?since=0")
    assert [(each["verb"], each["delivered"]) for each in ledger["messages"]] == [("place", False)]
    assert ledger["messages"][0]["order_id"] in {each["order_id"] for each in ledger["orders"]}
    assert (await running.command("GET", f"/ledger?since={ledger['next']}"))[1]["messages"] == []


async def test_a_refusing_port_is_closed_and_opens_again_when_healed(running):
    base = running.brokers["zerodha"]["rest_url"]
    assert (await ask(base, "GET", "/orders"))[0] == 200
    await running.command("POST", "/fault", {"broker": "zerodha", "kind": "refuse_connections"})
    with trio.fail_after(SECONDS):
        while True:
            try:
                await ask(base, "GET", "/orders")
            except OSError:
                break
    assert (await running.ask("GET", "/orders", code="upstox"))[0] == 200
    assert await running.command("POST", "/heal", {"broker": "zerodha"}) == (200, {"healed": 1})
    with trio.fail_after(SECONDS):
        while True:
            try:
                assert (await ask(base, "GET", "/orders"))[0] == 200
                break
            except OSError:
                await trio.sleep(0.05)


async def test_sockets_speak_the_real_protocol(running):
    url = running.brokers["zerodha"]["stream_url"]
    share = await running.share()
    with trio.fail_after(SECONDS):
        async with trio_websocket.open_websocket_url(url) as open_socket:
            await open_socket.send_message("hello")
            await open_socket.send_message(b"\x00\x01")
            frames = []
            while len(frames) < 2:
                if (frame := await open_socket.get_message()) != "beat":
                    frames.append(frame)
            assert frames == ["hello", b"\x00\x01"]
            await open_socket.ping(b"there")
            await open_socket.send_message(f"watch {share['instrument_id']}")
            while not str(await open_socket.get_message()).startswith("price "):
                pass


async def test_a_socket_the_broker_closes_says_why(running):
    host, port = running.brokers["zerodha"]["rest_url"].removeprefix("http://").split(":")
    unmasked = b"\x81\x83\x00\x00\x00\x00bye"
    with trio.fail_after(SECONDS):
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            await stream.send_all(handshake("/stream") + unmasked)
            frames = b""
            while not frames.endswith(b"\x0f\xa0as you wish"):
                more = await stream.receive_some()
                assert more
                frames += more
            await stream.send_all(b"\x88\x82\x00\x00\x00\x00\x0f\xa0")
            assert await stream.receive_some() == b""


def handshake(path):
    return (
        f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ).encode()


@pytest.mark.parametrize(
    ("path", "status", "ending"), [("/closed", b"403", b'{"error":"closed"}'), ("/elsewhere", b"302", b"")]
)
async def test_a_refused_or_redirected_handshake_carries_the_brokers_answer(running, path, status, ending):
    host, port = running.brokers["zerodha"]["rest_url"].removeprefix("http://").split(":")
    received = b""
    with trio.fail_after(SECONDS):
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            await stream.send_all(handshake(path))
            while more := await stream.receive_some():
                received += more
    assert received.split(b" ")[1] == status
    assert received.endswith(ending)
    assert (b"location: /stream" in received.lower()) is (status == b"302")


async def test_dropped_streams_end_without_a_closing_frame(running):
    host, port = running.brokers["zerodha"]["rest_url"].removeprefix("http://").split(":")
    with trio.fail_after(SECONDS):
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            await stream.send_all(handshake("/stream"))
            frames = await stream.receive_some()
            while not frames.endswith(b"beat"):
                frames += await stream.receive_some()
            await running.command("POST", "/fault", {"broker": "all", "kind": "drop_stream", "count": 1})
            while more := await stream.receive_some():
                frames += more
    assert frames.endswith(b"\x81\x04beat")


async def test_a_client_that_resets_its_socket_leaves_the_simulator_running(running):
    host, port = running.brokers["zerodha"]["rest_url"].removeprefix("http://").split(":")
    with trio.fail_after(SECONDS):
        stream = await trio.open_tcp_stream(host, int(port))
        await stream.send_all(handshake("/stream"))
        assert await stream.receive_some()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await stream.aclose()
        await trio.testing.wait_all_tasks_blocked(0.05)
    assert (await running.ask("GET", "/base"))[0] == 200


async def test_one_connection_serves_many_requests(running):
    host, port = running.brokers["zerodha"]["rest_url"].removeprefix("http://").split(":")
    request = b"GET /base HTTP/1.1\r\nHost: x\r\n\r\n"
    with trio.fail_after(SECONDS):
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            await stream.send_all(request * 3)
            received = b""
            while received.count(b"HTTP/1.1 200") < 3 or not received.endswith(b"}"):
                received += await stream.receive_some()


async def test_a_folder_belongs_to_one_simulator(echo, nursery, tmp_path, monkeypatch):
    monkeypatch.setattr("onebroker.brokers.simulator.host.run.LOCK_SECONDS", 0.3)
    options = SimulatorOptions(
        dialects={"zerodha": echo.build}, calendar=always_open(), clock=Clock(), instruments=60, data_dir=tmp_path
    )
    await nursery.start(partial(run_simulator, options, announce=lambda line: None))
    with trio.fail_after(SECONDS), pytest.raises(FolderInUse):
        await run_simulator(options, announce=lambda line: None)


class Child:
    """The echo simulator as a process of its own."""

    def __init__(self, data_dir):
        self.process = subprocess.Popen(
            [sys.executable, str(ECHO), str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        lines = list(iter(lambda: self.process.stdout.readline().strip(), "ready"))
        self.running = Running([json.loads(line) for line in lines])

    def kill(self):
        self.process.kill()
        self.end()

    def end(self):
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.process.stdout.close()


async def test_nothing_acknowledged_is_lost_by_a_kill_and_the_same_ports_answer_again(tmp_path):
    child = Child(tmp_path)
    share = await child.running.share()
    low = round(share["last_price"] * 0.97 / share["tick_size"]) * share["tick_size"]
    body = child.running.order(share, order_type="LIMIT", price=f"{low:.2f}", product="MIS")
    acknowledged = [(await child.running.ask("POST", "/place", body))[1]["order_id"] for _ in range(5)]
    acknowledged += [(await child.running.ask("POST", "/place", child.running.order(share)))[1]["order_id"]]
    await child.running.command(
        "POST", "/price", {"instrument": share["instrument_id"], "last_price": share["last_price"]}
    )
    before = {path: await child.running.ask("GET", path) for path in ("/orders", "/fills", "/positions")}
    _, ledger = await child.running.command("GET", "/ledger")
    child.kill()

    with child.running.held():
        again = Child(tmp_path)
    try:
        assert [(line.get("rest_url"), line.get("session")) for line in again.running.lines] == [
            (line.get("rest_url"), line.get("session")) for line in child.running.lines
        ]
        assert again.running.control == child.running.control
        assert {path: await again.running.ask("GET", path) for path in before} == before
        _, kept = await again.running.command("GET", "/ledger")
        assert [each["order_id"] for each in kept["messages"]] == acknowledged
        assert kept["messages"] == ledger["messages"]
        assert kept["fills"] == ledger["fills"]
        assert (await again.running.ask("POST", f"/cancel?order_id={acknowledged[0]}"))[1]["status"] == "cancelled"
    finally:
        again.end()


async def started_again(options):
    """Start and end a simulator; what it announced."""
    said = []
    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(run_simulator, options, announce=said.append))
            nursery.cancel_scope.cancel()
    return Running(said)


async def test_a_kept_port_that_another_program_has_now_is_given_up_for_a_free_one(echo, tmp_path, monkeypatch):
    monkeypatch.setattr("onebroker.brokers.simulator.host.server.BIND_SECONDS", 0.3)
    options = SimulatorOptions(
        dialects={"zerodha": echo.build, "upstox": echo.build}, calendar=always_open(), clock=Clock(), instruments=60,
        data_dir=tmp_path,
    )  # fmt: skip
    first = await started_again(options)
    taken = first.brokers["zerodha"]["rest_url"]
    with first.held(), socket.socket() as another:
        another.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        another.bind(("127.0.0.1", int(taken.rpartition(":")[2])))
        another.listen()
        second = await started_again(options)
    assert second.brokers["zerodha"]["rest_url"] != taken
    assert second.brokers["upstox"] == first.brokers["upstox"]
    assert second.control == first.control
    assert (await started_again(options)).lines == second.lines, "the new one is kept"


async def test_a_taken_port_that_somebody_chose_is_an_error(echo, monkeypatch):
    monkeypatch.setattr("onebroker.brokers.simulator.host.server.BIND_SECONDS", 0.3)
    with socket.socket() as another:
        another.bind(("127.0.0.1", 0))
        another.listen()
        options = SimulatorOptions(
            dialects={"zerodha": echo.build}, calendar=always_open(), clock=Clock(), instruments=60,
            port_base=another.getsockname()[1],
        )  # fmt: skip
        with pytest.RaisesGroup(OSError, flatten_subgroups=True):
            await started_again(options)


async def test_it_ends_itself_when_its_parents_pipe_closes(tmp_path):
    child = Child(tmp_path)
    child.end()
    assert child.process.returncode == 0


def test_the_module_runs_by_itself_and_refuses_wrong_use():
    command = [sys.executable, "-m", "onebroker.brokers.simulator"]
    wrong = subprocess.run([*command, "--instruments", "5"], capture_output=True, text=True, timeout=SECONDS)
    assert wrong.returncode == 2
    assert "at least 60" in wrong.stderr
    run = subprocess.run(
        [*command, "--instruments", "100", "--until-stdin-closes", "--market-hours", "real", "--now", "2026-11-23T09:10:00+05:30"],
        input="", capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    *lines, last = run.stdout.splitlines()
    assert last == "ready" or "control_url" in last
    assert "control_url" in "".join(lines) + last
