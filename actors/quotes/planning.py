"""Which broker's feed carries which of the wanted instruments. Pure.

What was chosen, and why
- Every wanted instrument is carried by one live broker, and by a second where there is room. One feed would leave it without
  a price whenever that feed drops or stalls; each further one only costs: a tick takes some microseconds to decode and fold, and of ten
  feeds of one instrument nine are decoded to be thrown away.
- Brokers are filled in the order of their priority. It is the order in which *the* quote is chosen (architecture 9), and the
  first of them have the most room and the cheapest frames. The small ones (Shoonya has room for a hundred) are asked last.
- What is carried stays where it is, also when a broker of higher priority has room again: a move costs two messages and a gap,
  and gains nothing. Only what a broker carried moves when it is lost; when it returns it takes what has no second broker.
- Where room is short the more needed instrument has it: what has no feed takes the place of another's second feed, or of
  the only feed of one that is needed less. Equals never displace each other, so lists that take turns do not thrash.

A broker that has just dropped *waits*: it keeps its list, since it will likely be back in a second, but what it alone
carried goes to another at once. One that stays away is *lost*, and tried with a single instrument until it lives.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from enum import Enum
from typing import TypeAlias

import attrs

from onebroker.actors.quotes.watching import Need, Wanted

STEP = 500
"""Instruments between two pauses of a plan in the making."""
MOST_ROUNDS = 4
COPIES = 2
"""On how many brokers' feeds an instrument should be."""


class Standing(Enum):
    """How far a broker's feed can be relied on."""

    LIVE = "live"
    WAITING = "waiting"
    """Dropped a moment ago."""
    LOST = "lost"
    """Away for longer, or mute: it carries one instrument, to see when it comes back."""
    OUT = "out"
    """Without a login."""


@attrs.frozen(kw_only=True)
class Feeder:
    """One broker's feed as the plan sees it."""

    standing: Standing
    room: int
    """Most instruments on all its sockets together."""
    connected: bool = True
    """A live one may not be yet: nothing, or only now something, has been asked of it."""


Plan: TypeAlias = Mapping[str, frozenset[str]]
"""Broker code -> the instruments its feed is asked to carry; every code of the feeders is there."""
Steps: TypeAlias = Generator[None, None, None]
Lists: TypeAlias = Callable[[str, str], bool]
"""(instrument_id, code): whether the broker lists it."""


def plan(wanted: Wanted, feeders: Mapping[str, Feeder], lists: Lists, before: Plan) -> Plan:
    """Return what each broker carries from now on. `feeders` are in priority order; `before` is the plan so far.

    No broker gets more than its room. What is listed by a live broker and still has no live one in the plan found every one of
    them full of instruments that are needed as much.
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
    """Make the same plan in steps of at most a millisecond, between which others may run."""
    table = _Table(wanted, feeders, lists)
    yield from table.keep(before)
    for _ in range(MOST_ROUNDS):
        served = yield from table.serve_all()
        yield from table.double()
        if not served:  # who was doubled has another place now, and may have left one to somebody without any
            break
    table.probe(before)
    return {code: frozenset(table.carried[code]) for code in feeders}


class _Table:
    """A plan in the making, by the steps of `plan`."""

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
        """What stayed at a live broker, the least needed last: whose place may be taken. What comes in later is needed as
        much as whatever could want its place."""
        self._doubled: dict[str, list[str]] = {code: [] for code in feeders}
        """What more than one live broker carries."""

    def _each(self) -> Iterator[tuple[bool, str]]:
        """Yield what is wanted, and whether it is time to let others run."""
        return ((number % STEP == 0, one) for number, one in enumerate(self._wanted))

    def keep(self, before: Plan) -> Steps:
        """Leave everything where it is, as far as it is wanted, listed and no third feed."""
        stays = [(code, before.get(code, frozenset()), self._live_copies) for code in self._live]
        stays += [(code, before.get(code, frozenset()), self._waiting_copies) for code in self._waiting]
        for pause, one in self._each():
            if pause:
                yield
            for code, carried, copies in stays:
                if one in carried and self._copies(one) < COPIES and self._has_room(code) and self._lists(one, code):
                    self._put(one, code, copies)
        for pause, one in self._each():
            if pause:
                yield
            for code in self._live:
                if one in self.carried[code]:
                    self._kept[code].append(one)
                    if self._live_copies[one] > 1:
                        self._doubled[code].append(one)

    def serve_all(self) -> Generator[None, None, bool]:
        """Give every instrument without a live broker one, if need be in the place of another; tell whether any got one."""
        served = False
        for pause, one in self._each():
            if pause:
                yield
            if not self._live_copies[one]:
                code = self._with_room(one) or self._make_room(one)
                if code is not None:
                    self._put(one, code, self._live_copies)
                    served = True
        return served

    def double(self) -> Steps:
        """Give the second broker where there is room."""
        for pause, one in self._each():
            if pause:
                yield
            if self._live_copies[one] and self._copies(one) < COPIES:
                code = self._with_room(one)
                if code is not None:
                    self._put(one, code, self._live_copies)
                    for other in self._live:
                        if one in self.carried[other]:
                            self._doubled[other].append(one)

    def probe(self, before: Plan) -> None:
        """Give each lost broker the one instrument by which its return shows."""
        for code in _standing(self._feeders, Standing.LOST):
            one = next(self._probes(code, before.get(code, frozenset())), None)
            if one is not None and self._has_room(code):
                self.carried[code].add(one)

    def _probes(self, code: str, carried: frozenset[str]) -> Iterator[str]:
        """Yield what a lost broker could be tried with; first what it is being tried with."""
        if len(carried) == 1:
            yield from (one for one in carried if one in self._wanted and self._lists(one, code))
        yield from (one for one in self._wanted if self._lists(one, code))

    def _copies(self, one: str) -> int:
        return self._live_copies[one] + self._waiting_copies[one]

    def _put(self, one: str, code: str, copies: dict[str, int]) -> None:
        self.carried[code].add(one)
        copies[one] += 1

    def _has_room(self, code: str) -> bool:
        return len(self.carried[code]) < self._feeders[code].room

    def _with_room(self, one: str) -> str | None:
        """Return the first live broker that has room, does not carry it and lists it."""
        for code in self._live:
            if self._has_room(code) and one not in self.carried[code] and self._lists(one, code):
                return code
        return None

    def _make_room(self, one: str) -> str | None:
        """Take the place of a second feed, else that of the only feed of what is needed less; return whose it was."""
        listing = [code for code in self._live if self._lists(one, code)]
        for give_up in (self._give_up_doubled, self._give_up_less_needed):
            for code in listing:
                if give_up(code, self._wanted[one]):
                    return code
        return None

    def _give_up_doubled(self, code: str, _: Need) -> bool:
        """Give up the least needed of what another live broker carries too; tell whether there was one."""
        kept = self._doubled[code]
        while kept:
            last = kept.pop()
            if last in self.carried[code] and self._live_copies[last] > 1:
                self._give_up(last, code)
                return True
        return False

    def _give_up_less_needed(self, code: str, than: Need) -> bool:
        """Give up the least needed of all, when it is needed less; tell whether it was."""
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
