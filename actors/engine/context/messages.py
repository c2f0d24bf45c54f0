"""The engine's messages: from routes (through intake), from the desk, and from its router to the parents."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.orders.intents import Intent
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, ParentRecord
from onebroker.actors.engine.orders.reference_values import PriceReference, QuantityReference, References
from onebroker.actors.engine.plan.machine.cleared_exits import Closing, ExitName
from onebroker.actors.engine.plan.parts import FromPosition, Part
from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.sessions.messages import Sent
from onebroker.actors.sessions.session_view import PartlyRead
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import WireRequest
from onebroker.config.vocabulary import Outcome


@attrs.frozen(kw_only=True)
class EngineAnswer:
    """An HTTP status and the body that goes with it."""

    status: int
    body: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class EngineStatus:
    """What the engine publishes: whether it takes orders (lock held and refreshed, reconciled after start)."""

    running: bool
    reason: str
    """Why it takes no orders; empty when running."""
    starting: bool = False
    """Whether the engine is about to run: requests that arrive meanwhile may wait for it."""
    trouble: str | None = None
    """What keeps open orders from acting although the engine runs."""


@attrs.frozen(kw_only=True)
class PlaceBody:
    """A place request after the checks of rules 2.8; every word in the API's own spelling, quantities in units."""

    instrument: Instrument
    transaction_type: str | None
    """This field, product and order_type may be None for a plan whose parts all give their own."""
    product: str | None
    order_type: str | None
    validity: str
    quantity: int
    """0 = left out: a quantity reference, the position or the parts give the quantity."""
    disclosed_quantity: int
    price: Decimal | None
    trigger_price: Decimal | None
    after_market: bool
    tag: str | None
    broker: str | None
    """The pinned broker."""
    closes_position: bool
    position_close: bool = False
    """A close by flatten or by a quantity reference, which the engine itself knows to close (order-engine 4.1, 4.6, 4.7)."""
    sent: Mapping[str, Any]
    """The body as the caller sent it, for the parent record."""
    plan: Part | None = None
    """The plan to work, for every type but simple."""
    routed_from: str | None = None
    """The type that the caller asked for, when the plan is built from that type's preset."""
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    """The `synthetic` object of such a type, or of a plan, as the caller sent it, without nulls."""
    preset: Any = None
    """The settings of the type as read, for checks against the market (`Preset.check_market`)."""
    parameters: Mapping[str, Any] = attrs.field(factory=dict)
    """The settings as the parent's record shows them, with defaults filled in."""
    price_reference: PriceReference | None = None
    """Worked out again for every order that is sent (types of that class)."""
    position: FromPosition | None = None
    """The size is taken from the position when the order is due, instead of the quantity (types that compute it at their time)."""
    closing: QuantityReference | None = None
    """The position is checked again for every order that is sent, and no order is larger than the rest of the position."""
    holders: tuple[tuple[str, int], ...] = ()
    """(broker, units), the largest first: a position that no single broker holds whole is closed by one order at each broker (4.1)."""
    references: References | None = None
    """The references not yet worked out. Until they are, the price, the quantity (0 when left out) and, for a closing order, the side are not the
    ones to send."""


# --- from routes -------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Place:
    intent_id: str
    order: PlaceBody
    dry_run: bool
    routed: float
    """Monotonic seconds at which the request was read, for timing_ms.preparation."""
    deadline: float
    """Monotonic seconds at which the caller stops waiting."""
    reply: Reply[EngineAnswer]


# --- from the desk -----------------------------------------------------------------------------------------------------


class NotOurs(Exception):
    """No open parent of this engine works on it. The desk then sends the leg's message itself, or looks the parent up in the store."""


@attrs.frozen(kw_only=True)
class CancelLeg:
    """Cancel one resting leg for a caller; answered with the broker's answer. Refused with NotOurs, LoginNeeded, RoomFull, StoreError, Refusal
    (nothing sent)."""

    parent_id: str
    row: OrderRow
    broker: str
    deadline: float
    """Monotonic seconds until which to wait for room."""
    intent: Intent
    routed: float | None = None
    """Monotonic seconds at which the caller's request was read. None: no caller asked."""
    asked: bool = True
    """True when a caller asked. False for a plan that closes the position; nothing may keep that plan from the cancel."""
    reply: Reply[Sent]


@attrs.frozen(kw_only=True)
class CheckCancel:
    """Ask, for a dry run, whether a caller may cancel a resting leg; answered with nothing when he may. Refused with NotOurs, and with the Refusal of
    that cancel."""

    parent_id: str
    row: OrderRow
    broker: str
    reply: Reply[None]


@attrs.frozen(kw_only=True)
class LegChanged:
    """The result of a change of one leg."""

    part: str
    row: OrderRow
    """The order before the change."""
    changes: LegChange
    """The fields that differ from that row; when empty, nothing was sent."""
    request: WireRequest | None = None
    """On a dry run: the request that would have been sent."""
    sent: Sent | None = None


