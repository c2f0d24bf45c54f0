"""Which broker's feed carries which of the wanted instruments. Pure.

What was chosen, and why
- One live broker carries every wanted instrument, and a second one if there is room. With a single feed, the instrument has no price
  whenever that feed drops or stalls. Further feeds only cost: a tick takes some microseconds to decode and fold, and of ten feeds of one
  instrument, nine are decoded to be thrown away.
- Brokers are filled in the order of their priority. *The* quote is chosen in the same order (architecture 9), and the first brokers
  have the most room and the cheapest frames. Brokers with little room come last (Shoonya has room for a hundred).
- A carried instrument stays where it is, even when a broker of higher priority has room again: a move costs two messages and a gap,
  and gains nothing. When a broker is lost, only its instruments move. When it returns, it takes instruments without a second broker.
- If room is short, the more needed instrument gets it. An instrument without a feed takes the place of another's second feed, or of the
  only feed of a less needed instrument. Equally needed instruments never displace each other, so alternating lists do not thrash.

A broker that has just dropped *waits*. It keeps its list, since it will likely be back in a second. Instruments that it alone carried
go to another broker at once. A broker that stays away is *lost*; it is tried with a single instrument until it lives.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from enum import Enum
from typing import TypeAlias

import attrs

from onebroker.actors.quotes.wanted_instruments import Need, Wanted

STEP = 500
"""Number of instruments between two pauses while a plan is made."""
MOST_ROUNDS = 4
COPIES = 2
"""The number of brokers' feeds that should carry an instrument."""


class Standing(Enum):
    """How reliable a broker's feed is."""

    LIVE = "live"
    WAITING = "waiting"
    """Dropped a moment ago."""
    LOST = "lost"
    """Away for longer, or mute. The feed carries one instrument, which shows when it comes back."""
    OUT = "out"
    """Without a login."""


@attrs.frozen(kw_only=True)
class Feeder:
    """One broker's feed as the plan sees it."""

    standing: Standing
    room: int
    """The most instruments that all its sockets can carry together."""
    connected: bool = True
    """A live feed may not be connected yet: it has been asked for nothing so far, or only just now."""


Plan: TypeAlias = Mapping[str, frozenset[str]]
"""Broker code -> the instruments its feed is asked to carry. Every code of the feeders is a key."""
Steps: TypeAlias = Generator[None, None, None]
Lists: TypeAlias = Callable[[str, str], bool]
"""(instrument_id, code): whether the broker lists it."""


def plan(wanted: Wanted, feeders: Mapping[str, Feeder], lists: Lists, before: Plan) -> Plan:
    """Return the instruments that each broker carries from now on. `feeders` are in priority order; `before` is the plan so far.

    No broker gets more than its room. If a live broker lists an instrument and the plan still gives it none, every such broker is full
    of instruments that are needed at least as much.
    """
    steps = plan_steps(wanted, feeders, lists, before)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: Plan = end.value
            return made


def plan_steps(
    wanted: Wanted, feeders: Mapping[str, Feeder], lists: Lists, before: Plan
) -> Generator[None, None, Plan]:
    """Make the same plan in steps of at most a millisecond. Other tasks may run between the steps."""
    table = _Table(wanted, feeders, lists)
    yield from table.keep(before)
    for _ in range(MOST_ROUNDS):
        served = yield from table.serve_all()
        yield from table.double()
        if not served:  # a doubled instrument may now give one of its places to an instrument without any
            break
    yield from table.give_up_third()
    table.probe(before)
    return {code: frozenset(table.carried[code]) for code in feeders}


