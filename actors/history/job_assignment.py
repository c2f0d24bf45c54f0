"""Decides which instrument a broker reads next, and what a broker's failures mean for the instrument and for the run. No I/O.

A refusal of the instrument, an unreadable answer, and something the broker does not offer are about the instrument: the next broker
is asked. A limit, a lost connection, and failing broker systems are about the moment: the instrument waits, and the broker is asked
again after a pause. If that does not help, the broker is left alone for the rest of the run. So is a broker that refuses everything.
"""

from collections.abc import Mapping, Sequence

import attrs
import trio

from onebroker.actors.history.candle_jobs import BrokerShare, Job, Outcome
from onebroker.actors.quotes.wanted_instruments import Session
from onebroker.actors.sessions.messages import LoginNeeded, NotOffered
from onebroker.brokers.requests import BadAnswer, BrokerError, BrokerRefusal, RefusalKind
from onebroker.config.instruments import SEGMENT_SHAPES, Shape, bare_segment

FIRST_PAUSE_SECONDS = 2.0
MOST_FAILURES = 6
"""Failures in a row that are about the moment. The pause doubles with each failure, about a minute in all."""
MOST_REFUSALS = 8
"""Refusals in a row that are about instruments: after these the broker itself is the cause (such as a missing data plan)."""
ENOUGH_EMPTY = 2
"""When this many brokers have no candles of an instrument in its days, the empty answer is believed."""

_OF_THE_MOMENT = frozenset({RefusalKind.RATE_LIMITED, RefusalKind.UNAVAILABLE})
_OF_THE_INSTRUMENT = frozenset({RefusalKind.REFUSED})


@attrs.define(eq=False)
class Line:
    """One job and the brokers asked for it so far."""

    job: Job
    refused: dict[str, str] = attrs.field(factory=dict)
    """Broker -> why it has no candles of this instrument."""
    empty: set[str] = attrs.field(factory=set)
    """Brokers whose answer had no candle."""

    def asked(self, code: str) -> bool:
        return code in self.refused or code in self.empty

    @property
    def derivative(self) -> bool:
        return SEGMENT_SHAPES.get(bare_segment(self.job.instrument.identity.segment)) is not Shape.SECURITY


class BrokersLeft:
    """The brokers of one run and the jobs that are left."""

    def __init__(self, sessions: Mapping[str, Session], jobs: Sequence[Job]) -> None:
        self._sessions = sessions
        self._waiting = [Line(job) for job in jobs]
        self._flying = 0
        self._failures = dict.fromkeys(sessions, 0)
        self._refusals = dict.fromkeys(sessions, 0)
        self._out: dict[str, str] = {}
        self._changed = trio.Event()
        self.shares = {code: BrokerShare() for code in sessions}
        for code, session in sessions.items():
            if session.broker.candles is None:
                self._leave(code, f"{code} has no candles")
            elif not session.view.value.live:
                self._leave(code, f"{code} has no login")

    @property
    def active(self) -> tuple[str, ...]:
        """Brokers that may be asked now."""
        return tuple(code for code in self._sessions if code not in self._out)

    def next(self, code: str) -> Line | None:
        """Take a broker's next instrument: the first one that the broker lists and was not yet asked for."""
        if code in self._out:
            return None
        for place, line in enumerate(self._waiting):
            if self._may_ask(code, line):
                self._flying += 1
                return self._waiting.pop(place)
        return None

    async def wait(self) -> bool:
        """Wait until something has changed for a broker that found no job; return False when nothing will change."""
        if not self._flying and not any(self._may_ask(code, line) for line in self._waiting for code in self.active):
            return False
        await self._changed.wait()
        return True

    async def pause(self, seconds: float) -> None:
        """Wait for this many seconds, or until no job is left."""
        with trio.move_on_after(seconds):
            while self._waiting or self._flying:
                await self._changed.wait()

    def answered(self, code: str, line: Line, *, empty: bool) -> bool:
        """Note an answer; tell whether it decides the job. After an empty answer one more broker is asked first."""
        self._failures[code] = self._refusals[code] = 0
        self.shares[code].why = None
        if not empty:
            self._end_flight()
            return True
        line.empty.add(code)
        if len(line.empty) >= ENOUGH_EMPTY or not any(self._may_ask(other, line) for other in self.active):
            self._end_flight()
            return True
        self._put_back(line)
        return False

    def may_be_asked_next(self, line: Line, code: str) -> bool:
        """Tell whether a broker other than `code` may have the candles."""
        return any(other != code and self._may_ask(other, line) for other in self.active)

    def failed(self, code: str, line: Line, error: BrokerError | LoginNeeded) -> float:
        """Note a failure; return for how many seconds to leave the broker alone."""
        if isinstance(error, LoginNeeded):
            return self.give_up(code, line, f"{code} has no login")
        why = str(error)
        if _about_instrument(error):
            line.refused[code] = why
            self._refusals[code] += not isinstance(error, NotOffered)
            if self._refusals[code] >= MOST_REFUSALS:
                return self.give_up(code, line, f"{code} refuses everything: {why}")
            self._put_back(line)
            return 0.0
        self._failures[code] += 1
        of_moment = not isinstance(error, BrokerRefusal) or error.kind in _OF_THE_MOMENT
        if not of_moment or self._failures[code] >= MOST_FAILURES:
            return self.give_up(code, line, f"{code}: {why}")
        self.shares[code].why = why
        self._put_back(line)
        return float(FIRST_PAUSE_SECONDS * 2 ** (self._failures[code] - 1))

    def give_up(self, code: str, line: Line, why: str) -> float:
        """Leave a broker alone for the rest of the run."""
        self._leave(code, why)
        self._put_back(line)
        return 0.0

    def wake(self) -> None:
        """Let all waiting tasks look again."""
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    def unread(self) -> list[Outcome]:
        """Return the outcomes of the jobs that are left when no broker can continue."""
        return [self._unread(line) for line in self._waiting]

    def _may_ask(self, code: str, line: Line) -> bool:
        if code not in line.job.instrument.listings or line.asked(code):
            return False
        if not line.derivative or self._sessions[code].broker.candles_with_interest:
            return True
        # Ask a broker without open interest only when no other broker has it.
        return not any(
            self._sessions[other].broker.candles_with_interest
            and other in line.job.instrument.listings
            and not line.asked(other)
            for other in self.active
        )

    def _unread(self, line: Line) -> Outcome:
        job = line.job
        outcome = Outcome(instrument_id=job.instrument.instrument_id, name=job.name)
        if line.empty:
            return outcome
        listed = [code for code in job.instrument.listings if code in self._sessions]
        left = [self._out[code] for code in listed if code in self._out and code not in line.refused]
        why = "; ".join([*(f"{code}: {said}" for code, said in line.refused.items()), *left])
        later = any(code not in line.refused and self._sessions[code].broker.candles is not None for code in listed)
        return Outcome(
            instrument_id=outcome.instrument_id,
            name=outcome.name,
            trouble=why or "no broker that may be asked lists it",
            later=later,
        )

    def _leave(self, code: str, why: str) -> None:
        self._out[code] = why
        self.shares[code].why = why
        self.wake()

    def _put_back(self, line: Line) -> None:
        self._waiting.insert(0, line)
        self._end_flight()

    def _end_flight(self) -> None:
        self._flying -= 1
        self.wake()


def _about_instrument(error: BrokerError) -> bool:
    if isinstance(error, BrokerRefusal):
        return error.kind in _OF_THE_INSTRUMENT
    return isinstance(error, NotOffered | BadAnswer)
