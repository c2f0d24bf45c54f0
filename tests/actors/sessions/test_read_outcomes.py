"""A kind of read begins to fail once, and is good again once."""

from datetime import datetime

import pytest
import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.read_outcomes import ReadOutcomes
from onebroker.actors.sessions.session_counts import SessionCounts
from onebroker.config.clock import IST, Clock
from onebroker.config.events import ReadFailing, ReadOk


@pytest.fixture
async def make(autojump_clock):
    def made(**options):
        heard = []
        clock = Clock.following_trio(datetime(2026, 11, 23, 10, 0, tzinfo=IST))
        return ReadOutcomes("upstox", "funds", clock=clock, events=Events(heard.append), **options), heard

    return made


def failing(words):
    return ReadFailing(broker="upstox", read="funds", words=words)


async def test_reads_that_are_good_tell_nothing(make, autojump_clock):
    outcomes, heard = make()
    outcomes.good()
    outcomes.good()
    assert heard == []


async def test_the_first_failure_and_the_first_good_read_after_it_are_told_and_no_read_between_them(
    make, autojump_clock
):
    outcomes, heard = make()
    for words in ("HTTP 500", "HTTP 500", "HTTP 502"):
        outcomes.failed(words)
        await trio.sleep(2.5)
    outcomes.good()
    outcomes.good()
    assert heard == [failing("HTTP 500"), ReadOk(broker="upstox", read="funds", failed=3, seconds=7.5)]
    outcomes.failed("HTTP 503")
    assert heard[2:] == [failing("HTTP 503")]


async def test_reads_of_changing_instruments_are_good_again_only_after_a_time_without_a_failure(make, autojump_clock):
    outcomes, heard = make(settled_seconds=60.0)
    for _ in range(20):
        outcomes.failed("row 1")
        await trio.sleep(5)
        outcomes.good()
    assert heard == [failing("row 1")]
    await trio.sleep(55)
    outcomes.good()
    assert heard[1:] == [ReadOk(broker="upstox", read="funds", failed=20, seconds=155.0)]


async def test_every_read_is_counted_also_those_that_tell_nothing(make, autojump_clock):
    counts = SessionCounts()
    outcomes, _ = make(counts=counts)
    for words in ("HTTP 500", "HTTP 502"):
        outcomes.failed(words)
    for _ in range(3):
        outcomes.good()
    assert (counts.good_reads, counts.failed_reads) == ({"funds": 3}, {"funds": 2})