class _Table:
    """A plan while it is made, in the steps of `plan`."""

    def __init__(self, wanted: Wanted, feeders: Mapping[str, Feeder], lists: Lists) -> None:
        self._wanted = wanted
        self._feeders = feeders
        self._lists = lists
        self._live = _standing(feeders, Standing.LIVE)
        self._waiting = _standing(feeders, Standing.WAITING)
        self.carried: dict[str, set[str]] = {code: set() for code in feeders}
        self._live_copies = dict.fromkeys(wanted, 0)
        self._waiting_copies = dict.fromkeys(wanted, 0)
        self._kept: dict[str, list[str]] = {code: [] for code in feeders}
        """The instruments that stayed at each live broker, the least needed last. Others may take their places. Instruments added later
        are needed at least as much as any that could want their place."""
        self._doubled: dict[str, list[str]] = {code: [] for code in feeders}
        """By code: the instruments that more than one live broker carries."""

    def _each(self) -> Iterator[tuple[bool, str]]:
        """Yield each wanted instrument, and whether it is time to let other tasks run."""
        return ((number % STEP == 0, instrument_id) for number, instrument_id in enumerate(self._wanted))

    def keep(self, before: Plan) -> Steps:
        """Leave every instrument where it is, if it is still wanted and listed, and the feed is not its third."""
        stays = [(code, before.get(code, frozenset()), self._live_copies) for code in self._live]
        stays += [(code, before.get(code, frozenset()), self._waiting_copies) for code in self._waiting]
        for pause, instrument_id in self._each():
            if pause:
                yield
            for code, carried, copies in stays:
                if (
                    instrument_id in carried
                    and self._copies(instrument_id) < COPIES
                    and self._has_room(code)
                    and self._lists(instrument_id, code)
                ):
                    self._put(instrument_id, code, copies)
        for pause, instrument_id in self._each():
            if pause:
                yield
            for code in self._live:
                if instrument_id in self.carried[code]:
                    self._kept[code].append(instrument_id)
                    if self._live_copies[instrument_id] > 1:
                        self._doubled[code].append(instrument_id)

    def serve_all(self) -> Generator[None, None, bool]:
        """Give a live broker to every instrument without one, if need be in another's place. Tell whether any instrument got one."""
        served = False
        for pause, instrument_id in self._each():
            if pause:
                yield
            if not self._live_copies[instrument_id]:
                code = self._with_room(instrument_id) or self._make_room(instrument_id)
                if code is not None:
                    self._put(instrument_id, code, self._live_copies)
                    served = True
        return served

    def double(self) -> Steps:
        """Give each instrument its second broker where there is room."""
        for pause, instrument_id in self._each():
            if pause:
                yield
            if self._live_copies[instrument_id] and self._copies(instrument_id) < COPIES:
                code = self._with_room(instrument_id)
                if code is not None:
                    self._put(instrument_id, code, self._live_copies)
                    for other in self._live:
                        if instrument_id in self.carried[other]:
                            self._doubled[other].append(instrument_id)

    def give_up_third(self) -> Steps:
        """Take an instrument that has a new live broker from a waiting one, where both of its brokers wait: so the same plan made again stays."""
        if not self._waiting:
            return
        for pause, instrument_id in self._each():
            if pause:
                yield
            for code in reversed(self._waiting):
                if self._copies(instrument_id) > COPIES and instrument_id in self.carried[code]:
                    self.carried[code].discard(instrument_id)
                    self._waiting_copies[instrument_id] -= 1

    def probe(self, before: Plan) -> None:
        """Give each lost broker one instrument, whose ticks show the broker's return."""
        for code in _standing(self._feeders, Standing.LOST):
            instrument_id = next(self._probes(code, before.get(code, frozenset())), None)
            if instrument_id is not None and self._has_room(code):
                self.carried[code].add(instrument_id)

    def _probes(self, code: str, carried: frozenset[str]) -> Iterator[str]:
        """Yield the instruments that a lost broker could be tried with, the present trial instrument first."""
        if len(carried) == 1:
            yield from (
                instrument_id
                for instrument_id in carried
                if instrument_id in self._wanted and self._lists(instrument_id, code)
            )
        yield from (instrument_id for instrument_id in self._wanted if self._lists(instrument_id, code))

    def _copies(self, one: str) -> int:
        return self._live_copies[one] + self._waiting_copies[one]

    def _put(self, one: str, code: str, copies: dict[str, int]) -> None:
        self.carried[code].add(one)
        copies[one] += 1

    def _has_room(self, code: str) -> bool:
        return len(self.carried[code]) < self._feeders[code].room

    def _with_room(self, one: str) -> str | None:
        """Return the first live broker that has room, lists the instrument and does not carry it."""
        for code in self._live:
            if self._has_room(code) and one not in self.carried[code] and self._lists(one, code):
                return code
        return None

    def _make_room(self, one: str) -> str | None:
        """Free the place of another's second feed, else of a less needed instrument's only feed. Return the broker with the freed place."""
        listing = [code for code in self._live if self._lists(one, code)]
        for give_up in (self._give_up_doubled, self._give_up_less_needed):
            for code in listing:
                if give_up(code, self._wanted[one]):
                    return code
        return None

    def _give_up_doubled(self, code: str, _: Need) -> bool:
        """Give up the least needed instrument that another live broker carries too. Tell whether there was one."""
        kept = self._doubled[code]
        while kept:
            last = kept.pop()
            if last in self.carried[code] and self._live_copies[last] > 1:
                self._give_up(last, code)
                return True
        return False

    def _give_up_less_needed(self, code: str, than: Need) -> bool:
        """Give up the broker's least needed instrument if it is needed less than `than`. Tell whether it was."""
        kept = self._kept[code]
        while kept and kept[-1] not in self.carried[code]:
            kept.pop()
        if not kept or self._wanted[kept[-1]] <= than:
            return False
        self._give_up(kept.pop(), code)
        return True

    def _give_up(self, one: str, code: str) -> None:
        self.carried[code].discard(one)
        self._live_copies[one] -= 1


def _standing(feeders: Mapping[str, Feeder], standing: Standing) -> list[str]:
    return [code for code, feeder in feeders.items() if feeder.standing is standing]
