"""Plans whose contract got another instrument_id when the exchange changed its strike, its expiry or its underlying's name. Pure.

The exchange keeps the contract, its number and all positions. The id changes, because it contains these terms. A plan made before
that day continues under the new id, which replaces the old id everywhere in the record except in the body as the caller sent it.
By then the old id may name another contract, newly listed with the old strike. Where the lot changed too (a split or bonus), the
plan's quantities and prices would be wrong. Such a plan stays unchanged, and its status message says so.
"""

from collections.abc import Iterable
from datetime import datetime, time

import attrs

from onebroker.actors.catalogue.contract_renames import SAME_LOT
from onebroker.actors.engine.orders.parent_records import ParentRecord, decode_parent, encode_parent
from onebroker.actors.store.durable_history import Rename
from onebroker.config.clock import IST
from onebroker.config.messages import plan_life as texts


def followed(record: ParentRecord, renames: Iterable[Rename]) -> ParentRecord:
    """Return the record with the ids that its contracts have now; the same object where nothing changes.

    `renames` are the renames of contracts, by day.
    """
    for rename in renames:
        made_after = record.created_at >= datetime.combine(rename.from_day, time(), IST).timestamp()
        written = encode_parent(attrs.evolve(record, body={}))
        old = rename.old_id.encode()
        if made_after or old not in written:
            continue
        if rename.source in SAME_LOT:
            record = attrs.evolve(decode_parent(written.replace(old, rename.new_id.encode())), body=record.body)
        elif record.status_message != texts.ADJUSTED_LOT:
            record = attrs.evolve(record, status_message=texts.ADJUSTED_LOT)
    return record
