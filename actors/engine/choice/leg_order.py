"""One broker order that needs a broker: from a place request, or a leg of a plan (order-engine 4)."""

from collections.abc import Callable
from decimal import Decimal

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.context.messages import PlaceBody
from onebroker.config.instruments import bare_segment, calendar_of


@attrs.frozen(kw_only=True)
class LegOrder:
    """Quantities in units, prices in rupees, every word in the API's own spelling."""

    instrument: Instrument
    transaction_type: str
    product: str
    order_type: str
    validity: str = "DAY"
    quantity: int
    disclosed_quantity: int = 0
    price: Decimal | None = None
    trigger_price: Decimal | None = None
    after_market: bool = False
    broker: str | None = None
    """The pinned broker: the only one that is considered."""
    prefer: str | None = None
    """The broker that got the earlier pieces of a split order: it comes first as long as it fails no check (4.2)."""
    closes: bool = False
    """Whether it may use the room kept for exits: `closes_position`, an exit, a position close, flatten. When pinned it has nowhere else to go.
    Then neither the exclusion list nor unanswered orders stop it (4.1, 4.9)."""
    keeps_off_reserve: bool = False
    """Whether it closes, but may not use the part of a daily cap that is kept for exits: no caller said `closes_position` (rules 2.7)."""
    owed: bool = False
    """Whether its plan owes it: it follows the fills of another order, or takes the place of an order that the plan has cancelled."""
    exit: bool = False
    """An exit of a running plan, a position close or flatten: the engine itself knows that it closes. Not a caller's flag; the loss lockout lets
    it through (4.7)."""
    own_units: Callable[[str, str | None], int] | None = attrs.field(default=None, eq=False, repr=False)
    """For an exit of what its own plan has filled: (broker, leg id) -> the units that the plan holds there and that the exit may close. The leg
    id is the exit's own once it has a leg. None for any other order."""
    alternatives: Callable[[], frozenset[str]] = attrs.field(default=frozenset, eq=False, repr=False)
    """Returns the leg ids, order ids and tokens of its plan's orders of which only one fills, this one or another. They take nothing away from what
    this order may reduce."""

    @property
    def segment(self) -> str:
        """The bare segment."""
        return bare_segment(self.instrument.identity.segment)

    @property
    def calendar(self) -> str:
        return calendar_of(self.instrument.identity.segment)


def placed_order(body: PlaceBody) -> LegOrder:
    """Return the order of a simple place request, whose body always has all order fields."""
    assert body.transaction_type is not None
    assert body.product is not None
    assert body.order_type is not None
    return LegOrder(
        instrument=body.instrument,
        transaction_type=body.transaction_type,
        product=body.product,
        order_type=body.order_type,
        validity=body.validity,
        quantity=body.quantity,
        disclosed_quantity=body.disclosed_quantity,
        price=body.price,
        trigger_price=body.trigger_price,
        after_market=body.after_market,
        broker=body.broker,
        closes=body.closes_position or body.position_close,
        exit=body.position_close,
    )
