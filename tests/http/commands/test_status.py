"""What `onebroker status` and `onebroker orders` print of answers of the service, and their exit codes."""

from argparse import Namespace

import pytest

from onebroker.http.commands import orders, status
from onebroker.http.commands.exit_codes import CommandFailed
from onebroker.http.commands.health_tables import health_block
from onebroker.http.commands.screen import plain

pytestmark = pytest.mark.unit

FEED = {"connected": True, "trouble": None, "subscribed": 3}
BROKER = {
    "login": "live",
    "trouble": None,
    "read_errors": {},
    "market_feed": FEED,
    "order_feed": None,
    "room": {"entry_room": 8, "order_messages_today": 12, "daily_cap": 3000},
    "parts": {"funds": "2026-11-25T09:14:58", "holdings": "2026-11-25T09:10:00"},
}
HEALTH = {
    "status": "degraded",
    "time": "2026-11-25T09:15:00",
    "actors": {"store": True, "funds": False},
    "crashes": [{"actor": "funds", "error": "boom\x1b", "count": 2, "at": "2026-11-25T09:14:00"}],
    "store": {"reachable": True, "durability": "every write on disk"},
    "market": {
        "nse equity": {"today": "trading", "open": True, "known_until": None},
        "nse currency": {"today": "closed", "open": False, "known_until": None},
        "mcx commodity": {"today": "trading", "open": True, "known_until": None},
    },
    "clock": {"problem": None},
    "engine": {"running": False, "reason": "the lock is held"},
    "halt": {"halted": True, "mode": "reduce_only", "since": "2026-11-25T09:00:00", "reason": "the strategy"},
    "daily_loss": {"limit": 5000, "loss": None, "locked": False},
    "catalogue": {"mapping_date": "2026-11-25", "reason": None},
    "problems": [{"what": "no login", "broker": "dhan", "since": "2026-11-25T08:00:00", "do": "onebroker login dhan"}],
    "brokers": {
        "zerodha": BROKER,
        "dhan": {**BROKER, "login": "needed", "trouble": "the login has ended", "parts": {"funds": None},
                 "market_feed": {**FEED, "connected": False}, "room": None, "read_errors": {"funds": "no login"}},
    },
    "documents": {"funds": "2026-11-25T09:14:58", "trades": None},
}  # fmt: skip


def words_of(lines, first):
    return next(line.split() for line in lines if line.startswith(first))


def test_the_tables_say_what_the_document_says():
    lines = plain(health_block(HEALTH))
    text = "\n".join(lines)
    for said in (
        "status      degraded",
        "market      open: nse equity, mcx commodity",
        "clock       ok",
        "engine      not running: the lock is held",
        "halt        reduce_only since 2026-11-25T09:00:00: the strategy",
        "daily loss  ₹ - of ₹ 5000",
        "actors      down: funds",
        "crash       funds 2 times, last at 2026-11-25T09:14:00: boom\\x1b",
    ):
        assert said in lines, text
    assert words_of(lines, "no login")[-3:] == ["onebroker", "login", "dhan"]
    assert words_of(lines, "zerodha") == ["zerodha", "live", "ok", "-", "holdings", "09:10:00", "8", "12", "of", "3000"]
    assert words_of(lines, "dhan") == [
        "dhan",
        "needed",
        "down",
        "-",
        "funds",
        "missing",
        "-",
        "-",
        "the",
        "login",
        "has",
        "ended",
    ]
    assert words_of(lines, "funds ") == ["funds", "2026-11-25T09:14:58", "2", "s"]
    assert words_of(lines, "trades") == ["trades", "-", "-"]


def test_a_day_that_the_calendar_does_not_know_is_said():
    market = {"nse equity": {"today": "unknown", "open": True, "known_until": "2026-12-31"}}
    lines = plain(health_block(HEALTH | {"market": market}))
    assert "market      open: nse equity; nobody knows whether it is a holiday at nse equity" in lines


