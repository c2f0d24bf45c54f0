"""The facts of a start: the event `start`, and the lines that `serve` prints of it. No secret is among them."""

from collections.abc import Mapping
from importlib.metadata import version
from urllib.parse import urlsplit

import trio

from onebroker.actors.health.calendar_problems import calendar_until
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.session_view import LoginState, SessionView
from onebroker.actors.store.server_address import Durability
from onebroker.actors.tree import Tree
from onebroker.brokers.broker import LoginKind
from onebroker.config.events import Started
from onebroker.config.sections import ServiceSettings

LOGIN_SECONDS = 2.0
"""Seconds that a start waits for the stored logins, at most."""
NO_FILE = "no settings file was given (--config FILE), so only ONEBROKER_ variables of the environment count"
STORE_AWAY = "not known: the store has not answered yet"


async def wait_for_stored_logins(tree: Tree) -> None:
    """Wait until every session has tried its broker's stored login, at most `LOGIN_SECONDS`."""
    with trio.move_on_after(LOGIN_SECONDS):
        for handle in tree.sessions.values():
            await _tried(handle.view)


async def _tried(view: Published[SessionView]) -> None:
    while view.value.login is LoginState.STARTING:
        await view.wait_newer(view.version)


def started(tree: Tree, address: str, settings: ServiceSettings, durability: Durability | None) -> Started:
    """Return the event of this start. `address` is the listener's, such as `http://127.0.0.1:8000`."""
    until = calendar_until(tree.calendar)
    return Started(
        version=version("onebroker"),
        listener=urlsplit(address).netloc,
        brokers=tuple(tree.sessions),
        logins_needed=tuple(code for code, handle in tree.sessions.items() if not handle.view.value.live),
        key=settings.api_key is not None and settings.api_secret is not None,
        durability=STORE_AWAY if durability is None else durability.text,
        calendar_until=None if until is None else until.isoformat(),
    )


def login_kinds(tree: Tree) -> Mapping[str, LoginKind]:
    """Return the kind of login of each broker in service."""
    return {code: handle.broker.login_kind for code, handle in tree.sessions.items()}


def start_lines(event: Started, address: str, logins: Mapping[str, LoginKind], calendar: str) -> tuple[str, ...]:
    """Return what `serve` prints, one fact a line. `logins`: broker code -> who logs in; `calendar`: what is known of the calendar."""
    return (
        f"onebroker {event.version} is running at {address}/api/",
        f"  brokers      {', '.join(event.brokers) or 'no broker is set: docs/first-broker/ lists the settings of each broker'}",
        *_login_lines(event, logins),
        f"  API key      {'yes' if event.key else 'no: service.api_key and service.api_secret are not set, so no client can connect'}",
        f"  store        {event.durability}",
        f"  calendar     {calendar}",
    )


def no_file_lines(event: Started, *, has_file: bool) -> tuple[str, ...]:
    """Return the line for a start without a settings file, which looks like success if no broker or no key is set."""
    if has_file or (event.brokers and event.key):
        return ()
    return (f"  settings     {NO_FILE}; `onebroker config init` writes a file",)


def _login_lines(event: Started, logins: Mapping[str, LoginKind]) -> tuple[str, ...]:
    if not event.brokers:
        return ()
    by_person = [code for code in event.logins_needed if logins[code] is LoginKind.ASSISTED]
    lines = [f"  no login     {', '.join(event.logins_needed) or 'none: every broker has a login'}"]
    if by_person:
        lines.append(f"  by a person  {', '.join(by_person)} (onebroker login CODE)")
    return tuple(lines)
