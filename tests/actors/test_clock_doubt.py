"""What brokers' clocks say of this machine's: seen by the `Date` of their answers, said with the brokers' names, acted on by nobody."""

import logging
from datetime import datetime

import hypothesis.strategies as st
import pytest
from hypothesis import given

from onebroker.actors.clock_doubt import clock_doubt
from onebroker.actors.clock_watch import ClockWatch
from onebroker.actors.sessions.clock_offset import DatedTransport, ahead_seconds
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.clock import IST
from onebroker.http.health_parts import clock_health
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST).timestamp()
"""10:00 in India is 04:30 in Greenwich."""


@given(
    ahead=st.floats(-1000, 1000), there=st.floats(0, 30), back=st.floats(0, 30), moment=st.floats(NOW, NOW + 2),
)  # fmt: skip
def test_no_more_is_said_than_the_answers_travelling_time_allows(ahead, there, back, moment):
    """`moment` is when the broker writes the answer, by our clock."""
    date = float(int(moment + ahead))
    told = ahead_seconds(date, moment + back, there + back)
    if told:
        assert (told > 0) == (ahead > 0)
        assert abs(told) <= abs(ahead) + 1e-6
        assert abs(ahead) - abs(told) <= there + back + 1 + 1e-6
    else:
        assert abs(ahead) <= there + back + 1 + 1e-6
        assert (told is None) == (there + back > 1)


class Answering:
    def __init__(self, headers):
        self.headers = headers

    async def send(self, request, timeout_seconds):
        return WireResponse(status=503, headers=self.headers)


@every_case(
    ("headers", "kind", "heard"),
    [
        ({"date": "Mon, 23 Nov 2026 04:30:30 GMT"}, CallKind.READ, [30.0]),
        ({"date": "Mon, 23 Nov 2026 04:29:30 GMT"}, CallKind.ORDER, [-29.0]),
        ({"date": "Mon, 23 Nov 2026 04:30:00 GMT"}, CallKind.LOGIN, [0.0]),
        ({"date": "Mon, 23 Nov 2026 10:00:30 +0530"}, CallKind.READ, [30.0]),
        ({"date": "Mon, 23 Nov 2026 04:30:30 GMT", "age": "40"}, CallKind.READ, []),  # out of a cache
        ({"date": "Mon, 23 Nov 2026 04:30:30 GMT"}, CallKind.FILE, []),
        ({"date": "yesterday"}, CallKind.READ, []),
        ({"date": "Mon, 23 Nov 99999999 04:30:30 GMT"}, CallKind.READ, []),
        ({"date": ""}, CallKind.READ, []),
        ({}, CallKind.READ, []),
    ],
)
async def test_an_answer_tells_by_its_date_whatever_its_status(headers, kind, heard):
    class Still:
        epoch = staticmethod(lambda: NOW)
        monotonic = staticmethod(lambda: 0.0)

    said = []
    transport = DatedTransport(Answering(headers), Still(), said.append)
    await transport.send(WireRequest(kind=kind, method="GET", url="http://x.test/"), 1)
    assert said == heard


@pytest.mark.parametrize(
    ("ahead", "text"),
    [
        ({}, None),
        ({"dhan": None, "groww": 0.0, "zerodha": 2.0, "upstox": -1.9}, None),
        (
            {"zerodha": 30.0, "upstox": 31.0},
            (
                "the clock of upstox is 31.0 s ahead of this machine's; the clock of zerodha is 30.0 s ahead of this machine's:"
                " upstox and zerodha agree, so this machine's is wrong"
            ),
        ),
        (
            {"zerodha": -30.0, "upstox": 0.0, "dhan": 0.3},
            "the clock of zerodha is 30.0 s behind this machine's: dhan and upstox agree with this machine, so the other may be wrong",
        ),
        (
            {"zerodha": -30.0, "upstox": None},
            "the clock of zerodha is 30.0 s behind this machine's: no other broker agrees with either, so either may be wrong",
        ),
        (
            {"zerodha": -30.0, "upstox": 30.0},
            (
                "the clock of upstox is 30.0 s ahead of this machine's; the clock of zerodha is 30.0 s behind this machine's:"
                " no other broker agrees with either, so either may be wrong"
            ),
        ),
    ],
)
def test_two_that_agree_say_that_ours_is_wrong_and_one_alone_may_be_wrong_itself(ahead, text):
    doubt = clock_doubt(ahead)
    assert (None if doubt is None else doubt.text) == text


async def test_a_wrong_wall_clock_is_said_once_and_shown_until_it_is_right(day, autojump_clock, caplog, nursery):
    caplog.set_level(logging.INFO, logger="onebroker.clock")
    said = lambda: [record.getMessage() for record in caplog.records if record.name == "onebroker.clock"]  # noqa: E731
    async with day.market(), day.service():
        seen = lambda: {code: handle.view.value.clock_ahead for code, handle in day.sessions.items()}  # noqa: E731
        await nursery.start(ClockWatch(day.clock, lambda: clock_doubt(seen())).run)
        await day.until(lambda: set(seen().values()) == {0.0}, 60)
        assert clock_health(day.sessions, day.clock)["problem"] is None
        first, *others = day.codes
        day.simulator.fault(first, FaultKind.WRONG_DATE, delay_seconds=40)
        await day.until(lambda: said(), 60)
        assert said()[0].startswith(f"the clock of {first} is ")
        assert "s behind this machine's: " in said()[0]
        assert said()[0].endswith("with this machine, so the other may be wrong")
        for code in others:
            day.simulator.fault(code, FaultKind.WRONG_DATE, delay_seconds=40)
        await day.until(lambda: "so this machine's is wrong" in said()[-1], 60)
        health = clock_health(day.sessions, day.clock)
        assert "so this machine's is wrong" in health["problem"]
        assert all(-41 <= ahead <= -38 for ahead in health["brokers_ahead_seconds"].values())
        day.simulator.faults.heal()
        await day.until(lambda: clock_health(day.sessions, day.clock)["problem"] is None, 60)
        await day.until(lambda: said()[-1] == "the clocks of the brokers agree with this machine's again", 60)
    assert len(said()) == len(set(said())), "said once, not each second"
