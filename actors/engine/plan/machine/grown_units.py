"""Units that had gone from an exit and are held again: whose are they (order-engine 1.13). Pure.

A bracket guards 60. A person sells 30 in the broker's app, and the stop follows to 30. Then 30 more are held. The person may have bought back what was
sold, and nobody else guards it: the stop grows back over all that is held, and says so. Or the desk has bought 30 for something else, and guards them with
an exit of their own a moment later. Then two stops for 90 would rest over 60.

So what comes back is guarded only as far as no other exit guards it, whatever its age. First comes what each plan has never lost
(`PartRecord.gone_most`): of plans that have bought their units the older ones first (`guarded_units.py`), then of exits without an entry
(`free_units.py`). Then comes what has come back, in the same order.

    lost    the most units that had gone at once
    own     the guarded units less `lost`
    free    what is held, less `own`, less what others guard before this exit may grow
    gone    what is missing, and no less than `lost` less `free`
"""

from collections.abc import Mapping

from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.plan.machine.free_units import kinds_of
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.parts import OrderPart


def lost(record: PartRecord, key: str, units: int) -> int:
    """Return the most of the guarded `units` that had gone; `key` as in `PartRecord.gone`."""
    return min(units, record.gone_most.get(key, 0))


def gone_of_entry(
    look: Look, record: PartRecord, entry: OrderPart, broker: str, *, units: int, gone: int, held: int
) -> int:
    """Return how many of the `units` that an entry has opened at a broker have gone, where `gone` are missing from the `held` ones that older plans leave."""
    most = lost(record, broker, units)
    if gone >= most:
        return gone
    place = (broker, entry.instrument_id, entry.product, side_of(entry).opposite)
    others = max(look.market.guards_before_growth(*place, stops=stops, is_lone=False) for stops in (True, False))
    return max(gone, most - max(0, held - (units - most) - others))


def gone_of_lone(look: Look, record: PartRecord, part: OrderPart, key: str, *, units: int, gone: int, held: int) -> int:
    """Return the same of an exit without an entry; `held` at its broker, or at all brokers together."""
    most = lost(record, key, units)
    if gone >= most:
        return gone
    place = (part.broker, part.instrument_id, part.product, side_of(part))
    kinds = kinds_of(part, look.record(part))
    others = max(look.market.guards_before_growth(*place, stops=one, is_lone=True) for one in kinds)
    return max(gone, most - max(0, held + (record.armed_beside or 0) - (units - most) - others))


def most_gone(before: Mapping[str, int], gone: Mapping[str, int]) -> Mapping[str, int]:
    """Return `PartRecord.gone_most` after `gone` was noted."""
    return {key: max(before.get(key, 0), gone.get(key, 0)) for key in before.keys() | gone.keys()}
