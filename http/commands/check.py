"""`onebroker check`: try out every configured broker and report what works: address, login, profile, each read,
instruments, stream. A last line says how far the trading calendar is known.

If a service runs, the command asks it, and the service uses its own logins. Without a service the command uses the
stored logins, and brokers that log in by themselves do so. No order is sent. Exit code 0 when everything works, 1 when
something does not, 4 when no broker answered at all.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec
import trio

from onebroker.actors.health.calendar_problems import calendar_line
from onebroker.actors.kernel.supervisor import CrashLog, open_supervisor
from onebroker.actors.sessions.brokers_in_service import InService, brokers_in_service, require_credentials
from onebroker.actors.sessions.check import (
    ADDRESS,
    CheckContext,
    Step,
    check_address,
    check_instruments,
    check_reads,
    check_stream,
    timed,
)
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.login_keeper import why_refused
from onebroker.actors.sessions.stored_logins import StoredLogins
from onebroker.actors.store.durable_sqlite import DURABLE_FILE
from onebroker.actors.store.open_durable import in_database, open_durable
from onebroker.brokers.broker import Access, LoginKind
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BrokerError
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.interface import Transport
from onebroker.brokers.transport.network import open_transports
from onebroker.config.calendars import Calendar, always_open
from onebroker.config.clock import Clock
from onebroker.config.instruments import calendar_of
from onebroker.config.settings import Settings
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.printable import printable
from onebroker.http.commands.screen import Block, Table, write, write_json
from onebroker.http.commands.service_process import document_calendar, open_store, seal_of
from onebroker.http.commands.stored_formats import open_data_directory
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service

SOME_FAILED = 1
LOGIN_SECONDS = 30.0
MOST_WAITING = 20

Results = Mapping[str, Sequence[Step]]


def run(parsed: argparse.Namespace) -> int:
    results, calendar = trio.run(_check, parsed, strict_exception_groups=True)
    if parsed.json:
        write_json(sys.stdout, _plain(results))
    else:
        write(sys.stdout, shown(results))
    # Not in the JSON, which maps brokers to their steps.
    (sys.stderr if parsed.json else sys.stdout).write(f"calendar: {printable(calendar)}\n")
    every = [step for steps in results.values() for step in steps]
    if all(step.ok for step in every):
        return DONE
    return SOME_FAILED if any(step.ok for step in every if step.name != ADDRESS) else NOTHING_REACHABLE


async def _check(parsed: argparse.Namespace) -> tuple[Results, str]:
    """Return the steps of each broker, and what is known of the trading calendar."""
    settings = read_settings(parsed.config)
    data_dir = parsed.data_dir or settings.service.data_dir
    try:
        path = data_dir / SOCKET_NAME
        answered = await ask_service(path, {"command": "check", "brokers": ",".join(parsed.broker)})
        calendar = await ask_service(path, {"command": "calendar"})
    except ControlFailed as error:
        raise CommandFailed(str(error), WRONG_USE) from error
    except NoService:
        if parsed.data_dir is not None and parsed.config is None:
            raise CommandFailed(f"no service runs on {parsed.data_dir}, and no --config is given", WRONG_USE) from None
        return await _without_service(settings, parsed.broker)
    results = {code: [msgspec.convert(step, Step) for step in steps] for code, steps in answered.items()}
    return results, str(calendar["line"])


async def _without_service(settings: Settings, wanted: Sequence[str]) -> tuple[Results, str]:
    registry = build_registry()
    require_credentials(registry, settings.brokers)
    services = brokers_in_service(registry, settings.brokers, exit_share=settings.engine.exit_share, day_limits=True)
    if not services:
        raise CommandFailed("the settings name no broker", WRONG_USE)
    if unknown := [code for code in wanted if code not in services]:
        raise CommandFailed(f"{unknown[0]} is not one of the settings' brokers: {', '.join(services)}", WRONG_USE)
    clock = Clock()
    results: dict[str, Sequence[Step]] = dict.fromkeys(wanted or services, ())
    with open_data_directory(settings.service.data_dir) as directory:
        calendar = await stored_calendar(settings, directory.path)
        store, child = open_store(settings, directory.path)
        logins = StoredLogins(store, seal_of(settings))
        egresses = {code: service.egress for code, service in services.items()}
        async with (
            open_transports(clock, egresses, opened_by=settings.service.transport) as transports,
            open_supervisor(CrashLog(clock)) as supervisor,
        ):
            await supervisor.start(child)

            async def check_one(code: str) -> None:
                results[code] = await _try_out(services[code], transports[code], logins, clock, calendar)

            async with trio.open_nursery() as nursery:
                for code in results:
                    nursery.start_soon(check_one, code)
    return results, calendar_line(calendar, clock.today())


async def stored_calendar(settings: Settings, data_dir: Path) -> Calendar:
    """Return the calendar that a service on this data directory would have: of the imported documents, if there are such."""
    calendar = document_calendar(settings)
    if calendar is None:
        return always_open()
    if in_database(data_dir, settings.store) or (data_dir / DURABLE_FILE).exists():
        with open_durable(data_dir, settings.store) as durable:
            stored = await durable.documents("exchanges")
        if stored:  # as the reference actor does it in a service
            calendar.follow(msgspec.json.decode(document, type=dict[str, Any]) for document in stored)
    return calendar


async def _try_out(
    service: InService, transport: Transport, logins: StoredLogins, clock: Clock, calendar: Calendar
) -> list[Step]:
    caller = Caller(transport, BudgetGate(service.budget(), clock, most_waiting=MOST_WAITING), clock)
    context = CheckContext(broker=service.broker, caller=caller, transport=transport, clock=clock)
    access: Access | None = None

    async def log_in() -> str:
        nonlocal access
        access = await _logged_in(service, caller, logins, clock)
        return access.login.user_id if access.login is not None else ""

    address = await check_address(context, service.access)
    login = await timed("login", clock, log_in)
    if access is None:
        return [*address, login]
    reads = await check_reads(context, access, {})
    instruments, share = await check_instruments(context, access)
    markets = {(name.partition("_")[0], calendar_of(name)) for name in service.broker.capabilities.segments}
    market_open = calendar.any_open(markets, clock.now())
    return [*address, login, *reads, instruments, await check_stream(context, access, share, market_open=market_open)]


async def _logged_in(service: InService, caller: Caller, logins: StoredLogins, clock: Clock) -> Access:
    """Return the access with the stored login while it is valid. Otherwise log in again, where the broker logs in by
    itself.

    Raises BrokerError, ValueError.
    """
    code = service.broker.code
    stored = await logins.read(code)
    if stored is not None and stored.expires_at > clock.epoch():
        return attrs.evolve(service.access, login=stored)
    if service.broker.login_kind is not LoginKind.UNATTENDED:
        raise BrokerError(f"a person must log in: onebroker login {code}")
    try:
        login = await caller.drive(service.broker.login.log_in(service.access, "", clock.now()), LOGIN_SECONDS)
    except (BrokerError, ValueError) as error:
        raise BrokerError(why_refused(error)) from error
    if not logins.is_locked(code):
        await logins.store.write(logins.written(code, login))
    return attrs.evolve(service.access, login=login)


def _plain(results: Results) -> dict[str, list[dict[str, Any]]]:
    return {code: [attrs.asdict(step) for step in steps] for code, steps in results.items()}


def shown(results: Results) -> Block:
    """Return the results for people: one row per broker with `ok` or `FAILED` per step. The lines below give the
    address by which each broker's orders leave, and the reason of each failure."""
    names = list(dict.fromkeys(step.name for steps in results.values() for step in steps))
    rows = []
    for code, steps in results.items():
        outcomes = {step.name: "ok" if step.ok else "FAILED" for step in steps}
        rows.append([code, *(outcomes.get(name, "-") for name in names)])
    reasons = [
        f"{code} {step.name}: {step.detail}"
        for code, steps in results.items()
        for step in steps
        if not step.ok or step.name == ADDRESS
    ]
    return [Table(head=["broker", *names], rows=rows), *([""] if reasons else []), *reasons]
