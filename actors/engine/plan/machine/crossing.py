"""A limit that must rest, and what happens when it would trade at once (order-engine 3.37). Judged once, before the limit is sent."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.market import Market, Seen
from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.actors.engine.plan.price_kinds import Crossing
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side


def crossed(quote: Seen, side: Side, limit: Decimal) -> Decimal | None:
    """Return the best price that a limit would trade against at once; None where the limit rests, as it does on an empty side.

    Callers ask only where the feed carries the book.
    """
    touch = quote.opposite(side)
    return touch if touch is not None and (limit - touch) * side.sign >= 0 else None


def unseen(market: Market, instrument_id: str, side: Side) -> tuple[int, str]:
    """Return status and sentence of the refusal when a needed book is missing: there is no usable quote, or the quote has no depth."""
    if market.is_stale(instrument_id):
        return 409, texts.stale_quote(side)
    return (409, texts.no_quote(side)) if market.seen(instrument_id) is None else (503, texts.no_depth(side))


def uncrossed(look: Look, part: OrderPart, rule: Crossing, limit: Decimal) -> Decimal | None:
    """Return the limit at which the order rests; None while there is no quote to judge by, and always after it was refused."""
    record, side = look.record(part), side_of(part)
    if record.memory.active:
        return limit
    quote = look.book(part.instrument_id)
    if quote is None:
        look.cannot(part, *unseen(look.market, part.instrument_id, side))
        return None
    touch = crossed(quote, side, limit)
    terms = look.terms(part)
    if touch is not None and (rule is Crossing.REFUSE or terms.tick is None):
        look.note(part, refusal=texts.would_cross(side, limit, touch))
        return None
    if touch is not None:
        limit = terms.passive(touch - side.sign * (terms.tick or Decimal(0)), side)
    look.note(part, price=limit, memory=attrs.evolve(record.memory, active=True))
    return limit
