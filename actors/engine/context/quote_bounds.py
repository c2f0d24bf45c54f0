"""Which plans a quote concerns. A look gives, for each instrument, the bounds within which a quote changes nothing (`plan.market.Calm`). All
plans' bounds are sorted here by instrument and field, so a quote that stays within all of them costs one search, however many plans wait.

    plan.rest(calm)        after a look: quotes within these bounds do not concern the plan
    plan.stir()            something else has happened: the next look must see every quote

A quote that concerns a plan is kept for its next look, even when newer quotes replace it. The rule for one plan is
`plan.machine.advance.is_calm`; this module finds the same plans without asking each of them.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

import trio

from onebroker.actors.engine.context.seen_quotes import SeenQuotes
from onebroker.actors.engine.plan.market import Calm, Seen
from onebroker.actors.engine.plan.parts import QuoteField
from onebroker.actors.quotes.interface import LiveQuotes
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions.tick_backlog import MOST_UNREAD, outline

MOST_AT_ONCE = 8
"""How many plans look within one step of the quote book. The others look in the next round of the loop, so one quote never holds it up for long."""

WATCH_SECONDS = 1.0

_NO_LEVEL = Decimal("-Infinity")
_Bounds: TypeAlias = tuple[Calm, ...]
_Entry: TypeAlias = tuple[Decimal, int, float, "PlanQuotes"]
"""Level, whether the level itself breaks the bound (as a tie-break, see `_Levels`), a number of its own, and the plan."""


class PlanQuotes:
    """The quotes of one plan: the instruments it watches, its bounds, and the quotes that no look has seen."""

    def __init__(
        self,
        bounds: "QuoteBounds",
        *,
        is_exit: bool,
        look: Callable[[], None],
        tell: Callable[[], None],
        closes: Iterable[str] = (),
    ) -> None:
        """`tell` lets the plan look in the next round; `look` lets it look within this step where it was told. Exits look before other plans. `closes`:
        the instruments that the plan closes, whether or not it watches their quotes."""
        self._bounds = bounds
        self.is_exit = is_exit
        self.look, self.tell = look, tell
        self._closes = tuple(closes)
        for instrument_id in self._closes:
            bounds.closing.setdefault(instrument_id, {})[self] = None
        self._watched: dict[str, _Watched] = {}
        self._guarded: frozenset[str] = frozenset()
        self._is_resting = False

    @property
    def instrument_ids(self) -> Iterable[str]:
        return self._watched.keys()

    def follow(self, instrument_ids: Iterable[str]) -> None:
        """Watch exactly these instruments from now on: the feeds carry them."""
        wanted = frozenset(instrument_ids)
        for instrument_id in [followed for followed in self._watched if followed not in wanted]:
            self._bounds.leave(instrument_id, self, self._watched.pop(instrument_id).bounds)
        for instrument_id in wanted - self._watched.keys():
            self._watched[instrument_id] = _Watched()
            self._bounds.join(instrument_id, self)

    def guard(self, instrument_ids: Iterable[str]) -> None:
        """Note of exactly these instruments that a stop of the plan is at a broker: their price is then asked for where the feeds tell none."""
        wanted = frozenset(instrument_ids)
        for instrument_id in wanted - self._guarded:
            self._bounds.guard(instrument_id)
        for instrument_id in self._guarded - wanted:
            self._bounds.unguard(instrument_id)
        self._guarded = wanted

    def guards(self, instrument_id: str) -> bool:
        return instrument_id in self._guarded

    def rest(self, calm: Mapping[str, Sequence[Calm] | None]) -> None:
        """Be concerned from now on only by quotes outside of `calm`: instrument -> bounds, as a look gives them (`Outcome.calm`)."""
        for instrument_id, watched in self._watched.items():
            bounds = calm.get(instrument_id, ())
            if bounds is None:
                self._bounds.wake(instrument_id, self)
            else:
                before, watched.bounds = watched.bounds, tuple(bounds)
                self._bounds.rest(instrument_id, self, before, watched.bounds)
        self._is_resting = True

    def stir(self) -> None:
        """Be concerned by every quote, until the next `rest`."""
        if self._is_resting:
            self._is_resting = False
            for instrument_id in self._watched:
                self._bounds.wake(instrument_id, self)

    def keep(self, instrument_id: str, quote: Quote) -> None:
        """Keep a quote for the next look."""
        unread = self._watched[instrument_id].unread
        unread.append(quote)
        if len(unread) > MOST_UNREAD:
            unread[:] = outline(unread)

    def unread(self, instrument_id: str) -> Sequence[Quote]:
        """Return the quotes that concern the plan and that no look has seen, oldest first. Of more than MOST_UNREAD, only the first, lowest,
        highest and newest are kept."""
        watched = self._watched.get(instrument_id)
        return () if watched is None else tuple(watched.unread)

    def forget(self, instrument_id: str) -> None:
        """Note that a look has seen the instrument's quotes."""
        self._watched[instrument_id].unread.clear()

    def close(self) -> None:
        self.guard(())
        self.follow(())
        for instrument_id in self._closes:
            plans = self._bounds.closing[instrument_id]
            plans.pop(self, None)
            if not plans:
                del self._bounds.closing[instrument_id]


