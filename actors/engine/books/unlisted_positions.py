"""Open positions whose token names no instrument of today's list. Such a position may be in an instrument that its broker does not list now
(order-engine 1.3, 5.7).

A list loses an instrument at all brokers or at one of them: a file was cut, or it does not know a change of the contract yet. What is held there is
as open as before, and no row names it any more. So a broker without a listing holds nothing for sure only when each of its open rows is known to be
of another instrument. The same holds while the list is still of an earlier day: some brokers' tokens hold a contract's expiry and strike, so an open
row under an unknown token may be a contract that was changed over night, though the old list has a token of it.
"""

from collections.abc import Collection, Iterable
from datetime import date

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.engine.books.settled_positions import judged
from onebroker.actors.engine.books.shown_positions import unnamed
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.brokers.records import PositionRow


def lists(latest: Snapshot, code: str, instrument_id: str) -> bool:
    """Whether a broker lists an instrument."""
    instrument = latest.instrument(instrument_id)
    return instrument is not None and code in instrument.listings


def may_hold(
    latest: Snapshot,
    code: str,
    rows: Iterable[PositionRow],
    instrument_ids: Collection[str],
    product: str | None,
    today: date,
) -> list[str]:
    """Return the instruments of which one of a broker's rows may be although no row names them: the broker does not list them, or not yet `today`."""
    rows = tuple(rows)
    shown = {latest.by_token(code, row.instrument_token) for row in rows}
    is_old = latest.mapping_date < today
    unsure = [
        instrument_id
        for instrument_id in instrument_ids
        if not lists(latest, code, instrument_id) or (is_old and instrument_id not in shown)
    ]
    return unsure if unsure and unnamed(latest, code, rows, product) else []


def shown_unlisted(
    context: EngineContext, instrument_ids: Collection[str], product: str | None, codes: Collection[str]
) -> list[str]:
    """Return those of `codes` whose newest rows may be of one of these instruments, though none names it."""
    latest = context.catalogue.value.latest
    if latest is None:
        return []
    return [
        code
        for code in sorted(codes)
        if code in context.sessions
        and (found := judged(context, code)) is not None
        and may_hold(latest, code, found.rows, instrument_ids, product, context.clock.today())
    ]


def unlisted_tokens(context: EngineContext, instrument_id: str) -> dict[str, frozenset[str]]:
    """Return broker -> the tokens of its newest open rows that may be of an instrument which the broker does not list."""
    latest = context.catalogue.value.latest
    codes = shown_unlisted(context, [instrument_id], None, context.sessions)
    rows = {code: found.rows for code in codes if (found := judged(context, code)) is not None}
    return {
        code: frozenset(row.instrument_token for row in unnamed(latest, code, rows[code], None))
        for code in rows
        if latest is not None
    }
