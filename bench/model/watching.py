"""Watches a day while it is played: each second the parents that the API would show are compared with the exchange's own orders and positions.

Rules (docs/design/order-engine.md has them; issue words in quotes):

- "whatever is unprotected is told within 5 s": units of a guarded plan that are held, and for which no stop rests, are named in the problems;
- "no exit beyond what is held": exits that rest for more units than are held are named, or made smaller;
- "every due thing happens or is told": a plan whose time has come has ended, works at an exchange, or is named;
- "`flat` means flat": after this answer the account has neither a position nor an open order;
- what is said of open units and of holdings is so;
- a trailing stop, and one that milestones move, follows the market;
- what a caller takes off an exit stays off it and off the exits beside it, and is taken off once;
- "nothing is sent twice": the orders of one exit never have more out and filled than its entry has filled;
- on a plain day nothing is called a problem.

A rule counts only while the service can know and act. Faults that take knowledge away, a store that is away and a service that does not run stop the
clock of every rule, and for `SETTLE_SECONDS` afterwards it stands still: books are read again in that time.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

import trio

from bench.model.story import BLINDING, CLOSES, GUARDED, GUARDS, Story, Theme
from onebroker.actors.engine.books.settled_positions import doubts
from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.orders.parent_records import decode_parent
from onebroker.actors.engine.shown.parent_view import parent_record
from onebroker.actors.health.order_problems import fills_taken_back, positions_doubted
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.exchange.ledger import Act
from onebroker.brokers.simulator.world.model import SimOrder, SimStatus
from onebroker.config.clock import IST
from onebroker.config.events import ExposureUnprotected, ParentTrouble
from onebroker.config.messages import plan_life as texts
from tests.support.day import Day

LOOK_SECONDS = 1.0
SETTLE_SECONDS = 45.0
TOLD_WITHIN = 8.0
"""Five seconds by the issue, and the look's own second before and after, and a send."""
TAKEN_WITHIN = 25.0
"""What the person takes off a stop is believed when two whole books show it."""
EXCESS_WITHIN = 25.0
UNTRUE_WITHIN = 12.0
DUE_WITHIN = 10.0
FOLLOWED_WITHIN = 12.0
TRAILS = ("trailing_stop", "atr_trail", "stepped_stop")
NEAR = 0.995
"""A trail may stand so much lower than it should: its steps."""
CLOSED_SECONDS = 6.0
"""So long after a flatten its parents may still say that units are open."""
FLAT_SECONDS = 3.0
"""A fill in so short a time before the answer may have come after its last read."""
TAKEN_BACK_SECONDS = 35.0
"""A lower fill is believed when two books half a minute apart show it."""
TIMED = {"scheduled": "at_time", "square_off": "at_time"}
"""The types that do something at a time, and the setting that names it."""

PRODUCT_WORDS = {"MIS": "intraday", "CNC": "delivery", "NRML": "carryforward", "MTF": "mtf"}
OVER_STOP = "so its order guards nothing"
BY_HAND = "ended by hand"
"""What callers do to their own stops is told, and is so."""
OPEN_STATES = ("received", "armed", "working")
FINAL_STATES = ("completed", "cancelled", "failed", "rejected", "expired", "halted")
WITHOUT_STOP = re.compile(r"(\d+) units are open without a stop")
TARGET = re.compile(r"children\.[1-9]\d*$")
"""How the path of a target ends; the stop is the first of the exits."""
HOLDS = re.compile(r"(\w+) holds (\d+) of the (\d+) units that this order guards")

Place: TypeAlias = tuple[str, str, str]
"""Broker, instrument, product."""


