"""Contracts whose instrument_id changed because their strike was adjusted. The durable store keeps them with the renames of symbols
(`durable_history.Rename`): history reads through them, and open plans follow the contracts with the same lot.
"""

from collections.abc import Iterable
from datetime import date

from onebroker.actors.catalogue.report import Adjusted
from onebroker.actors.store.durable_history import Rename

STRIKE = "strike adjusted"
STRIKE_AND_LOT = "strike and lot adjusted"


def renames_of(adjusted: Iterable[Adjusted], day: date) -> list[Rename]:
    """Return the adjustments that a build of `day` found, as renames to store."""
    return [
        Rename(
            old_id=adjustment.old_id,
            new_id=adjustment.new_id,
            from_day=day,
            source=STRIKE if adjustment.same_lot else STRIKE_AND_LOT,
        )
        for adjustment in adjusted
    ]


def of_contracts(renames: Iterable[Rename]) -> tuple[Rename, ...]:
    """Return the stored renames that are of contracts."""
    return tuple(rename for rename in renames if rename.source in (STRIKE, STRIKE_AND_LOT))