class _Watched:
    """One instrument of one plan."""

    def __init__(self) -> None:
        self.bounds: _Bounds = ()
        self.unread: list[Quote] = []


class QuoteBounds:
    """The bounds of all plans of an engine."""

    def __init__(self, quotes: LiveQuotes, seen: SeenQuotes) -> None:
        self._quotes = quotes
        self._seen = seen
        self._of: dict[str, _OfInstrument] = {}
        self.closing: dict[str, dict[PlanQuotes, None]] = {}
        """Instrument -> the plans that close it. A target that rests at a broker watches no quote."""
        self._due: dict[PlanQuotes, None] = {}
        """Plans whose bounds were broken by the quotes that are just being taken."""

    def join(self, instrument_id: str, plan: PlanQuotes) -> None:
        held = self._of.get(instrument_id)
        if held is None:
            held = self._of[instrument_id] = _OfInstrument()
            self._quotes.attach(instrument_id, self)
        held.plans[plan] = None
        held.awake[plan] = None

    def leave(self, instrument_id: str, plan: PlanQuotes, bounds: _Bounds) -> None:
        held = self._of[instrument_id]
        held.replace(plan, bounds, ())
        held.awake.pop(plan, None)
        held.plans.pop(plan, None)
        if not held.plans:
            del self._of[instrument_id]
            self._quotes.detach(instrument_id, self)

    def guard(self, instrument_id: str) -> None:
        self._quotes.guard(instrument_id)

    def unguard(self, instrument_id: str) -> None:
        self._quotes.unguard(instrument_id)

    def rest(self, instrument_id: str, plan: PlanQuotes, before: _Bounds, bounds: _Bounds) -> None:
        held = self._of[instrument_id]
        held.replace(plan, before, bounds)
        held.awake.pop(plan, None)

    def wake(self, instrument_id: str, plan: PlanQuotes) -> None:
        self._of[instrument_id].awake[plan] = None

    def note(self, instrument_id: str, quote: Quote | None) -> None:
        """Take the instrument's new quote (quote book only); None: the quote has not changed, which concerns no plan.

        The quote is kept for the plans that it concerns. Those whose bounds it breaks look as soon as the quotes that came with it are taken
        too. So no plan acts on a price while a newer one is already here.
        """
        held = self._of.get(instrument_id)
        if quote is None or held is None:
            return
        held.noted = quote
        awake = list(held.awake)
        broken = [plan for plan in held.broken(self._seen.of(quote, instrument_id)) if plan not in held.awake]
        for plan in (*awake, *broken):
            plan.keep(instrument_id, quote)
        if not (awake or broken):
            return
        if not self._quotes.is_usable(instrument_id, quote):
            for plan in broken:
                plan.forget(instrument_id)
            return
        for plan in (*awake, *broken):
            plan.tell()
        if broken and not self._due:
            self._quotes.when_taken(self._look)
        self._due.update(dict.fromkeys(broken))

    async def watch(self) -> None:
        """Once a second, tell the exits of instruments whose quote has just become unusable: nothing else would, since a quote grows old, or is
        marked by the quote book, without a new quote (order-engine 1.11). A quote over REST for a stop that rests is no tick either."""
        while True:
            await trio.sleep(WATCH_SECONDS)
            self.tell_blind()

    def tell_blind(self) -> None:
        for instrument_id, held in list(self._of.items()):
            before, held.usable = held.usable, self._quotes.usable_quote(instrument_id)
            if held.usable is None:
                if before is not None:
                    self.tell_exits(instrument_id)
            elif held.usable is not before and held.usable is not held.noted and held.is_guarded(instrument_id):
                self.tell_exits(instrument_id)

    def tell_exits(self, instrument_id: str) -> None:
        """Let the plans with exits look that watch the instrument."""
        held = self._of.get(instrument_id)
        for plan in [] if held is None else [plan for plan in held.plans if plan.is_exit]:
            plan.tell()

    def tell_closing(self, instrument_id: str) -> None:
        """Let the plans look that close the instrument: what is held of it has changed (order-engine 1.13)."""
        self.tell_exits(instrument_id)
        for plan in list(self.closing.get(instrument_id, ())):
            plan.tell()

    def _look(self) -> None:
        """Let the plans look whose bounds are broken, exits first. They were told: whatever does not look here looks in the next round."""
        due, self._due = self._due, {}
        for plan in sorted(due, key=lambda plan: not plan.is_exit)[:MOST_AT_ONCE]:
            plan.look()