@attrs.frozen(kw_only=True)
class ModifyLeg:
    """Change a resting leg for a caller (order-engine rows 20-24). Refused with NotOurs (the desk may send it itself), and with
    Refusal: then nothing was sent."""

    parent_id: str
    row: OrderRow
    broker: str
    change: LegChange
    dry_run: bool
    routed: float
    """Monotonic seconds at which the caller's request was read."""
    deadline: float
    """Monotonic seconds until which to wait for room."""
    intent: Intent
    reply: Reply[LegChanged]


@attrs.frozen(kw_only=True)
class PartChanged:
    """A held order or a part that has sent nothing, after its numbers were changed (row 25)."""

    part: str
    state: str
    instrument_id: str
    changes: Mapping[str, Mapping[str, Any]]
    """Field -> {from, to}."""


@attrs.frozen(kw_only=True)
class ModifyPart:
    """Change a part that has not been sent. Refused with NotOurs and Refusal."""

    parent_id: str
    part: str | None
    """None = the only held part."""
    change: LegChange
    """Only price, trigger price and quantity."""
    dry_run: bool
    intent: Intent
    reply: Reply[PartChanged]


@attrs.frozen(kw_only=True)
class LegCancel:
    """The result of the cancel of one leg of a parent that is being stopped."""

    leg_id: str
    broker: str
    order_id: str | None
    outcome: Outcome
    status_message: str | None


@attrs.frozen(kw_only=True)
class Stopped:
    """A parent, or a part of it, after its cancel (rows 26-33)."""

    synthetic_type: str
    state: str
    legs: tuple[LegCancel, ...] = ()
    """The legs whose cancel was tried now."""
    resting: tuple[LegRecord, ...] = ()
    """On a dry run: the legs whose cancel would be tried."""
    open_units: Mapping[str, int] = attrs.field(factory=dict)
    """Of a whole parent: instrument -> units that its entries have filled and its exits have not closed."""
    warnings: tuple[str, ...] = ()
    """What the caller must know: units that stay open without their stop."""


@attrs.frozen(kw_only=True)
class CancelParent:
    """Cancel every resting leg of a parent and end the parent; a repeated cancel tries only the remaining legs. Refused with NotOurs and Refusal."""

    parent_id: str
    dry_run: bool
    deadline: float
    """Monotonic seconds until which to wait for room."""
    intent: Intent
    reply: Reply[Stopped]


@attrs.frozen(kw_only=True)
class CancelPart:
    """Stop one part of a plan. Refused with NotOurs and Refusal."""

    parent_id: str
    part: str
    dry_run: bool
    deadline: float
    intent: Intent
    reply: Reply[Stopped]


class Reach(StrEnum):
    """How much of a parent's work a flatten covers."""

    ALL = "all"
    PART = "part"
    NONE = "none"


ReachOf: TypeAlias = Callable[[ParentRecord], Reach]


def everything(_: ParentRecord) -> Reach:
    """The reach of a flatten."""
    return Reach.ALL


@attrs.frozen(kw_only=True)
class HaltedParents:
    """The result of a halt for a flatten."""

    count: int
    """How many were halted."""
    partly: tuple[str, ...] = ()
    """Ids of open parents of whose work only a part is covered, sorted: they go on."""


@attrs.frozen(kw_only=True)
class HaltParents:
    """Halt every open parent whose work `reach` covers, for a flatten. Answered once no message of their legs is under way (row 35). Refused with
    StoreError."""

    intent: Intent
    reach: ReachOf = everything
    reply: Reply[HaltedParents]


ToParent: TypeAlias = CancelLeg | CheckCancel | ModifyLeg | CancelParent | CancelPart | ModifyPart
"""What the desk asks of the one parent that `parent_id` names."""


# --- from a plan to the other plans --------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class EndExits:
    """End, as cancelled, parts of every other open plan: each part that waits, or is held, as an exit of positions which are about to be closed
    (order-engine 1.3). The answer comes once these parts have ended and none of their orders is under way. The message never waits for an actor
    that could wait for the asking plan."""

    parent_id: str
    """The asking parent."""
    closing: Closing
    reply: Reply[frozenset[ExitName]]
    """The exits that were ended."""


EngineMessage: TypeAlias = Place | ToParent | HaltParents | EndExits


# --- to a parent, from the engine's router ------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class LegSeen:
    """The broker shows an order of this parent."""

    broker: str
    row: OrderRow


@attrs.frozen(kw_only=True)
class BooksFresh:
    """A read of the broker's book, begun at `began` (monotonic seconds), has arrived: whole, or with some rows that cannot be read."""

    broker: str
    began: float
    orders: Mapping[str, OrderRow] = attrs.field(repr=False)
    """The book as folded after that read."""
    partly: PartlyRead | None = None
    """For a read that is not whole: which orders it shows, and what is known of the others. None for a whole read."""


@attrs.frozen(kw_only=True)
class Halt:
    """Send nothing any more (row 35), if `reach` covers all of the parent's work. The answer comes when no leg's message is under way: how much is
    covered, NONE when the parent was not open. Refused with StoreError: then the parent goes on."""

    reach: ReachOf = everything
    reply: Reply[Reach]


ParentMessage: TypeAlias = LegSeen | BooksFresh | ToParent | Halt | EndExits
