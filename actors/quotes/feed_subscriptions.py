"""What the feeds carry: once a second the plan is adapted to the wanted instruments and to the feeds that live.

Each session gets its list when the list changes. It also gets the unchanged list every `WATCH_AGAIN_SECONDS`, because a restarted
session has none.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

import trio

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.kernel.events import Events
from onebroker.actors.quotes.feed_health import Silences, Standings
from onebroker.actors.quotes.feed_plan import Feeder, Plan, Standing, plan_steps
from onebroker.actors.quotes.known_instruments import KnownInstruments
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.quotes.wanted_instruments import Need, OwnInstruments, Session, Wanted, wanted
from onebroker.actors.sessions.messages import RenewStream, Watch
from onebroker.brokers.records import Listing
from onebroker.config.events import FeedMute

WATCH_AGAIN_SECONDS = 15.0
RENEW_AGAIN_SECONDS = 60.0

Basis: TypeAlias = tuple[Wanted, Mapping[str, Feeder], Snapshot | None]


class Feeding:
    """Keeps the plan and the facts it was made from. `sessions` are in the brokers' priority order."""

    def __init__(self, sessions: Mapping[str, Session], known: KnownInstruments, events: Events) -> None:
        self._sessions = sessions
        self._known = known
        self._events = events
        self._own = OwnInstruments()
        self._standings = Standings()
        self._silences = Silences()
        self._basis: Basis | None = None
        self._told: dict[str, tuple[frozenset[str], Snapshot | None, float]] = {}
        """Code -> the last list sent to the session, its mapping, and the time in monotonic seconds."""
        self._renewed: dict[str, float] = {}
        """Code -> monotonic seconds of the last reconnect of its silent feed."""
        self._told_mute: dict[str, float] = {}
        """Code -> the time of the feed's last tick when it was told as mute. The feed stays mute until its next tick."""
        self.plan: Plan = {code: frozenset() for code in sessions}
        self.wanted: Wanted = {}
        self.feeders: Mapping[str, Feeder] = {}
        self.version = 0
        """Grows whenever the wanted instruments, a feeder or the mapping changed, and so a new plan was made."""

    async def turn(self, followed: Iterable[str], asked: Iterable[str], now: float) -> None:
        """Make a new plan when anything changed, and send the sessions their lists. `now` is in monotonic seconds."""
        snapshot = self._known.snapshot
        views = {code: session.view.value for code, session in self._sessions.items()}
        own = self._own.needs(views, self._known.id_of, snapshot)
        basis = (wanted(own, followed, asked), self._feeders(now), snapshot)
        if self._basis is None or basis[:2] != self._basis[:2] or snapshot is not self._basis[2]:
            self._basis = basis
            made = await self._made(basis[0], basis[1])
            self.wanted, self.feeders, self.plan = basis[0], basis[1], made
            self.version += 1
        for code in self._sessions:
            if self._tell(code, snapshot, now):
                await trio.lowlevel.checkpoint()

    async def _made(self, wanted: Wanted, feeders: Mapping[str, Feeder]) -> Plan:
        """Make a plan; other tasks run between its steps."""
        steps = plan_steps(wanted, feeders, self._known.lists, self.plan)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                made: Plan = end.value
                return made
            await trio.lowlevel.checkpoint()

    def renew_mute(self, heard_at: Mapping[str, float], ticked: set[str], now: float) -> None:
        """Note which instruments ticked in this second, and reconnect the feeds that are mute by now (see `standing.Silences`)."""
        connected = {
            code: ids for code, ids in self.plan.items() if code in self.feeders and self.feeders[code].connected
        }
        for code in self._silences.look(connected, heard_at, ticked, now):
            self._renew(code, heard_at, others=True)

    def renew_silent(self, instrument_ids: Collection[str], heard_at: Mapping[str, float], now: float) -> None:
        """Reconnect the connected feeds that carry these instruments, because all of them are silent: each feed at most once a minute."""
        for code, ids in self.plan.items():
            feeder = self.feeders.get(code)
            if feeder is None or not feeder.connected or ids.isdisjoint(instrument_ids):
                continue
            if now - self._renewed.get(code, float("-inf")) < RENEW_AGAIN_SECONDS:
                continue
            self._renewed[code] = now
            self._renew(code, heard_at, others=False)

    def _renew(self, code: str, heard_at: Mapping[str, float], *, others: bool) -> None:
        """Have a feed's stream opened anew. The first time since the feed's last tick, tell that it is mute."""
        heard = heard_at.get(code, 0.0)
        if self._told_mute.get(code) != heard:
            self._told_mute[code] = heard
            self._events.tell(FeedMute(broker=code, others=others))
        self._sessions[code].address.replace("renew stream", RenewStream())

    def mute_since(self) -> dict[str, float]:
        """Return the feeds that are mute although they carry instruments, each with the monotonic seconds of its last tick."""
        return {code: since for code, since in self._silences.mute_since().items() if self.plan.get(code)}

    def carried_by_need(self) -> list[str]:
        """Return the instruments that connected feeds carry, the most needed first."""
        carried = set().union(
            *(ids for code, ids in self.plan.items() if code in self.feeders and self.feeders[code].connected)
        )
        return [instrument_id for instrument_id in self.wanted if instrument_id in carried]

    def renews(self, instrument_id: str, quote: Quote) -> bool:
        """Tell whether the feed of the quote's broker is live and carries the instrument."""
        feeder, carried = self.feeders.get(quote.broker), self.plan.get(quote.broker, frozenset())
        return feeder is not None and feeder.connected and feeder.standing is Standing.LIVE and instrument_id in carried

    def needed(self) -> list[str]:
        """Return the instruments wanted for another reason than a recent read."""
        return [instrument_id for instrument_id, need in self.wanted.items() if need is not Need.ASKED]

    def carried(self) -> set[str]:
        return set().union(*self.plan.values())

    def _feeders(self, now: float) -> dict[str, Feeder]:
        return {code: self._feeder(code, session, now) for code, session in self._sessions.items()}

    def _feeder(self, code: str, session: Session, now: float) -> Feeder:
        feed, view = session.broker.feed, session.view.value
        carries, mute = bool(self.plan[code]), self._silences.mute(code)
        standing = self._standings.look(code, view, now, carries=carries, mute=mute)
        return Feeder(standing=standing, room=feed.sockets * feed.per_socket, connected=view.market_feed.connected)

    def _tell(self, code: str, snapshot: Snapshot | None, now: float) -> bool:
        """Send a session its list when it is due; return whether it was sent."""
        told = self._told.get(code)
        ids = self.plan[code]
        same = told is not None and told[0] == ids and told[1] is snapshot
        if same and told is not None and now - told[2] < WATCH_AGAIN_SECONDS:
            return False
        self._told[code] = (ids, snapshot, now)
        self._sessions[code].address.replace("watch", Watch(self._listings(code, ids)))
        return True

    def _listings(self, code: str, ids: Iterable[str]) -> tuple[Listing, ...]:
        found = (self._known.instrument(instrument_id) for instrument_id in ids)
        return tuple(
            instrument.listings[code] for instrument in found if instrument is not None and code in instrument.listings
        )
