"""Fetches the inputs of references, as fresh as they must be: the live quote, and what the brokers hold of an instrument.

Before a position is closed it is read again at every broker that shows one in the instrument or had an order in it today. A row read before the
last fill would be closed a second time (order-engine 0, fresh). Rows that do not agree with the broker's fills are read again; by the end of the wait
they are sized by the fills (4.11).
"""

from collections.abc import Callable, Collection, Mapping

import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.books.settled_positions import judged, of_instruments, read_settled
from onebroker.actors.engine.books.shown_positions import ShownPositions
from onebroker.actors.engine.books.unlisted_positions import shown_unlisted
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.position_days import Judged
from onebroker.actors.engine.orders.reference_values import QuantityReference
from onebroker.actors.engine.plan.market import Seen
from onebroker.actors.engine.references.sizing import net_units
from onebroker.actors.sessions.session_view import SessionView
from onebroker.config.messages import references as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import is_finished


async def usable_quote(
    context: EngineContext, instrument_id: str, has: Callable[[Seen], bool], *, until: float
) -> Seen | None:
    """Return the live quote when it may be acted on (order-engine 0). `has` tells whether the quote has the fields that are read from it. The call
    waits until `until` (trio's clock) for a quote that nobody has watched so far, and for missing fields: a feed may send a price first and its
    book later. None when there is no quote by then. If only the fields are missing by then, the quote is returned without them."""

    def newest() -> Seen | None:
        quote = context.quotes.usable_quote(instrument_id)
        return None if quote is None else context.seen_quotes.of(quote, instrument_id)

    with context.quotes.follow([instrument_id]) as follower, trio.move_on_at(until):
        while (found := newest()) is None or not has(found):
            await anext(follower)
    return found


async def fresh_nets(
    instrument: Instrument, product: str | None, codes: Collection[str], context: EngineContext, *, until: float
) -> Mapping[str, int]:
    """Return the signed net units of one instrument by broker, for those of `codes` that list it; `product` is a position's word.

    Rows that do not agree with the fills by `until` (trio's clock) count by their fills. Raises Refusal 503 when a broker that may hold some gives no
    fresh rows by then.
    """
    tokens = {code: listing.broker_token for code, listing in instrument.listings.items() if code in codes}
    sessions = {code: context.sessions[code] for code in sorted(tokens) if code in context.sessions}
    about = of_instruments(context, [instrument.instrument_id])
    known = {code: judged(context, code) for code in sessions}
    doubtful = [
        code
        for code, handle in sessions.items()
        if context.legs.traded(code, tokens[code])
        or _may_have_moved(handle.view.value, tokens[code])
        or _is_doubted(known[code], tokens[code])
    ]
    read = await read_settled(context, doubtful, max(0.0, until - trio.current_time()), about)
    rows = {code: () if found is None else found.rows for code, found in known.items()}
    for code in doubtful:
        found = read.get(code)
        if found is None or not ShownPositions.of(found.read).tells([tokens[code]], product):
            raise Refusal(503, texts.positions_of_broker_unread(code))
        rows[code] = found.rows
    if all(handle.view.value.positions_read_started is None for handle in sessions.values()) and not doubtful:
        raise Refusal(503, texts.POSITIONS_UNREAD)
    return {code: net_units(code, rows[code], tokens[code], product) for code in sessions}


def no_position(
    context: EngineContext, instrument: Instrument, reference: QuantityReference, codes: Collection[str]
) -> Refusal:
    """Return the refusal of a close that found no units at `codes`: 409 when nothing is held, 503 when a broker that does not list the instrument
    may hold some."""
    may = shown_unlisted(context, [instrument.instrument_id], reference.product, codes)
    if may:
        return Refusal(503, texts.position_not_listed(reference.kind, may))
    return Refusal(409, texts.no_position(reference.kind))


def _is_doubted(found: Judged | None, token: str) -> bool:
    return found is not None and any(key.token == token for key in found.doubts)


def _may_have_moved(view: SessionView, token: str) -> bool:
    """Whether the stored rows of a broker may be older than what it holds of an instrument, and the difference matters."""
    if view.positions_read_started is None or view.readable_positions is not None:
        return view.live
    shown = any(row.instrument_token == token and row.quantity != 0 for row in view.positions)
    return shown or any(
        row.instrument_token == token and (row.filled_quantity or not is_finished(row.status))
        for row in view.orders.values()
    )
