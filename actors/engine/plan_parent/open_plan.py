"""An open plan as its actor holds it between looks: the tree, the parts' current records, and whether there is news for the next look
(order-engine 2.7). Part of a plan parent's actor.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import attrs
import trio

from onebroker.actors.engine.orders.adjusted_contracts import followed
from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.actors.engine.orders.part_state import Memory, PartRecord
from onebroker.actors.engine.orders.states import ACTS, ParentEvent, moved_parent
from onebroker.actors.engine.parent.clock_corrections import ClockPut, parts_put_right
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.plan.machine.advance import Outcome as Looked
from onebroker.actors.engine.plan.machine.leg_actions import NewLeg
from onebroker.actors.engine.plan.machine.over_fills import closed_at_end, takers_by_base
from onebroker.actors.engine.plan.machine.overdue import guards
from onebroker.actors.engine.plan.machine.position_closes import not_fresh
from onebroker.actors.engine.plan.parts import OrderPart, Part, walk
from onebroker.actors.engine.plan.reading.exit_marks import with_entries
from onebroker.actors.engine.plan.stored_tree import decode_plan, encode_plan
from onebroker.actors.store.durable_history import Rename
from onebroker.config.messages import plan_life as texts

SENDS = frozenset(ACTS)
"""States of parents that send legs."""
KEEP_SECONDS = 1.0
"""How often the rules' memory of the market is written to the record (order-engine row 6)."""


class News:
    """Whether something has happened since the last look began that may lead the next look to another result."""

    def __init__(self) -> None:
        self._event = trio.Event()
        self.on_first: Callable[[], None] = _nothing
        """Called when the first thing has happened since the last look began."""

    def tell(self) -> None:
        if not self._event.is_set():
            self._event.set()
            self.on_first()

    @property
    def told(self) -> bool:
        return self._event.is_set()

    def forget(self) -> None:
        """A look begins: it sees all that was told."""
        self._event = trio.Event()

    async def wait(self) -> None:
        await self._event.wait()


def _nothing() -> None:
    pass


