"""What somebody else changed of a resting order at its broker: its price, its trigger, its quantity (order-engine 2.2, row 24b). Pure.

The account's holder has the broker's app, and the broker's own desk acts too. A row of a whole book is the truth, so a number that no message
of ours explains is theirs. But a change that nobody made is worse than one that is seen late: the plan would go on from a wrong price, or
send less than it shall. So a number counts only under all of these conditions:

- No message of ours is under way, and none ended without an answer.
- Two whole books show it. Both began after the answer to our last message about the order.
- A number that the order has had before, or that we asked for in vain, may be an old row. Then both books began `RUNS_BEHIND_SECONDS` later.
  After a restart the former numbers are not known, so any number may be one.
- It is a number of that kind of order. A trigger of 0 has fired, and the order goes on as a plain limit. A price beside a MARKET or SL-M order
  is the broker's protection. Half a paisa is rounding. A row in lots says nothing about units.

If no row has shown our last change since it was accepted, and the old number stands there for good, the broker has not kept the change. The
leg then has the old number again, and the plan's rule may ask for its own once more. That is nobody's change.
"""

from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.accepted_changes import RUNS_BEHIND_SECONDS
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, LegState
from onebroker.brokers.records import OrderRow
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderType, is_finished

ROUNDING = Decimal("0.005")
"""Rupees. Some brokers write prices with two decimals."""
DOUBT_SECONDS = 15.0
"""How long an order is not moved because one book has shown other numbers, when no second book comes."""
_NUMBERS = ("price", "trigger_price", "quantity")


@attrs.frozen(kw_only=True)
class Found:
    """Numbers of an order that no message of ours explains."""

    change: LegChange
    by_another: bool
    """Whether somebody else set them. Otherwise the broker did not keep a change that it had accepted."""


@attrs.frozen(kw_only=True)
class _Sighting:
    change: LegChange
    began: float


def unexplained(leg: LegRecord, row: OrderRow) -> LegChange:
    """Return the numbers of a row that differ from the leg's."""
    limits = row.order_type not in tuple(OrderType) or OrderType(row.order_type).takes_price
    return LegChange(
        price=_price(leg.price, row.price) if limits else None,
        trigger_price=_price(leg.trigger_price, row.trigger_price),
        quantity=row.quantity if row.contract_units is not None and row.quantity not in (0, leg.quantity) else None,
    )


def _price(own: Decimal | None, shown: float) -> Decimal | None:
    if own is None or not shown or float(own) == shown:  # the usual case, for each resting order and each read
        return None
    price = exact(shown)
    return price if abs(price - own) > ROUNDING else None


def _says_something(leg: LegRecord, row: OrderRow) -> bool:
    """Whether a row can say anything about the numbers of the leg now. A row with fewer fills than known is an old row."""
    stands = leg.state in (LegState.OPEN, LegState.PENDING) and not leg.cancel_accepted and not leg.found_by_token
    older = row.filled_quantity < leg.filled_quantity
    return stands and leg.wanted is None and not is_finished(row.status) and not older


def numbers_changed(before: LegRecord, after: LegRecord) -> dict[str, tuple[object, object]]:
    """Return the numbers of a leg that differ, as a caller reads them: name -> (old, new)."""
    values = {name: (getattr(before, name), getattr(after, name)) for name in reversed(_NUMBERS)}
    return {name: (old, new) for name, (old, new) in values.items() if old != new}


class AnotherHand:
    """What the books of brokers show of one parent's legs and no message of ours explains. Times are monotonic seconds."""

    def __init__(self, now: float, *, is_new: bool) -> None:
        """`is_new`: whether the parent begins now, so that every number its legs have had is known."""
        self._is_new = is_new
        self._since = now
        self._answered: dict[str, float] = {}
        """Leg id -> when the last message about it was answered."""
        self._ours: dict[str, set[tuple[str, object]]] = {}
        """Leg id -> the numbers that the order has had, or that we asked for."""
        self._unshown: set[str] = set()
        """Legs whose last change no row has shown."""
        self._sightings: dict[str, _Sighting] = {}

    def asked(self, leg: LegRecord, change: LegChange) -> None:
        """Note a change that is about to be sent: the leg's present numbers, and those that it shall have, are ours."""
        ours = self._ours.setdefault(leg.leg_id, set())
        for name in _NUMBERS:
            ours.update((name, value) for value in (getattr(leg, name), getattr(change, name)) if value is not None)
        self._unshown.add(leg.leg_id)
        self._sightings.pop(leg.leg_id, None)

    def answered(self, leg_id: str, now: float) -> None:
        """Note that a message about a leg is not under way any more."""
        self._answered[leg_id] = now
        self._sightings.pop(leg_id, None)

    def is_doubted(self, leg_id: str, now: float) -> bool:
        """Whether a book has shown other numbers of the leg than ours, and no second book has said yet if they are true. Meanwhile the order is not
        moved: to move it from the wrong place could loosen a stop that its holder has just tightened."""
        sighting = self._sightings.get(leg_id)
        return sighting is not None and now < sighting.began + DOUBT_SECONDS

    def shown(self, leg: LegRecord, row: OrderRow, began: float) -> Found | None:
        """Take in what a whole book that began at `began` shows of a leg about which no message is under way. Return what another hand changed,
        once that is certain."""
        before = self._sightings.pop(leg.leg_id, None)
        answered = self._answered.get(leg.leg_id, self._since)
        if not _says_something(leg, row) or began < answered:
            return None
        change = unexplained(leg, row)
        if not change.given():
            self._unshown.discard(leg.leg_id)
            return None
        former = self._may_be_former(leg.leg_id, change)
        if former and began < answered + RUNS_BEHIND_SECONDS:
            return None
        if before is None or before.change != change or before.began >= began:
            self._sightings[leg.leg_id] = _Sighting(change=change, began=began)
            return None
        not_kept = former and leg.leg_id in self._unshown
        self.asked(leg, change)
        self._unshown.discard(leg.leg_id)
        return Found(change=change, by_another=not not_kept)

    def _may_be_former(self, leg_id: str, change: LegChange) -> bool:
        """Whether a broker that runs behind may show these numbers although nobody else has touched the order."""
        if not self._is_new and leg_id not in self._ours and leg_id not in self._answered:
            return True
        ours = self._ours.get(leg_id, set())
        return any((name, value) in ours for name, value in change.given().items())
