"""Plans whose contract has another instrument_id since its strike was adjusted for a corporate action. Pure.

The exchange keeps the contract, its number and everybody's positions; the id changes, because the strike is in it. A plan made before
that day goes on under the new id: its id everywhere in the record, but for the body as it was sent. Under the old id a new contract
with the old strike may be listed by then, which is another one. Where the lot changed too (a split or bonus), the plan's quantities
and prices would be wrong: it is left as it is, and says so.
"""

from collections.abc import Iterable
from datetime import datetime, time

import attrs

from onebroker.actors.catalogue.renames import STRIKE
from onebroker.actors.engine.orders.records import ParentRecord, decode_parent, encode_parent
from onebroker.actors.store.durable_history import Rename
from onebroker.config.clock import IST
from onebroker.config.messages import plan_life as texts


def followed(record: ParentRecord, renames: Iterable[Rename]) -> ParentRecord:
    """Return the record with the ids its contracts have now; the same object where nothing is to be changed.

    `renames` are those of contracts, by day.
    """
    for rename in renames:
        made_after = record.created_at >= datetime.combine(rename.from_day, time(), IST).timestamp()
        written = encode_parent(attrs.evolve(record, body={}))
        old = rename.old_id.encode()
        if made_after or old not in written:
            continue
        if rename.source == STRIKE:
            record = attrs.evolve(decode_parent(written.replace(old, rename.new_id.encode())), body=record.body)
        elif record.status_message != texts.ADJUSTED_LOT:
            record = attrs.evolve(record, status_message=texts.ADJUSTED_LOT)
    return record
