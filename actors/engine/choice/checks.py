"""The hard checks of one broker for one order, in order, each giving the reason written to `skipped` (order-engine 4.1). Pure."""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.messages import PlaceBody
from onebroker.actors.sessions.view import SessionView
from onebroker.brokers.broker import Broker
from onebroker.brokers.records import Listing
from onebroker.config.instruments import bare_segment, calendar_of
from onebroker.config.messages import orders as texts
from onebroker.config.money import is_multiple


class Why(StrEnum):
    """What sort of reason it is: when all brokers share one sort, the whole answer says so."""

    LOT = "lot"
    CONTRACT_SIZE = "contract_size"
    FREEZE = "freeze"
    CAP = "cap"
    RATE = "rate"
    OTHER = "other"


@attrs.frozen
class Skipped:
    """A broker passed over."""

    broker: str
    reason: str
    why: Why = Why.OTHER


@attrs.frozen(kw_only=True)
class Candidate:
    """One broker, as it stands now, beside the order it may get."""

    broker: Broker
    view: SessionView
    order: PlaceBody
    excluded: bool
    exit: bool
    """Whether the order may use the rooms kept for exits."""
    unanswered: int = 0
    """How many of the last orders it did not answer, while it is out for that."""

    @property
    def only_way_out(self) -> bool:
        """Whether this is a close pinned to this broker: it has nowhere else to go."""
        return self.exit and self.order.broker == self.broker.code

    @property
    def listing(self) -> Listing | None:
        return self.order.instrument.listings.get(self.broker.code)


Check = Callable[[Candidate], Skipped | None]


def first_failure(candidate: Candidate) -> Skipped | None:
    """Return the first check the candidate fails, or None when it can take the order."""
    return next((failure for check in CHECKS if (failure := check(candidate)) is not None), None)


def freeze_of(instrument: Instrument, code: str) -> int | None:
    """Return the freeze quantity in units: of the broker's own file, else what the files agree on (order-engine 4.4).

    None when no file knows one, which is then not checked.
    """
    listing = instrument.listings.get(code)
    own = listing.freeze_quantity if listing is not None else None
    return instrument.freeze_quantity if own is None else own


def _skip(candidate: Candidate, reason: str, why: Why = Why.OTHER) -> Skipped:
    return Skipped(candidate.broker.code, reason, why)


def _not_excluded(candidate: Candidate) -> Skipped | None:
    out = candidate.excluded and not candidate.only_way_out
    return _skip(candidate, texts.EXCLUDED_BY_CONFIGURATION) if out else None


def _logged_in(candidate: Candidate) -> Skipped | None:
    return None if candidate.view.live else _skip(candidate, texts.no_login(candidate.broker.code))


def _carries(candidate: Candidate) -> Skipped | None:
    return None if candidate.listing is not None else _skip(candidate, texts.DOES_NOT_CARRY)


def _takes(candidate: Candidate) -> Skipped | None:
    """Segment, product, order type, validity, after-market and disclosed quantity, by the capability table."""
    can, order = candidate.broker.capabilities, candidate.order
    segment = order.instrument.identity.segment
    calendar = calendar_of(segment)
    offered = (
        (segment in can.segments, order.product),
        (order.product in can.products.get(calendar, ()), order.product),
        (order.order_type in can.order_types.get(calendar, ()), order.order_type),
        (order.validity in can.validities, order.validity),
        (can.after_market or not order.after_market, "after_market"),
        (can.disclosed_quantity or not order.disclosed_quantity, "disclosed_quantity"),
    )
    refused = next((word for is_offered, word in offered if not is_offered), None)
    return None if refused is None else _skip(candidate, texts.does_not_take(refused, bare_segment(segment)))


def _whole_lots(candidate: Candidate) -> Skipped | None:
    lot = candidate.listing.lot_size if candidate.listing else None
    if lot is None or is_multiple(Decimal(candidate.order.quantity), Decimal(lot)):
        return None
    return _skip(candidate, texts.not_whole_lots(lot), Why.LOT)


def _contract_size(candidate: Candidate) -> Skipped | None:
    if candidate.listing is None or candidate.listing.contract_units is not None:
        return None
    return _skip(candidate, texts.contract_size("unknown"), Why.CONTRACT_SIZE)


def _under_freeze(candidate: Candidate) -> Skipped | None:
    freeze = freeze_of(candidate.order.instrument, candidate.broker.code)
    if freeze is None or candidate.order.quantity <= freeze:
        return None
    return _skip(candidate, texts.above_freeze(freeze), Why.FREEZE)


def _answers(candidate: Candidate) -> Skipped | None:
    if not candidate.unanswered or candidate.only_way_out:
        return None
    return _skip(candidate, texts.did_not_answer(candidate.unanswered))


def _cap_left(candidate: Candidate) -> Skipped | None:
    room = candidate.view.room
    if room is None or room.daily_cap is None:
        return None
    kept = 0 if candidate.exit else room.exit_reserve
    if room.order_messages_today < room.daily_cap - kept:
        return None
    sentence = texts.daily_cap(candidate.broker.code, room.order_messages_today, room.daily_cap, kept)
    return _skip(candidate, sentence, Why.CAP)


CHECKS: tuple[Check, ...] = (
    _not_excluded,
    _logged_in,
    _carries,
    _takes,
    _whole_lots,
    _contract_size,
    _under_freeze,
    _answers,
    _cap_left,
)
