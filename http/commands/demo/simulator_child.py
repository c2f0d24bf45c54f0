"""The demo's simulator: started as a child process, its output read for the addresses, logged in to as a person would do it."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date
from functools import partial
from typing import Any

import attrs
import msgspec
import trio

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.messages import ExchangeRedirect
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.tree import Tree
from onebroker.brokers.broker import Login, LoginKind, Registry
from onebroker.brokers.requests import BrokerError, CallKind, WireRequest
from onebroker.brokers.transport.interface import Transport
from onebroker.http.commands.exit_codes import NOTHING_REACHABLE, CommandFailed

START_SECONDS = 60.0
STOP_SECONDS = 10.0
LOGIN_SECONDS = 10.0
RETRY_SECONDS = 1.0
_ADDRESSES = ("rest_url", "login_url", "stream_url", "order_stream_url", "instruments_url")


class Made(msgspec.Struct):
    """The facts from which the simulator makes its instruments and its past."""

    number: int
    """Number of instruments."""
    seed: int
    first_day: date


@attrs.frozen(kw_only=True)
class Simulated:
    """What the simulator reported about itself."""

    lines: Mapping[str, Mapping[str, Any]]
    """Broker code -> the broker's line."""
    control_url: str
    made: Made
    wait_ended: Callable[[], Awaitable[object]]
    """Returns when the simulator's process has ended."""

    def broker_settings(self, registry: Registry) -> dict[str, dict[str, object]]:
        """Return `[brokers.<code>]` for every simulated broker."""
        return {code: _settings(line, tuple(registry[code].endpoints.others)) for code, line in self.lines.items()}


def _settings(line: Mapping[str, Any], second_hosts: Sequence[str]) -> dict[str, object]:
    addresses = {name: line.get(name) or line["rest_url"] for name in (*_ADDRESSES, *second_hosts)}
    return {**line["credentials"], **addresses}


@asynccontextmanager
async def simulator_child(arguments: Sequence[str]) -> AsyncIterator[Simulated]:
    """Run the simulator until the block ends. It ends itself when our end of its pipe closes, also after kill -9."""
    command = [sys.executable, "-m", "onebroker.brokers.simulator", "--until-stdin-closes", *arguments]
    # A session of its own: we handle Ctrl-C, and the simulator must outlive the service's last order.
    process = await trio.lowlevel.open_process(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        try:
            with trio.fail_after(START_SECONDS):
                simulated = await _read_lines(process)
        except trio.TooSlowError:
            raise CommandFailed("the simulator did not start", NOTHING_REACHABLE) from None
        yield simulated
    finally:
        with trio.CancelScope(shield=True), trio.move_on_after(STOP_SECONDS):
            await process.stdin.aclose()
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.stdout.aclose()


async def _read_lines(process: trio.Process) -> Simulated:
    assert process.stdout is not None
    brokers: dict[str, Mapping[str, Any]] = {}
    control: Mapping[str, Any] = {}
    buffer = b""
    async for chunk in process.stdout:
        buffer += chunk
        while b"\n" in buffer:
            line, _, buffer = buffer.partition(b"\n")
            if line.strip() == b"ready":
                return Simulated(
                    lines=brokers,
                    control_url=control["control_url"],
                    made=msgspec.convert(control["made"], Made),
                    wait_ended=process.wait,
                )
            said = msgspec.json.decode(line, type=dict[str, Any])
            if "broker" in said:
                brokers[said["broker"]] = said
            if "control_url" in said:
                control = said
    raise CommandFailed("the simulator ended before it was ready", NOTHING_REACHABLE)


async def end_with_simulator(simulated: Simulated) -> None:
    """End the demo when its simulator has died: a demo whose brokers never answer is useless. Raises CommandFailed."""
    await simulated.wait_ended()
    raise CommandFailed("the simulator ended, so the demo ends too; its data directory continues", NOTHING_REACHABLE)


async def keep_logged_in(tree: Tree, transport: Transport) -> None:
    """Log in to every assisted broker as a person does, whenever a login is needed: open the login page, bring the redirect back."""
    async with trio.open_nursery() as nursery:
        for code, handle in tree.sessions.items():
            if handle.broker.login_kind is LoginKind.ASSISTED:
                page = handle.broker.login.login_page(tree.brokers[code].access)
                nursery.start_soon(_log_in_when_needed, handle, page, transport)


async def _log_in_when_needed(handle: SessionHandle, page: str, transport: Transport) -> None:
    while True:
        view = handle.view
        while view.value.login is not LoginState.NEEDED:
            await view.wait_newer(view.version)
        try:
            answer = await transport.send(WireRequest(kind=CallKind.LOGIN, method="GET", url=page), LOGIN_SECONDS)
            await handle.address.ask(partial(_exchange, answer.headers.get("location", "")), LOGIN_SECONDS)
        except (BrokerError, ValueError, ActorNotRunning, AskTimedOut):
            await trio.sleep(RETRY_SECONDS)
        else:
            with trio.move_on_after(LOGIN_SECONDS):
                while view.value.login is LoginState.NEEDED:
                    await view.wait_newer(view.version)


def _exchange(redirect: str, reply: Reply[Login]) -> ExchangeRedirect:
    return ExchangeRedirect(redirect=redirect, reply=reply)