def test_a_market_feed_that_nothing_needs_is_idle_and_not_down():
    idle = {**BROKER, "market_feed": {"connected": False, "trouble": None, "subscribed": 0}}
    lines = plain(health_block(HEALTH | {"brokers": {"groww": idle}}))
    assert words_of(lines, "groww")[2] == "idle"


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ({"reachable": True, "durability": "every write on disk"}, "ok, every write on disk"),
        ({"reachable": True, "durability": None}, "ok"),
        ({"reachable": False, "durability": "every write on disk"}, "down"),
    ],
)
def test_the_store_is_shown_with_what_its_writes_are_worth(store, words):
    assert f"store       {words}" in plain(health_block(HEALTH | {"store": store}))


def test_a_service_without_brokers_is_shown_too():
    lines = plain(health_block(HEALTH | {"brokers": {}, "problems": [], "documents": {}, "status": "ok"}))
    assert "status      ok" in lines
    assert not any("login" in line for line in lines)


def parsed(**options):
    return Namespace(**{"json": False, "watch": False, "parent": None, **options})


@pytest.mark.parametrize(("health", "code"), [(HEALTH, 1), (HEALTH | {"status": "ok"}, 0)])
def test_the_exit_code_is_that_of_the_health(monkeypatch, capsys, health, code):
    monkeypatch.setattr(status, "ask", lambda parsed, request, without: health)
    assert status.run(parsed()) == code
    assert "mcx commodity" in capsys.readouterr().out


def test_a_watch_goes_on_without_the_service_and_ends_with_the_last_look(monkeypatch, capsys):
    looks = [HEALTH, CommandFailed("no service runs on data", 4)]

    def ask(parsed, request, without):
        found = looks.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def sleep(seconds):
        if not looks:
            raise KeyboardInterrupt

    monkeypatch.setattr(status, "ask", ask)
    monkeypatch.setattr(status.time, "sleep", sleep)
    assert status.run(parsed(watch=True)) == 4
    said = capsys.readouterr().out
    assert said.index("mcx commodity") < said.index("no service runs on data")


ORDER = {
    "order_timestamp": "2026-11-25T09:15:00+05:30", "broker": "dhan", "order_id": "7", "tradingsymbol": "INFY",
    "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT", "quantity": 5, "filled_quantity": 0,
    "price": 1500.0, "trigger_price": 0.0, "average_price": 0.0, "status": "OPEN", "status_message": None,
}  # fmt: skip
PARENT = {"parent_order_id": "p-1", "synthetic_type": "bracket", "state": "working", "instrument_id": "i-1",
          "status_message": None, "legs": [{}, {}]}  # fmt: skip


def test_orders_and_parents_are_tables(monkeypatch, capsys):
    answer = {"orders": {"orders": [ORDER], "as_of": "2026-11-25T09:15:01"}, "parents": {"parents": [PARENT]}}
    monkeypatch.setattr(orders, "ask", lambda parsed, request, without: answer)
    assert orders.run(parsed()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert words_of(lines, "2026-11-25T09:15:00")[1:8] == ["dhan", "7", "INFY", "BUY", "CNC", "LIMIT", "5"]
    assert "1 orders (as of 2026-11-25T09:15:01)" in lines
    assert words_of(lines, "p-1") == ["p-1", "bracket", "working", "i-1", "-", "2"]


def test_what_cannot_be_read_is_said_and_is_the_exit_code(monkeypatch, capsys):
    answer = {"orders": {"error": "orders are out of date"}, "parents": {"parents": [], "unreadable_parents": ["p-2"]}}
    monkeypatch.setattr(orders, "ask", lambda parsed, request, without: answer)
    assert orders.run(parsed()) == 1
    said = capsys.readouterr().out
    assert "orders: orders are out of date\n" in said
    assert "parent p-2 cannot be read\nno open parents\n" in said
