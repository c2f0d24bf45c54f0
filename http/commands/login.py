"""`onebroker login CODE`: an assisted broker's login (architecture 5). Prints the address, takes the redirect, and
hands the redirect to the running service; without a service it writes the store itself. A broker that logs in by itself
does so now."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from functools import partial

import msgspec
import trio

from onebroker.actors.kernel.supervisor import CrashLog, open_supervisor
from onebroker.actors.sessions.brokers_in_service import InService, brokers_in_service
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.stored_logins import StoredLogins, refuse_other_account
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.broker import LoginKind
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BrokerError
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.network import open_transport
from onebroker.config.clock import Clock
from onebroker.config.settings import Settings
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.printable import printable
from onebroker.http.commands.service_process import open_store, seal_of
from onebroker.http.commands.start_facts import NO_FILE
from onebroker.http.commands.stored_formats import open_data_directory
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service, shown_login
from onebroker.http.login_windows import carries, new_state

CALL_SECONDS = 30.0
_LOOPBACK = "127.0.0.1"
_HEADERS = b"Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
_PAGE = b"HTTP/1.1 200 OK\r\n" + _HEADERS + b"onebroker has the login; this page can be closed.\n"
_NO_PAGE = (
    b"HTTP/1.1 404 Not Found\r\n"
    + _HEADERS
    + b"onebroker waits here for the address that the broker sends you back to.\n"
)


def run(parsed: argparse.Namespace) -> int:
    registry = build_registry()
    settings = read_settings(parsed.config)
    services = brokers_in_service(registry, settings.brokers, exit_share=settings.engine.exit_share, day_limits=True)
    service = services.get(parsed.broker)
    if service is None:
        raise CommandFailed(_no_such_broker(parsed, tuple(services)), WRONG_USE)
    done = trio.run(_login, parsed, settings, service, strict_exception_groups=True)
    _say(
        msgspec.json.encode(done).decode()
        if parsed.json
        else f"logged in as {done['user_id']} until {done['expires_at']}"
    )
    return DONE


def _no_such_broker(parsed: argparse.Namespace, codes: Sequence[str]) -> str:
    if codes:
        return f"CODE must be one of the brokers of the settings: {', '.join(codes)}"
    if parsed.config is None:
        return f"there is no broker to log in to: {NO_FILE}"
    return f"there is no broker to log in to: {parsed.config} has no section [brokers.CODE] (docs/first-broker/)"


async def _login(parsed: argparse.Namespace, settings: Settings, service: InService) -> dict[str, str]:
    redirect: str | None = parsed.redirect
    if service.broker.login_kind is LoginKind.UNATTENDED:
        redirect = ""  # the broker logs in by itself; an empty redirect makes it log in now
    if redirect is None:
        state = new_state() if service.broker.login_repeats_state else ""
        page = service.broker.login.login_page(service.access, state)
        sys.stderr.write(f"Open this address, log in, and come back:\n  {page}\n")
        redirect = await (_caught(parsed.listen, state) if parsed.listen is not None else _typed(state))
    request = {"command": "login", "broker": service.broker.code, "redirect": redirect}
    if parsed.other_account:
        request["other_account"] = "yes"
    try:
        return await ask_service(settings.service.data_dir / SOCKET_NAME, request)
    except ControlFailed as error:
        raise CommandFailed(str(error), NOTHING_REACHABLE) from error
    except NoService:
        return await _without_service(settings, service, redirect, other_account=parsed.other_account)


async def _typed(state: str) -> str:
    sys.stderr.write("Paste the address you were sent back to: ")
    sys.stderr.flush()
    line: str = await trio.to_thread.run_sync(sys.stdin.readline)
    if not line:  # the end of the input; an empty line would still have its line end
        raise CommandFailed("no address was given", WRONG_USE)
    if not carries(line.strip(), state):
        raise CommandFailed(
            "the address is not that of this login: open the page that was printed, and log in there", NOTHING_REACHABLE
        )
    return line.strip()


async def _caught(port: int, state: str) -> str:
    """Wait on a loopback port for the browser that the broker sends back, and return the address that the browser
    requests.

    Any page in a browser of this machine can request addresses of this port. A request without `state` does not belong
    to this login and is not taken. If the broker does not repeat the state (""), the first request with a query is
    taken.
    """
    caught: list[str] = []
    async with trio.open_nursery() as nursery:

        async def handle(stream: trio.SocketStream) -> None:
            with contextlib.suppress(trio.BrokenResourceError):  # the browser has left; its request still counts
                target = await _request_target(stream)
                if found := carries(target, state):
                    caught.append(f"http://{_LOOPBACK}:{port}{target}")
                await stream.send_all(_PAGE if found else _NO_PAGE)
            if caught:
                nursery.cancel_scope.cancel()

        await nursery.start(partial(trio.serve_tcp, handle, port, host=_LOOPBACK))
    return caught[0]


async def _request_target(stream: trio.SocketStream) -> str:
    head = b""
    while b"\r\n" not in head and len(head) < 64 * 1024:
        chunk = await stream.receive_some(4096)
        if not chunk:
            break
        head += chunk
    words = head.partition(b"\r\n")[0].split()
    return words[1].decode("ascii", "replace") if len(words) == 3 else ""


async def _without_service(
    settings: Settings, service: InService, redirect: str, *, other_account: bool
) -> dict[str, str]:
    """Exchange the redirect and write the store; no service may run on the data directory."""
    clock = Clock()
    with open_data_directory(settings.service.data_dir) as directory:
        store, child = open_store(settings, directory.path)
        egress = service.egress
        async with (
            open_transport(
                clock, name=service.broker.code, egress=egress, opened_by=settings.service.transport
            ) as transport,
            open_supervisor(CrashLog(clock)) as supervisor,
        ):
            await supervisor.start(child)
            try:
                caller = Caller(transport, BudgetGate(service.budget(), clock, most_waiting=1), clock)
                flow = service.broker.login.log_in(service.access, redirect, clock.now())
                login = await caller.drive(flow, CALL_SECONDS)
                code = service.broker.code
                logins = StoredLogins(store, seal_of(settings))
                if service.broker.login_kind is LoginKind.ASSISTED and not other_account:
                    refuse_other_account(code, await logins.last(code), login)
                await store.write(logins.written(code, login))
            except (BrokerError, ValueError, StoreError) as error:
                raise CommandFailed(str(error), NOTHING_REACHABLE) from error
            return shown_login(login)


def _say(text: str) -> None:
    sys.stdout.write(f"{printable(text)}\n")
    sys.stdout.flush()
