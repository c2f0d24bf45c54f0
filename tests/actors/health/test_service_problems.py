"""Problems of the service itself."""

from datetime import datetime, timedelta

import trio

from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.health.service_problems import (
    CRASH_SECONDS,
    DROPS_SECONDS,
    DroppedTicks,
    actors_down,
    charges_old,
    clock_doubted,
    crashes_lately,
    disk_short,
    store_away,
    store_evicts,
    ticks_not_archived,
    values_locked,
)
from onebroker.actors.history.disk_room import MEGABYTE, Room
from onebroker.actors.history.tick_archive import ArchiveState
from onebroker.actors.kernel.supervisor import CrashRecord
from onebroker.config.charges.load import built_in_charges
from onebroker.config.clock import IST, Clock

CRASH = CrashRecord(actor="engine", error="ValueError: odd", count=3, at=1_000.0, last_message_type=None)


def kinds(found: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.kind.value, problem.subject) for problem in found]


def test_a_part_that_is_down_is_named_with_its_crash() -> None:
    down = list(actors_down(lambda: {"token": True, "engine": False}, [CRASH]))
    assert kinds(down) == [("actor", "engine")]
    assert (down[0].since, "ValueError: odd" in down[0].what) == (1_000.0, True)
    assert next(actors_down(lambda: {"token": False})).since is None


def test_a_crash_is_a_problem_for_ten_minutes() -> None:
    assert kinds(list(crashes_lately([CRASH], 1_000.0 + CRASH_SECONDS - 1))) == [("crash", "engine")]
    assert list(crashes_lately([CRASH], 1_000.0 + CRASH_SECONDS)) == []


def test_the_store_and_the_disk() -> None:
    assert list(store_away(True)) == []
    assert [problem.kind for problem in store_away(False)] == [ProblemKind.STORE]
    assert list(store_evicts("")) == []
    assert kinds(list(store_evicts("Redis removes orders"))) == [("store", "eviction")]
    assert list(disk_short(Room(reserve=MEGABYTE))) == []
    assert kinds(list(disk_short(Room(reserve=9 * MEGABYTE, free=MEGABYTE, enough=False)))) == [("disk", "")]
    assert kinds(list(disk_short(Room(reserve=MEGABYTE, free=None, enough=False)))) == [("disk", "")]


def test_ticks_that_are_not_archived_are_a_problem_with_the_reason() -> None:
    assert list(ticks_not_archived(ArchiveState(place="/srv/ticks", waiting=3))) == []
    (problem,) = ticks_not_archived(ArchiveState(place="s3://b", waiting=3, trouble="s3://b: Connection refused"))
    assert (problem.kind, "s3://b: Connection refused" in problem.what) == (ProblemKind.ARCHIVE, True)


async def test_ticks_that_were_not_recorded_are_a_problem_for_a_minute(autojump_clock):
    dropped = [0]
    source = DroppedTicks(lambda: dropped[0], Clock.following_trio(datetime(2026, 11, 25, 10, 0, tzinfo=IST)))
    assert list(source()) == []
    dropped[0] = 7
    assert kinds(list(source())) == [("disk", "ticks")]
    await trio.sleep(DROPS_SECONDS - 1)
    assert kinds(list(source())) == [("disk", "ticks")]
    await trio.sleep(1)
    assert list(source()) == []


def test_clocks_that_differ_and_old_charges() -> None:
    assert list(clock_doubted({"zerodha": 0.4, "upstox": None})) == []
    assert kinds(list(clock_doubted({"zerodha": 61.0, "upstox": 60.5}))) == [("clock", "")]
    charges = built_in_charges()
    assert list(charges_old(charges, charges.checked)) == []
    assert kinds(list(charges_old(charges, charges.checked + timedelta(days=400)))) == [("charges", "")]


def test_a_stored_secret_without_its_key_is_named_with_what_to_do() -> None:
    found = list(values_locked({"broker:login:dhan": "there is no key in the settings"}))
    assert kinds(found) == [("secrets", "broker:login:dhan")]
    assert found[0].what == (
        "broker:login:dhan is stored encrypted, and there is no key in the settings: it counts as not there"
    )
    assert "secrets.key_file" in found[0].do
    assert list(values_locked({})) == []