class Watch:
    def __init__(self, day: Day, story: Story) -> None:
        self.day, self.story = day, story
        self.violations: list[str] = []
        self.changed: set[tuple[str, str]] = set()
        """(broker, order id) of the orders that a caller has changed, or whose price or trigger the person has moved."""
        self.resized: set[str] = set()
        """Parents of which a caller may have changed what is held in the engine."""
        self.taken: Counter[tuple[str, str]] = Counter()
        """(broker, order id) -> units that the person took off."""
        self.lowered: Counter[tuple[str, str]] = Counter()
        """(broker, order id) of exits -> units that a caller took off."""
        self.triggers: dict[tuple[str, str], list[tuple[float, Decimal]]] = {}
        """(broker, order id) -> when the person moved its trigger, and to which price."""
        self.halted = False
        self.annulled_at: list[float] = []
        """Monotonic seconds at which the exchange annulled a trade."""
        self.flattened = False
        self._jumped_until = -math.inf
        self.person_at: list[float] = []
        self.blind_spans: list[tuple[float, float]] = []
        self.odd_until = -math.inf
        self._blind_until = math.inf
        self._alive = False
        self._since: dict[object, float] = {}
        self._instruments: tuple[str, ...] = ()
        self._said: set[str] = set()
        self._judged: set[str] = set()
        """Closes whose end was looked at."""
        self._parents: dict[str, dict[str, Any]] = {}
        self._lost_knowledge = False
        self._closing = 0
        self._closed_at = -math.inf
        self._heard = 0
        self._read = 0
        """How many of the store's commits have been read."""

    @property
    def now(self) -> float:
        return self.day.clock.monotonic()

    @property
    def rests_beside(self) -> bool:
        """Whether a plan of the day keeps its targets at the exchange beside its stop."""
        return any(
            step.verb == "place" and step.given["kind"] in GUARDED and not step.given["holds"]
            for life in self.story.lives
            for step in life.steps
        )

    # --- what the actor tells -------------------------------------------------------------------------------------------

    def follow(self, instrument_ids: Collection[str]) -> None:
        self._instruments = tuple(instrument_ids)

    def begin_life(self) -> None:
        self._alive = True
        self._blind_until = self.now + SETTLE_SECONDS if self.blind_spans else self.now + 5

    def end_life(self) -> None:
        self._alive = False
        self._since.clear()
        self.blind_spans.append((self.now, self.now + SETTLE_SECONDS))

    @property
    def closes(self) -> bool:
        """Whether a flatten or a close is under way."""
        return self._closing > 0

    @property
    def lost_knowledge(self) -> bool:
        """Whether the outcome of an order may not be known: something took knowledge away, or the service died."""
        return self._lost_knowledge or any(life.death for life in self.story.lives)

    def blind(self, seconds: float) -> None:
        """Something takes knowledge away for so long."""
        self._lost_knowledge = True
        self._blind_until = max(self._blind_until, self.now + seconds + SETTLE_SECONDS)
        self.blind_spans.append((self.now, self.now + seconds + SETTLE_SECONDS))

    def odd(self, kind: str, seconds: float | None, delay: float | None) -> None:
        self.odd_until = max(self.odd_until, self.now + (seconds or 0) + (delay or 0) + SETTLE_SECONDS)

    def odd_market(self, seconds: float) -> None:
        self.odd_until = max(self.odd_until, self.now + seconds)

    def person_acts(self) -> None:
        self.person_at.append(self.now)

    def took_off(self, order: SimOrder, units: int) -> None:
        self.taken[order.broker, order.order_id] += units

    def moved(self, order: SimOrder, trigger: Decimal | None) -> None:
        if trigger is not None:
            self.triggers.setdefault((order.broker, order.order_id), []).append((self.now, trigger))

    def was_blind(self, at: float) -> bool:
        return any(begin <= at <= end for begin, end in self.blind_spans)

    # --- flat --------------------------------------------------------------------------------------------------------------

    async def flat_is_flat(
        self, ask: Callable[[], Awaitable[EngineAnswer]], product: str | None = None, broker: str | None = None
    ) -> None:
        """Ask for a flatten or a close, and hold its answer against the exchange's positions."""
        if product is None and broker is None:
            self.flattened = True
        self._closing += 1
        before = self._open_parents()
        try:
            answer = await ask()
        finally:
            self._closing -= 1
            self._closed_at = self.now
        if product is None and broker is None and "error" not in answer.body.get("halted", {"error": ""}):
            for name in before & self._open_parents():
                self.note(f"flatten: {name} goes on")
        if not answer.body.get("flat"):
            return
        recent = {
            (fill.broker, fill.instrument_id)
            for fill in self.day.exchange.ledger.fills()
            if self.day.clock.now().timestamp() - datetime.fromisoformat(fill.at).timestamp() <= FLAT_SECONDS
        }
        if product is None and broker is None:
            for order in self.day.exchange.all_orders():
                if not order.status.finished and order.broker in self.day.codes:
                    self.note(f"flat: {order.broker} still has the open order {order.order_id}")
        moved = [at + FLAT_SECONDS for at in self.person_at] + [at + TAKEN_BACK_SECONDS for at in self.annulled_at]
        if any(self.now <= until for until in moved):
            return
        for code in self.day.codes:
            for row in self.day.exchange.account(code).held_positions():
                word = PRODUCT_WORDS[row.product.value]
                asked = product in (None, word) and broker in (None, code)
                if row.quantity and asked and (code, row.instrument_id) not in recent:
                    self.note(f"flat: {code} still has {row.quantity} {row.instrument_id} {row.product}")

    @property
    def annulled(self) -> bool:
        return bool(self.annulled_at)

    def _open_parents(self) -> set[str]:
        return {parent["parent_order_id"] for parent in self.parents() if parent["state"] in OPEN_STATES}

    @property
    def _closes(self) -> bool:
        """Whether a flatten or a close takes the exits away just now, in order to close the units: an entry that fills meanwhile has none."""
        return self._closing > 0 or self.now - self._closed_at <= CLOSED_SECONDS

    # --- looks ---------------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            await trio.sleep(LOOK_SECONDS)
            if self._alive and getattr(self.day, "status", None) is not None and self._instruments:
                self._look()

    def note(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self.violations.append(f"{sentence} (at {self.day.clock.now():%H:%M:%S})")

    def _look(self) -> None:
        for sentence in self._doubled(self.parents()):
            self.note(sentence)
        if self._is_blind():
            self._since.clear()
            return
        parents = self.parents()
        seen = set()
        for name, sentence, within in self._found(parents):
            seen.add(name)
            since = self._since.setdefault(name, self.now)
            if self.now - since >= within:
                self.note(sentence)
        for name in self._since.keys() - seen:
            del self._since[name]

    def _is_blind(self) -> bool:
        faults, codes = self.day.simulator.faults, self.day.codes
        if any(faults.find(code, FaultKind(kind)) for kind in BLINDING for code in codes):
            self._blind_until = max(self._blind_until, self.now + SETTLE_SECONDS)
            self.blind_spans.append((self.now, self.now + SETTLE_SECONDS))
        live = all(handle.view.value.live for handle in self.day.sessions.values())
        if not self.day.status.value.running or not live:
            self._blind_until = max(self._blind_until, self.now + SETTLE_SECONDS)
            self.blind_spans.append((self.now, self.now + SETTLE_SECONDS))
        return self.now < self._blind_until

    def parents(self) -> list[dict[str, Any]]:
        """Return all parents that the store has taken, as the API shows them."""
        commits = self.day.store.commits
        for ops in commits[self._read :]:
            for op in ops:
                if isinstance(op, Set) and op.key.startswith(keys.parent("")):
                    record = decode_parent(op.value)
                    self._parents[record.parent_order_id] = parent_record(record)
        self._read = len(commits)
        return list(self._parents.values())

    def guarding_legs(self) -> list[Mapping[str, Any]]:
        """Return the legs by which guarded plans that bought close what they hold."""
        return [
            leg
            for parent in self.parents()
            if parent["routed_from"] in GUARDED and parent["body"].get("transaction_type") == "BUY"
            for leg in parent["legs"]
            if leg["part"] != "root"
        ]

    def orders(self) -> Mapping[tuple[str, str], SimOrder]:
        return {(order.broker, order.order_id): order for order in self.day.exchange.all_orders()}

    def told(self) -> set[str]:
        """Return the parents that the health names."""
        return {row.parent_id for row in self.day.engine_context.troubles.rows}

    def _found(self, parents: list[dict[str, Any]]) -> Iterable[tuple[object, str, float]]:
        """Yield (name, sentence, seconds for which it may last) of what is not as the rules say."""
        told, orders = self.told(), self.orders()
        if self.story.theme is Theme.PLAIN:
            yield from self._false_problems()
        if not self.flattened:
            yield from self._unprotected(parents, orders, told)
        if self.story.theme is Theme.LONG and not self.annulled:
            yield from self._excess(parents, orders, told)
            yield from self._grown_back(parents, orders)
        yield from self._overdue(parents, orders, told)
        yield from self._left_open(parents)
        yield from self._left_behind(parents, orders, told)
        if not self.annulled:
            yield from self._untrue(parents, orders)

    def _false_problems(self) -> Iterable[tuple[object, str, float]]:
        for event in self.day.heard[self._heard :]:
            excused = BY_HAND in str(event) or (isinstance(event, ExposureUnprotected) and self._closes)
            excused = excused or (OVER_STOP in str(event) and self._is_jumped())
            if isinstance(event, ParentTrouble | ExposureUnprotected) and not excused:
                yield ("event", id(event)), f"an event on a plain day: {event}", 0.0
        self._heard = len(self.day.heard)
        for row in self.day.engine_context.troubles.rows:
            if BY_HAND in row.sentence or (self._closes and texts.is_of_open_units(row.sentence)):
                continue
            if OVER_STOP in f"{row.sentence} {row.found.why}" and self._is_jumped():
                continue
            yield ("problem", row.parent_id, row.sentence), f"a problem on a plain day: {row.sentence}", 0.0
        for problem in positions_doubted(doubts(self.day.engine_context), self.day.clock):
            yield ("doubt", problem.broker, problem.subject), f"a problem on a plain day: {problem.what}", 0.0

    def _is_jumped(self) -> bool:
        """Whether the market is past the limit of a stop, by the exchange's own book, or was a moment ago: a broker told of a fill late, and the stop left
        behind the market."""
        for order in self.day.exchange.all_orders():
            if not order.status.finished and order.price is not None and order.status is not SimStatus.TRIGGER_PENDING:
                last = self.day.exchange.market(order.new.instrument_id).last_price
                if order.new.trigger_price is not None and (order.price - last) * order.new.side.sign < 0:
                    self._jumped_until = self.now + TOLD_WITHIN
        return self.now <= self._jumped_until

    def _untrue(
        self, parents: Iterable[Mapping[str, Any]], orders: Mapping[tuple[str, str], SimOrder]
    ) -> Iterable[tuple[object, str, float]]:
        """What is said of a parent now, and is not so."""
        shown = {parent["parent_order_id"]: parent for parent in parents}
        for row in self.day.engine_context.troubles.rows:
            parent = shown.get(row.parent_id)
            if parent is None or row.is_ended:
                continue
            name = ("untrue", row.parent_id, row.sentence)
            own = [order for _, order in _placed(parent, orders)]
            holds = HOLDS.fullmatch(row.sentence)
            sign = 1 if (parent["body"].get("transaction_type") == "BUY") is (parent["routed_from"] in GUARDED) else -1
            if holds is not None and holds[1] in self.day.codes and parent["routed_from"] in (*GUARDED, *GUARDS):
                products = {order.new.product.value for order in own}
                net = sum(self._net((holds[1], parent["instrument_id"], product)) for product in products)
                net += self.story.held if "CNC" in products and holds[1] == self.day.codes[0] else 0
                net -= sum(self._units_of_others(parent, parents, orders, (holds[1], one)) for one in products)
                if sign * net >= int(holds[3]):
                    yield name, f"untrue: {row.sentence}, but it holds {net}", EXCESS_WITHIN
                guarded = sum(order.filled_quantity * order.new.side.sign for order in own if order.broker == holds[1])
                if parent["routed_from"] in GUARDED and int(holds[3]) > sign * guarded:
                    yield name, f"untrue: {row.sentence}, but {sign * guarded} of its own are open", UNTRUE_WITHIN
            if row.found.units is not None and parent["routed_from"] in GUARDED:
                entry = [
                    order
                    for leg, order in _placed(parent, orders)
                    if leg["part"] == "root" and order.new.side == parent["body"]["transaction_type"]
                ]
                exits = [order for order in own if order not in entry]
                units = sum(order.filled_quantity for order in entry) - sum(order.filled_quantity for order in exits)
                stopped = sum(order.pending_quantity for order in exits if _fills_when_triggered(order))
                if units <= stopped:
                    yield name, f"untrue: {row.sentence}, but {units} are open and {stopped} have a stop", EXCESS_WITHIN

    def _units_of_others(
        self,
        parent: Mapping[str, Any],
        parents: Iterable[Mapping[str, Any]],
        orders: Mapping[tuple[str, str], SimOrder],
        where: tuple[str, str],
    ) -> int:
        """Return the units at (broker, product) that other plans guard: what plans with an entry have open, and what exits without an entry are for. The older of
        two exits keeps its units, and a newer exit comes before what has come back to a plan."""
        units = 0
        for other in parents:
            age, own_age = ((one["created_at"], one["parent_order_id"]) for one in (other, parent))
            placed = [order for _, order in _placed(other, orders)]
            there = [order for order in placed if (order.broker, order.new.product.value) == where]
            if age != own_age and _closes_held(other) and other["state"] in ("armed", "working"):
                sold = sum(order.filled_quantity for order in there)
                asked = (other["body"].get("broker"), other["body"].get("product")) == where
                units += max(0, other["body"]["quantity"] - sold) if asked else 0
            elif age != own_age and other["routed_from"] not in GUARDS and other["state"] == "working":
                units += max(0, sum(order.new.side.sign * order.filled_quantity for order in there))
        return units

    # --- guarded plans -----------------------------------------------------------------------------------------------------

    def _unprotected(
        self, parents: Iterable[Mapping[str, Any]], orders: Mapping[tuple[str, str], SimOrder], told: Collection[str]
    ) -> Iterable[tuple[object, str, float]]:
        stopped, left = self._leaving(), Counter[Place]()
        """`left`: the units for which a caller wants no stop."""
        entries, within = set[tuple[str, str]](), TOLD_WITHIN
        owners: defaultdict[Place, set[str]] = defaultdict(set)
        for parent in parents:
            if parent["routed_from"] not in GUARDED or parent["body"].get("transaction_type") != "BUY":
                if parent["routed_from"] is None:
                    stopped += self._beyond_own(parent, orders)
                continue
            own = {(leg["broker"], leg["order_id"]) for leg in parent["legs"]}
            if parent["parent_order_id"] in self.resized or own & self.changed:
                stopped += self._beyond_own(parent, orders)  # a caller, or the person, has made its stop as it is
                continue
            if own & self.taken.keys():
                within = TAKEN_WITHIN
            for leg, order in _placed(parent, orders):
                place = place_of(order)
                if leg["part"] == "root" and order.new.side == "BUY":
                    entries.add((order.broker, order.order_id))
                    owners[place].add(parent["parent_order_id"])
                elif _stops(order):
                    stopped[place] += order.pending_quantity
                left[place] += self.lowered[order.broker, order.order_id]
        for place, units in still_open(self.day, entries).items():
            held = max(0, min(units, self._net(place)))
            bare = held - stopped[place] - left[place]
            if bare > 0 and not owners[place] & set(told) and not self._named(place, bare, parents):
                yield (
                    ("unprotected", place),
                    f"{bare} of {held} units of {sorted(owners[place])} have no stop at {place[0]} {place[2]}, and nobody is told",
                    within,
                )

    def _beyond_own(self, parent: Mapping[str, Any], orders: Mapping[tuple[str, str], SimOrder]) -> Counter[Place]:
        """Return the units for which a plan has stops beyond what its own entry has open: it has grown over what newer plans have bought."""
        placed = [order for _, order in _placed(parent, orders)]
        found = Counter[Place]()
        for order in placed:
            found[place_of(order)] += order.pending_quantity if order.new.side == "SELL" and _stops(order) else 0
        entries = {(order.broker, order.order_id) for order in placed if order.new.side == "BUY"}
        found.subtract(still_open(self.day, entries))
        return +found

    def _named(self, place: Place, units: int, parents: Iterable[Mapping[str, Any]]) -> bool:
        """Whether a broker's position is named as doubted, so many units at a close that took their stop away, or an annulled trade there at another
        parent, which had closed these units."""
        closes = {parent["parent_order_id"] for parent in parents if parent["routed_from"] in CLOSES}
        waits = (row for row in self.day.engine_context.troubles.rows if row.instrument_id == place[1])
        if any(row.parent_id in closes and row.sentence.startswith(texts.waits_because("")) for row in waits):
            return True
        if any(
            row.parent_id in closes and (said := WITHOUT_STOP.fullmatch(row.sentence)) and int(said[1]) >= units
            for row in self.day.engine_context.troubles.rows
            if row.instrument_id == place[1]
        ):
            return True
        asked = f"{place[0]} has not told whether it has the SELL order"
        if any(row.sentence.startswith(asked) for row in self.day.engine_context.troubles.rows):
            return True
        taken_back = any(
            row.sentence.startswith(f"{place[0]} took back") for row in self.day.engine_context.troubles.rows
        )
        annulled = fills_taken_back(self.day.sessions, self.day.engine_context.legs)
        return (
            taken_back
            or any(problem.broker == place[0] for problem in annulled)
            or any(
                (named.broker, named.instrument_id, PRODUCT_WORDS[place[2]])
                == (place[0], place[1], named.doubt.key.product)
                for named in doubts(self.day.engine_context)
            )
        )

    def _leaving(self) -> Counter[Place]:
        """Units that an order of another plan, or of the person, sells to whoever bids: a close that rests because nobody does."""
        found = Counter[Place]()
        for order in self.day.exchange.all_orders():
            waits = order.status.finished or order.trigger_price is not None or order.new.side != "SELL"
            if (
                not waits
                and order.price is not None
                and order.price <= self.day.exchange.market(order.new.instrument_id).last_price
            ):
                found[place_of(order)] += order.pending_quantity
        return found

    def _net(self, place: Place) -> int:
        code, instrument_id, product = place
        return next(
            (
                row.quantity
                for row in self.day.exchange.account(code).held_positions()
                if (row.instrument_id, row.product.value) == (instrument_id, product)
            ),
            0,
        )

    def _excess(
        self, parents: Iterable[Mapping[str, Any]], orders: Mapping[tuple[str, str], SimOrder], told: Collection[str]
    ) -> Iterable[tuple[object, str, float]]:
        """Exits of guarded plans that rest for more units than are held."""
        out = Counter[Place]()
        owners: defaultdict[Place, set[str]] = defaultdict(set)
        for parent in parents:
            if parent["routed_from"] not in GUARDED or parent["state"] == "halted" or not follows(parent):
                continue
            sides: defaultdict[Place, Counter[bool]] = defaultdict(Counter)
            for leg, order in _placed(parent, orders):
                if leg["part"] != "root" and order.new.side == "SELL":
                    sides[place_of(order)][order.trigger_price is not None] += order.pending_quantity
            for place, resting in sides.items():
                out[place] += max(resting.values())
                if max(resting.values()):
                    owners[place].add(parent["parent_order_id"])
        for place, units in out.items():
            held = self._net(place) + (self.story.held if place[2] == "CNC" else 0)
            if units > max(0, held) and not owners[place] & set(told):
                yield (
                    ("excess", place),
                    f"exits of {units} rest at {place}, where {held} are held, and nobody is told",
                    EXCESS_WITHIN,
                )

    def _grown_back(
        self, parents: Iterable[Mapping[str, Any]], orders: Mapping[tuple[str, str], SimOrder]
    ) -> Iterable[tuple[object, str, float]]:
        """Exits of a guarded plan that are for more than its caller has left of them."""
        for parent in parents:
            own = list(_placed(parent, orders))
            names = {(order.broker, order.order_id) for _, order in own}
            lowered = sum(self.lowered[name] for name in names)
            if not lowered or parent["parent_order_id"] in self.resized or names & self.changed:
                continue
            entered, out = 0, Counter[bool]()
            for leg, order in own:
                if leg["part"] == "root" and order.new.side == "BUY":
                    entered += order.filled_quantity
                elif order.new.side == "SELL":
                    out[order.trigger_price is not None] += order.pending_quantity
                    entered -= order.filled_quantity
            units = max(out.values(), default=0)
            if units > max(0, entered - lowered):
                yield (
                    ("grown back", parent["parent_order_id"]),
                    f"grown back: exits of {parent['parent_order_id']} are for {units}, of {entered} its caller took {lowered} off",
                    EXCESS_WITHIN,
                )

    def _doubled(self, parents: Iterable[Mapping[str, Any]]) -> Iterable[str]:
        """Exits of guarded plans, and closes of a time_stop, of which the exchange has more than their entries have filled, whatever the service knows of
        them. The targets of a plan share its units, so they count together."""
        if not self._alive or self.annulled:
            return
        legs = self.day.engine_context.legs
        guarded = {
            parent["parent_order_id"]
            for parent in parents
            if parent["routed_from"] in (*GUARDED, "time_stop") and parent["body"].get("transaction_type") == "BUY"
        }
        entered, out, enlarged = Counter[str](), Counter[tuple[str, str]](), set[str]()
        for order in self.day.exchange.all_orders():
            owner = legs.owner(order.broker, order.order_id, order.new.tag)
            if owner is None or owner.parent_id not in guarded:
                continue
            if (order.broker, order.order_id) in self.changed:
                enlarged.add(owner.parent_id)
            if order.new.side == "BUY":
                entered[owner.parent_id] += order.filled_quantity
            else:
                out[owner.parent_id, TARGET.sub("targets", owner.leg_role)] += (
                    order.filled_quantity + order.pending_quantity
                )
        for (parent_id, path), units in out.items():
            if units > entered[parent_id] and parent_id not in enlarged | self.resized:
                yield f"doubled: {path} of {parent_id} has {units} out and filled, its entry has filled {entered[parent_id]}"

    def _left_behind(
        self, parents: Iterable[Mapping[str, Any]], orders: Mapping[tuple[str, str], SimOrder], told: Collection[str]
    ) -> Iterable[tuple[object, str, float]]:
        """Stops that move and rest further from the market than their settings say."""
        for parent in parents:
            if parent["routed_from"] not in TRAILS or parent["body"].get("transaction_type") != "SELL":
                continue
            if parent["parent_order_id"] in told | self.resized:
                continue
            for _, order in _placed(parent, orders):
                last = float(self.day.exchange.market(order.new.instrument_id).last_price)
                lowest = _lowest_trigger(parent, last)
                waits = order.status is SimStatus.TRIGGER_PENDING and order.trigger_price is not None
                name = (order.broker, order.order_id)
                if waits and name not in self.changed and float(order.trigger_price or 0) < lowest * NEAR:
                    yield (
                        ("left behind", name),
                        f"left behind: the trail of {name} stands at {order.trigger_price}, the market at {last}",
                        FOLLOWED_WITHIN,
                    )

    # --- due ----------------------------------------------------------------------------------------------------------------

    def _overdue(
        self, parents: Iterable[Mapping[str, Any]], orders: Mapping[tuple[str, str], SimOrder], told: Collection[str]
    ) -> Iterable[tuple[object, str, float]]:
        now = self.day.clock.now().astimezone(IST)
        for parent in parents:
            name = parent["parent_order_id"]
            setting = TIMED.get(parent["routed_from"])
            at = (parent["body"].get("synthetic") or {}).get(setting) if setting else None
            if at in (None, "now") or parent["state"] not in ("received", "armed", "working") or name in told:
                continue
            live = any(not order.status.finished for _, order in _placed(parent, orders))
            live = live or any(leg["state"] in ("sending", "unknown") for leg in parent["legs"])
            if not live and now.strftime("%H:%M:%S") > at and not self.halted:
                yield (
                    ("due", name),
                    f"{parent['routed_from']} {name} was due at {at}, is {parent['state']}, and nobody is told",
                    DUE_WITHIN,
                )

    def _left_open(self, parents: Iterable[Mapping[str, Any]]) -> Iterable[tuple[object, str, float]]:
        """A close that says it is completed, and what is open of its position at any broker although nobody has bought since."""
        for parent in () if self.annulled else parents:
            name, at = parent["parent_order_id"], (parent["body"].get("synthetic") or {}).get("at_time")
            if parent["routed_from"] != "square_off" or parent["state"] not in FINAL_STATES or name in self._judged:
                continue
            self._judged.add(name)
            whole = parent["state"] == "completed" and not parent["status_message"]
            if not whole or at in (None, "now") or parent["body"]["product"] != "MIS":  # it closes intraday positions
                continue
            for code in self.day.codes:
                place = (code, parent["instrument_id"], parent["body"]["product"])
                since = [
                    fill
                    for fill in self.day.exchange.ledger.fills()
                    if (fill.broker, fill.instrument_id) == place[:2]
                    and datetime.fromisoformat(fill.at).astimezone(IST).strftime("%H:%M:%S") >= at
                    and fill.side == "BUY"
                ]
                if self._net(place) > 0 and not since:
                    yield (
                        ("left open", name),
                        f"left open: square_off {name} is completed, {code} has {self._net(place)}",
                        0.0,
                    )


def follows(parent: Mapping[str, Any]) -> bool:
    """Whether the exits of a plan become smaller with the position; its caller may have said that they stay as they are."""
    return (parent["body"].get("synthetic") or {}).get("exits_follow_position") is not False


def _lowest_trigger(parent: Mapping[str, Any], last: float) -> float:
    """Return where the trigger of a SELL stop that moves stands at least, with the market at `last`. No day of the model has the bars for which an
    atr_trail leaves its `trail_points`."""
    settings = parent["body"]["synthetic"]
    if "trail_percent" in settings:
        return last * (1 - settings["trail_percent"] / 100)
    if "trail_points" in settings:
        return last - settings["trail_points"]
    entry = settings["entry_price"]
    reached = [rule for rule in settings["rules"] if last - entry >= rule["gain"]]
    return entry + reached[-1]["stop_at_gain"] if reached else settings["stop_price"]


def _closes_held(parent: Mapping[str, Any]) -> bool:
    """Whether a plan without an entry is an exit of what is held: by its type, or because its caller says so."""
    synthetic = parent["body"].get("synthetic") or {}
    says = bool(synthetic.get("closes_position")) and parent["body"].get("transaction_type") == "SELL"
    return parent["routed_from"] in GUARDS or (says and parent["body"].get("quantity") is not None)


def still_open(day: Day, entries: Collection[tuple[str, str]]) -> Counter[Place]:
    """Return the units of these purchases, (broker, order id), that nobody has sold since. Whoever sells, sells these first."""
    net, own = Counter[Place](), Counter[Place]()
    for event in booked(day):
        place = (event.broker, event.instrument_id, str(event.product))
        if isinstance(event, Act):
            net[place] -= event.quantity
            net[event.broker, event.instrument_id, str(event.to_product)] += event.quantity
        else:
            net[place] += event.side.sign * event.quantity
            name = (event.broker, event.order_id)
            own[place] += event.quantity * ((name in entries) - (event.side == "SELL"))
        own[place] = max(0, min(own[place], net[place]))
    return own


def booked(day: Day) -> list[Any]:
    """Return the fills and the conversions of a day, by time."""
    fills = day.exchange.ledger.fills()
    acts = [act for act in day.exchange.ledger.acts() if act.verb == "convert"]
    return sorted([*fills, *acts], key=lambda event: datetime.fromisoformat(event.at)) if acts else list(fills)


def _placed(
    parent: Mapping[str, Any], orders: Mapping[tuple[str, str], SimOrder]
) -> Iterable[tuple[Mapping[str, Any], SimOrder]]:
    for leg in parent["legs"]:
        order = orders.get((leg["broker"], leg["order_id"])) if leg["order_id"] else None
        if order is not None:
            yield leg, order


def place_of(order: SimOrder) -> Place:
    return order.broker, order.new.instrument_id, order.new.product.value


def _fills_when_triggered(order: SimOrder) -> bool:
    """Whether a stop waits whose limit is not before its trigger; a caller may have put it there."""
    if order.status is not SimStatus.TRIGGER_PENDING or order.trigger_price is None:
        return False
    return order.price is None or (order.price - order.trigger_price) * order.new.side.sign >= 0


def _stops(order: SimOrder) -> bool:
    """Whether an order guards: a stop that waits; in delivery any exit, because one order reserves the shares; and an exit that is on its way out."""
    waits = order.status is SimStatus.TRIGGER_PENDING
    return not order.status.finished and (waits or order.new.product == "CNC" or order.price is None)
