"""What open plans have bought and guard, so that their exits together are never for more than is held (order-engine 1.13).

Two plans of ten units each guard a position of twenty. A person sells five in the broker's app. Each plan alone finds its ten units still there. Nobody
can tell whose units are gone, so the order of the plans decides: the older plan keeps its exits, and the newer plan finds what the older one leaves.

Only units that a plan has bought itself count, as the broker's own order book shows them: the positions are compared with the same book
(`position_days.py`), so that a fill is in both or in neither. An exit without an entry in its plan has bought nothing: it
gives way to every plan that has, and to older exits like itself (`plan/machine/free_units.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import attrs

from onebroker.actors.engine.orders.leg_rows import is_of
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.plan.machine.free_units import Claim
from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import Side


class Place(NamedTuple):
    """A position, and the side that closes it; the product in the orders' words."""

    broker: str
    instrument_id: str
    product: str
    side: Side


@attrs.frozen
class Gone:
    """Units that a plan has bought at a place and that somebody else has closed."""

    now: int = 0
    most: int = 0
    """The most that it has been: what has come back since is guarded only as far as no other exit does (`plan/machine/grown_units.py`)."""


@attrs.frozen
class _Plan:
    age: tuple[float, str]
    """When the plan was made (epoch seconds), and its id."""
    legs: tuple[LegRecord, ...]
    gone: Gone


NONE_GONE = Gone()