class _OfInstrument:
    """The plans that watch one instrument."""

    def __init__(self) -> None:
        self.plans: dict[PlanQuotes, None] = {}
        self.usable: Quote | None = None
        """The usable quote as it was a second ago."""
        self.noted: Quote | None = None
        """The last live quote that came; a usable quote that is another one was fetched over REST."""
        self.awake: dict[PlanQuotes, None] = {}
        """The plans that every quote concerns. Their bounds may still be in `_fields`."""
        self._fields: dict[QuoteField, _Levels] = {}

    def is_guarded(self, instrument_id: str) -> bool:
        """Whether one of the plans has an exit open in the instrument, or one that waits for its price."""
        return any(plan.guards(instrument_id) for plan in self.plans)

    def replace(self, plan: PlanQuotes, before: _Bounds, bounds: _Bounds) -> None:
        """Put new bounds of a plan in the place of its bounds before."""
        if bounds == before:
            return
        for calm in before:
            levels = self._fields[calm.field]
            levels.remove(plan, calm)
            if not levels:
                del self._fields[calm.field]
        for calm in bounds:
            self._fields.setdefault(calm.field, _Levels()).add(plan, calm)

    def broken(self, quote: Seen) -> Iterable[PlanQuotes]:
        """Return the plans with a bound that the quote breaks, each once."""
        found: dict[PlanQuotes, None] = {}
        for field, levels in self._fields.items():
            found.update(dict.fromkeys(levels.broken(quote.value(field))))
        return found


class _Levels:
    """The bounds of one field: two sorted lists of levels.

    `under` holds the levels that are broken by falling to them: `least` is broken below its level, `above` at its level too. `over` holds the
    levels that are broken by rising: `most` above its level, `below` at its level too. The second value of an entry sorts equal levels so
    that one search separates the broken ones from the others.
    """

    def __init__(self) -> None:
        self._under: list[_Entry] = []
        self._over: list[_Entry] = []

    def __bool__(self) -> bool:
        return bool(self._under or self._over)

    def add(self, plan: PlanQuotes, calm: Calm) -> None:
        for levels, entry in self._entries(plan, calm):
            insort(levels, entry)

    def remove(self, plan: PlanQuotes, calm: Calm) -> None:
        for levels, entry in self._entries(plan, calm):
            del levels[bisect_left(levels, entry)]

    def _entries(self, plan: PlanQuotes, calm: Calm) -> Iterator[tuple[list[_Entry], _Entry]]:
        number = float(id(plan))
        if calm.least is not None:
            yield self._under, (calm.least, 0, number, plan)
        if calm.above is not None:
            yield self._under, (calm.above, 1, number, plan)
        if calm.most is not None:
            yield self._over, (calm.most, 1, number, plan)
        if calm.below is not None:
            yield self._over, (calm.below, 0, number, plan)
        if calm.least is calm.above is calm.most is calm.below is None:
            yield self._under, (_NO_LEVEL, 0, number, plan)  # broken by a quote without the field only

    def broken(self, value: Decimal | None) -> Iterator[PlanQuotes]:
        """Yield the plans whose bounds the value breaks; all of them where the quote has no value."""
        at = (Decimal(0) if value is None else value, 0, math.inf)
        under = 0 if value is None else bisect_right(self._under, at)
        over = len(self._over) if value is None else bisect_right(self._over, at)
        for entry in (*self._under[under:], *self._over[:over]):
            yield entry[3]
