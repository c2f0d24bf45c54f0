"""The choice as a whole: candidates in order, those skipped, and the answer when nobody is left (order-engine 4.1). Pure."""

import attrs

from onebroker.actors.engine.choice.checks import Candidate, Skipped, Why, first_failure, freeze_of
from onebroker.actors.engine.choice.ranking import ranked
from onebroker.actors.engine.doors import EngineDoors
from onebroker.actors.engine.messages import EngineAnswer, PlaceBody
from onebroker.config.messages import orders as texts


@attrs.frozen
class Choice:
    candidates: tuple[Candidate, ...]
    """Best first."""
    skipped: tuple[Skipped, ...]
    """By code."""


def choose(order: PlaceBody, doors: EngineDoors) -> Choice:
    """Check every broker (or the pinned one alone) as it stands now."""
    passed, skipped = [], []
    for code, door in doors.sessions.items():
        if order.broker not in (None, code):
            continue
        candidate = Candidate(
            broker=door.broker,
            view=door.view.value,
            order=order,
            excluded=code in doors.excluded_brokers,
            exit=order.closes_position,
            unanswered=doors.failures.unanswered(code, doors.clock.monotonic()),
        )
        failure = first_failure(candidate)
        if failure is None:
            passed.append(candidate)
        else:
            skipped.append(failure)
    return Choice(tuple(ranked(passed)), tuple(sorted(skipped, key=lambda skip: skip.broker)))


def none_left(order: PlaceBody, skipped: tuple[Skipped, ...]) -> EngineAnswer:
    """Return the refusal when no broker can take the order: one status for the whole."""
    extra: dict[str, object] = {
        "skipped": [{"broker": skip.broker, "reason": skip.reason} for skip in skipped],
        "instrument_id": order.instrument.instrument_id,
    }
    whys = {skip.why for skip in skipped}
    if order.broker is not None and len(skipped) == 1 and not whys & {Why.CAP, Why.RATE}:
        return _refused(409, texts.pinned_cannot(order.broker, skipped[0].reason), extra)
    if whys == {Why.CAP}:
        return _refused(429, skipped[0].reason, extra)
    if whys == {Why.RATE}:
        return _refused(503, texts.RATE_BUDGET_FULL, extra)
    if whys == {Why.LOT}:
        return _refused(400, texts.whole_lots("quantity", _smallest_lot(order)), extra)
    if whys == {Why.FREEZE}:
        return _refused(400, texts.send_sliced(_largest_freeze(order, skipped)), extra)
    if whys == {Why.CONTRACT_SIZE}:
        return _refused(503, texts.CONTRACT_SIZE_NOT_AGREED, {**extra, "contract_size_status": "unknown"})
    return _refused(503, texts.NO_BROKER, extra)


def _smallest_lot(order: PlaceBody) -> int:
    lots = [listing.lot_size for listing in order.instrument.listings.values() if listing.lot_size]
    return min(lots, default=1)


def _largest_freeze(order: PlaceBody, skipped: tuple[Skipped, ...]) -> int:
    """Return the most units that one of those passed over would have taken in one order."""
    known = (freeze_of(order.instrument, skip.broker) for skip in skipped)
    return max((freeze for freeze in known if freeze is not None), default=0)


def _refused(status: int, sentence: str, extra: dict[str, object]) -> EngineAnswer:
    return EngineAnswer(status=status, body={"error": sentence, **extra})