@attrs.define
class GuardedUnits:
    """The orders by which open plans buy and close what they guard."""

    _plans: dict[Place, dict[str, _Plan]] = attrs.field(factory=dict)
    _places: dict[str, frozenset[Place]] = attrs.field(factory=dict)
    """Plan -> where it is noted."""
    _claims: dict[str, dict[str, tuple[tuple[float, str], tuple[Claim, ...]]]] = attrs.field(factory=dict)
    """Instrument -> plan -> its age, and what its exits without an entry claim there."""
    _claimed: dict[str, tuple[Claim, ...]] = attrs.field(factory=dict)
    """Plan -> all that its exits without an entry claim."""

    def note(
        self,
        parent_id: str,
        made_at: float,
        legs: Iterable[LegRecord],
        closes: Mapping[str, Side],
        gone: Mapping[Place, Gone] = MappingProxyType({}),
    ) -> None:
        """Take the orders of a plan in place of those that were noted of it. `closes`: part -> the side that closes what the part's legs buy or
        close; legs of other parts do not count. `gone`: what somebody else has closed of it."""
        found: dict[Place, list[LegRecord]] = {}
        for leg in legs:
            if leg.part in closes:
                place = Place(leg.broker, leg.instrument_id, leg.product, closes[leg.part])
                found.setdefault(place, []).append(leg)
        self.forget(parent_id)
        for place, own in found.items():
            self._plans.setdefault(place, {})[parent_id] = _Plan(
                (made_at, parent_id), tuple(own), gone.get(place, NONE_GONE)
            )
        if found:
            self._places[parent_id] = frozenset(found)

    def note_claims(self, parent_id: str, made_at: float, claims: tuple[Claim, ...]) -> frozenset[str]:
        """Take what a plan's exits without an entry claim, in place of what was noted. Return the instruments of which it claims other units now."""
        before = self._claimed.pop(parent_id, ())
        for instrument_id in {claim.instrument_id for claim in before}:
            at = self._claims[instrument_id]
            del at[parent_id]
            if not at:
                del self._claims[instrument_id]
        for instrument_id in {claim.instrument_id for claim in claims}:
            own = tuple(claim for claim in claims if claim.instrument_id == instrument_id)
            self._claims.setdefault(instrument_id, {})[parent_id] = (made_at, parent_id), own
        if claims:
            self._claimed[parent_id] = claims
        changed = {_said(claim) for claim in before} ^ {_said(claim) for claim in claims}
        return frozenset(said[0] for said in changed)

    def claimed_by_older(
        self,
        parent_id: str | None,
        instrument_id: str,
        counts: Callable[[Claim], bool],
        rows: Callable[[str], Mapping[str, OrderRow]],
        today: str,
        sends: Callable[[str], bool],
    ) -> int:
        """Return the units that exits without an entry of older plans claim; of all plans, for an order that is no open plan. `rows`: broker -> its rows
        of today."""
        claims = self._claims_of_others(parent_id, instrument_id, counts, sends)
        return sum(_left_of(claim, rows, today) for claim, is_older in claims if is_older)

    def claimed_before_growth(
        self,
        parent_id: str | None,
        instrument_id: str,
        counts: Callable[[Claim], bool],
        rows: Callable[[str], Mapping[str, OrderRow]],
        today: str,
        sends: Callable[[str], bool],
        *,
        is_lone: bool,
    ) -> int:
        """Return the units that exits without an entry of all other plans claim before units that had gone may come back to a plan: what they have never
        lost, and before an exit without an entry also what has come back to older ones."""
        claims = self._claims_of_others(parent_id, instrument_id, counts, sends)
        return sum(_left_of(claim, rows, today, again=is_lone and is_older) for claim, is_older in claims)

    def _claims_of_others(
        self, parent_id: str | None, instrument_id: str, counts: Callable[[Claim], bool], sends: Callable[[str], bool]
    ) -> Iterator[tuple[Claim, bool]]:
        """Yield the claims of other plans, and whether they are older."""
        at = self._claims.get(instrument_id, {})
        own = at.get(parent_id or "", (None, ()))[0]
        for other, (age, claims) in at.items():
            if other != parent_id and sends(other):
                for claim in filter(counts, claims):
                    yield claim, own is None or age < own

    def forget_all(self, parent_id: str) -> frozenset[str]:
        """Forget a plan that sends nothing any more. Return the instruments of which it has guarded or claimed units."""
        places = {place.instrument_id for place in self._places.get(parent_id, ())}
        self.forget(parent_id)
        return self.note_claims(parent_id, 0.0, ()) | places

    def forget(self, parent_id: str) -> None:
        """Forget what a plan has bought."""
        for place in self._places.pop(parent_id, ()):
            plans = self._plans[place]
            del plans[parent_id]
            if not plans:
                del self._plans[place]

    def of_older(
        self, parent_id: str, place: Place, rows: Mapping[str, OrderRow], today: str, sends: Callable[[str], bool]
    ) -> int:
        """Return the units that plans older than this one hold open at a place and have never lost, by the broker's rows of today (order id -> row).
        `sends`: whether a plan still sends orders."""
        return sum(
            _firm(plan, place.side, rows, today) for plan, is_older in self._others(parent_id, place, sends) if is_older
        )

    def before_growth(
        self, parent_id: str, place: Place, rows: Mapping[str, OrderRow], today: str, sends: Callable[[str], bool]
    ) -> int:
        """Return the units at a place that others guard before units that had gone may come back to this plan: what newer plans have bought and never lost,
        and what has come back to older ones. Arguments as for `of_older`."""
        return sum(
            plan.gone.most - plan.gone.now if is_older else _firm(plan, place.side, rows, today)
            for plan, is_older in self._others(parent_id, place, sends)
        )

    def _others(self, parent_id: str, place: Place, sends: Callable[[str], bool]) -> Iterator[tuple[_Plan, bool]]:
        """Yield the other plans at the place of a plan, and whether they are older."""
        plans = self._plans.get(place, {})
        own = plans.get(parent_id)
        if own is not None:
            yield from (
                (plan, plan.age < own.age) for other, plan in plans.items() if other != parent_id and sends(other)
            )

    def of_others(
        self,
        parent_id: str | None,
        place: Place,
        rows: Mapping[str, OrderRow],
        today: str,
        sends: Callable[[str], bool],
        *,
        again: bool = False,
    ) -> int:
        """Return the units that all plans but this one hold open at a place and have never lost, `again`: with what has come back to them; arguments as
        for `of_older`."""
        plans = self._plans.get(place, {})
        others = (plan for other, plan in plans.items() if other != parent_id and sends(other))
        return sum(
            max(0, _open(plan, place.side, rows, today) - (plan.gone.now if again else plan.gone.most))
            for plan in others
        )


def _left_of(claim: Claim, rows: Callable[[str], Mapping[str, OrderRow]], today: str, *, again: bool = False) -> int:
    filled = sum(_filled(leg, rows(leg.broker), today) for leg in claim.legs)
    return max(0, claim.units + (claim.again if again else 0) - filled)


def _said(claim: Claim) -> tuple[str, str | None, str, Side, bool | None, int, int]:
    return claim.instrument_id, claim.broker, claim.product, claim.side, claim.stops, claim.units, claim.again


def _firm(plan: _Plan, side: Side, rows: Mapping[str, OrderRow], today: str) -> int:
    """Return the units that a plan has open and has never lost."""
    return max(0, _open(plan, side, rows, today) - plan.gone.most)


def _open(plan: _Plan, side: Side, rows: Mapping[str, OrderRow], today: str) -> int:
    """Return the units that a plan has open by its orders' fills."""
    return sum((-1 if leg.transaction_type == side else 1) * _filled(leg, rows, today) for leg in plan.legs)


def _filled(leg: LegRecord, rows: Mapping[str, OrderRow], today: str) -> int:
    row = None if leg.order_id is None else rows.get(leg.order_id)
    return row.filled_quantity if row is not None and is_of(leg, row, today) else leg.filled_quantity