class OpenPlan:
    """The tree and the parts of one open plan. Only the plan's actor and its parts use it."""

    def __init__(self, parent: OpenParent) -> None:
        record = parent.record
        assert record.plan is not None
        self._parent = parent
        self._recorder = parent.recorder
        self._clock = parent.clock
        self._catalogue = parent.context.catalogue
        self.news = News()
        self.root: Part = decode_plan(record.plan)
        self._kept_root = self.root
        """The tree as it is in the record."""
        self.parts: Mapping[str, PartRecord] = record.parts if parent.is_new else not_fresh(record.parts)
        """The parts' current records. They are in the parent's record at most a second later, and before a message that follows from them leaves."""
        self._followed: Sequence[Rename] = ()
        """The renames of contracts that the record already follows."""
        self._kept_at = -math.inf
        self._said = self.parts.get(self.root.path, PartRecord()).status_message
        """The sentence of the root that is the parent's."""
        self.follow_contracts()

    @property
    def record(self) -> ParentRecord:
        return self._recorder.record

    @property
    def sends(self) -> bool:
        """Whether the plan may still send orders."""
        return self.record.state in SENDS

    @property
    def awaits_book(self) -> bool:
        """Whether so little is known of one of the plan's orders that the plan can decide nothing until a book shows that order."""
        return any(leg.awaits_book for leg in self.record.legs)

    def newest(self) -> ParentRecord:
        return attrs.evolve(self.record, parts=self.parts) if self.parts else self.record

    def part_at(self, path: str) -> OrderPart:
        """Return an order part."""
        part = next(part for part in walk(self.root) if part.path == path)
        assert isinstance(part, OrderPart)
        return part

    @property
    def has_exits(self) -> bool:
        """Whether a part closes, covers the fills of another order, hedges, or closes its own fills at the end of a lifetime."""
        orders = (part for part in walk(self.root) if isinstance(part, OrderPart))
        return any(order.known_exit or guards(order) for order in orders) or any(closed_at_end(self.root))

    @property
    def closes(self) -> frozenset[str]:
        """The instruments that a part closes, in which an order takes away what another has filled, or whose fills the end of a lifetime closes."""
        hanging = [order for _, takers in takers_by_base(self.root) for order in takers]
        exits = [part for part in walk(self.root) if isinstance(part, OrderPart) and (part.is_exit or part.known_exit)]
        return frozenset(order.instrument_id for order in (*exits, *hanging, *closed_at_end(self.root)))

    def is_exit(self, path: str) -> bool:
        """Whether a part is an order part that closes."""
        part = next(part for part in walk(self.root) if part.path == path)
        return isinstance(part, OrderPart) and part.is_exit

    # --- the parts' records -----------------------------------------------------------------------------------------

    def take(self, parts: Mapping[str, PartRecord]) -> None:
        """Replace the parts' records with `parts`, and put them into the parent's record."""
        self.parts = parts
        self._recorder.change(attrs.evolve(self.record, parts=parts, updated_at=self._clock.epoch()))

    def take_changed(self, path: str, changed: PartRecord) -> None:
        """Replace the record of one part, and put it into the parent's record."""
        self.take({**self.parts, path: changed})

    def say(self, sentence: str) -> None:
        """Make a sentence the `status_message` of the root and of the parent."""
        root = attrs.evolve(self.parts.get(self.root.path, PartRecord()), status_message=sentence)
        self.take_changed(self.root.path, root)
        self._parent.put_sentence(sentence)

    def keep(self, event: ParentEvent, looked: Looked) -> None:
        """Put the result of a look into the parent's record. Where the look asks for a new order, the order's write-ahead writes it."""
        said = looked.parts[self.root.path].status_message
        # A trouble of the parent is told beside its sentence, and only as long as it is there.
        message = self.record.status_message if said is None or said in looked.untold else said
        if said is None and (texts.is_without_stop(message) or message == self._said):
            message = None  # the units have been closed since then, or the root has taken its sentence back
        self._said = said
        self._kept_at = self._clock.monotonic()
        self.root = with_entries(self.root, looked.parts)
        asks = any(isinstance(action, NewLeg) for action in looked.actions)
        plan = self.record.plan if self.root is self._kept_root else encode_plan(self.root)
        self._kept_root = self.root
        take = self._recorder.change_ahead if asks else self._recorder.change
        take(
            moved_parent(
                self.record,
                event,
                plan=plan,
                parts=looked.parts,
                status_message=message,
                over_filled_quantity=looked.over_filled,
                updated_at=self._clock.epoch(),
            )
        )

    def keep_in_seconds(self) -> float:
        """Return the seconds until the parts must be written to the record; 0 or less when they are due, infinite when nothing is unkept."""
        if self.parts == self.record.parts or not self.sends:
            return math.inf
        return self._kept_at + KEEP_SECONDS - self._clock.monotonic()

    def put_times_right(self, clock: ClockPut) -> None:
        parts = parts_put_right(self.parts, clock)
        if parts is not self.parts:
            self.take(parts)

    # --- contracts whose strike was adjusted ------------------------------------------------------------------------

    @property
    def has_renames(self) -> bool:
        """Whether the catalogue has renames of contracts that the record does not follow yet."""
        return self._catalogue.value.renames is not self._followed

    def follow_contracts(self) -> None:
        """Continue under the new ids of contracts whose strike was adjusted."""
        if not self.has_renames:
            return
        self._followed = self._catalogue.value.renames
        newest = self.newest()
        record = followed(newest, self._followed)
        if record is newest:
            return
        assert record.plan is not None
        self.root, self.parts = decode_plan(record.plan), record.parts
        self._kept_root = self.root
        self._recorder.change(attrs.evolve(record, updated_at=self._clock.epoch()))


def is_louder(now: Mapping[str, PartRecord], before: Mapping[str, PartRecord]) -> bool:
    """Whether more has changed than the rules' memory of the market."""
    return any(_without_memory(part) != _without_memory(before.get(path, PartRecord())) for path, part in now.items())


def _without_memory(part: PartRecord) -> PartRecord:
    return attrs.evolve(part, memory=Memory(), condition_bars={}, joint={}, actions_seen=None)
