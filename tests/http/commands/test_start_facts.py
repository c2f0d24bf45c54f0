"""What a start says: the facts of the event, and one line for each of them."""

from types import SimpleNamespace

import attrs
import pytest
import trio

from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.session_view import LoginState, SessionView
from onebroker.actors.store.server_address import Durability
from onebroker.brokers.broker import LoginKind
from onebroker.config.calendars import always_open, calendar_from_documents
from onebroker.config.converters import Secret
from onebroker.config.events import Started
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.sections import ServiceSettings
from onebroker.http.commands.start_facts import (
    LOGIN_SECONDS,
    STORE_AWAY,
    login_kinds,
    no_file_lines,
    start_lines,
    started,
    wait_for_stored_logins,
)

pytestmark = pytest.mark.unit
ADDRESS = "http://127.0.0.1:8000"


def tree(calendar=None, **logins: LoginState):
    """A tree whose sessions have these logins; Zerodha needs a person."""
    kinds = {"zerodha": LoginKind.ASSISTED}
    return SimpleNamespace(
        calendar=calendar or calendar_from_documents(exchange_documents()),
        sessions={
            code: SimpleNamespace(
                view=Published(SessionView(broker=code, login=login)),
                broker=SimpleNamespace(login_kind=kinds.get(code, LoginKind.UNATTENDED)),
            )
            for code, login in logins.items()
        },
    )


def settings(tmp_path, **given: str) -> ServiceSettings:
    return ServiceSettings(data_dir=tmp_path, **{name: Secret(value) for name, value in given.items()})


def test_the_event_holds_the_facts_and_no_secret(tmp_path):
    event = started(
        tree(zerodha=LoginState.NEEDED, dhan=LoginState.LIVE),
        ADDRESS,
        settings(tmp_path, api_key="key-1", api_secret="secret-1"),
        Durability(every_write=True, text="every write on disk", wait_for_disk=False),
    )
    assert attrs.evolve(event, version="1") == Started(
        version="1", listener="127.0.0.1:8000", brokers=("zerodha", "dhan"), logins_needed=("zerodha",), key=True,
        durability="every write on disk", calendar_until="2026-12-31",
    )  # fmt: skip


def test_a_key_without_its_secret_is_no_key_and_a_store_that_is_away_promises_nothing(tmp_path):
    event = started(tree(always_open()), ADDRESS, settings(tmp_path, api_key="key-1"), None)
    assert (event.key, event.durability, event.calendar_until) == (False, STORE_AWAY, None)


def test_each_fact_is_a_line(tmp_path):
    house = tree(zerodha=LoginState.NEEDED, dhan=LoginState.REPAIRING, groww=LoginState.LIVE)
    event = attrs.evolve(
        started(house, ADDRESS, settings(tmp_path, api_key="key-1", api_secret="secret-1"), None), version="1"
    )
    assert start_lines(event, ADDRESS, login_kinds(house), "known until 2026-12-31") == (
        "onebroker 1 is running at http://127.0.0.1:8000/api/",
        "  brokers      zerodha, dhan, groww",
        "  no login     zerodha, dhan",
        "  by a person  zerodha (onebroker login CODE)",
        "  API key      yes",
        f"  store        {STORE_AWAY}",
        "  calendar     known until 2026-12-31",
    )


def test_brokers_that_all_have_a_login_need_no_person(tmp_path):
    house = tree(always_open(), zerodha=LoginState.LIVE)
    lines = start_lines(started(house, ADDRESS, settings(tmp_path), None), ADDRESS, login_kinds(house), "always open")
    assert "  no login     none: every broker has a login" in lines
    assert "  calendar     always open" in lines
    assert not any("person" in line for line in lines)


def test_a_start_without_a_settings_file_says_so_where_a_broker_or_the_key_is_missing(tmp_path):
    bare = started(tree(always_open()), ADDRESS, settings(tmp_path), None)
    (line,) = no_file_lines(bare, has_file=False)
    assert line.startswith("  settings     no settings file was given (--config FILE)")
    assert no_file_lines(bare, has_file=True) == ()
    whole = settings(tmp_path, api_key="key-1", api_secret="secret-1")
    house = tree(always_open(), zerodha=LoginState.LIVE)
    assert no_file_lines(started(house, ADDRESS, whole, None), has_file=False) == ()


async def test_a_start_waits_for_the_stored_logins_but_not_for_long(autojump_clock):
    house = tree(zerodha=LoginState.STARTING, dhan=LoginState.STARTING)
    began = trio.current_time()
    await wait_for_stored_logins(house)
    assert trio.current_time() - began == LOGIN_SECONDS
    for handle in house.sessions.values():
        handle.view.set(attrs.evolve(handle.view.value, login=LoginState.NEEDED))
    began = trio.current_time()
    await wait_for_stored_logins(house)
    assert trio.current_time() == began
