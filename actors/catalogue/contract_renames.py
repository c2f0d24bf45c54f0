"""Contracts whose instrument_id changed because the exchange changed their strike, expiry or underlying's name. The durable store keeps them
with the renames of symbols (`durable_history.Rename`): history reads through them, and open plans follow the contracts with the same lot.
"""

from collections.abc import Iterable, Sequence
from datetime import date

from onebroker.actors.catalogue.report import Adjusted, Change
from onebroker.actors.store.durable_history import Rename

STRIKE = "strike adjusted"
EXPIRY = "expiry moved"
NAME = "underlying renamed"
SEVERAL = "contract changed"
"""Two of these terms at once."""
STRIKE_AND_LOT = "strike and lot adjusted"
LOT_TOO = " with another lot"
"""The end of the other sources where the lot changed too, or is not known."""

_SOURCES = {Change.STRIKE: STRIKE, Change.EXPIRY: EXPIRY, Change.NAME: NAME}
SAME_LOT = (*_SOURCES.values(), SEVERAL)
OTHER_LOT = (STRIKE_AND_LOT, *(source + LOT_TOO for source in (EXPIRY, NAME, SEVERAL)))


def renames_of(adjusted: Iterable[Adjusted], day: date) -> list[Rename]:
    """Return the adjustments that a build of `day` found, as renames to store."""
    return [
        Rename(
            old_id=adjustment.old_id,
            new_id=adjustment.new_id,
            from_day=day,
            source=_source(adjustment.changes, same_lot=adjustment.same_lot),
        )
        for adjustment in adjusted
    ]


def _source(changes: Sequence[Change], *, same_lot: bool) -> str:
    source = _SOURCES[changes[0]] if len(changes) == 1 else SEVERAL
    if same_lot:
        return source
    return STRIKE_AND_LOT if source == STRIKE else source + LOT_TOO


def of_contracts(renames: Iterable[Rename]) -> tuple[Rename, ...]:
    """Return the stored renames that are of contracts."""
    return tuple(rename for rename in renames if rename.source in (*SAME_LOT, *OTHER_LOT))
