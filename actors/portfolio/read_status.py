"""The status of a broker's slice in a document: `brokers[].status` (rules 1.2.5, 1.4.10; rules 2.2.4). Pure."""

from collections.abc import Mapping, Sequence

import attrs

from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.keys import Resource
from onebroker.config.clock import from_epoch, latest_boundary, local_text
from onebroker.config.vocabulary import ReadStatus

STALE_AFTER_SECONDS: dict[Resource, float] = {
    "funds": 60.0,
    "holdings": 180.0,
    "positions": 60.0,
    "orders": 60.0,
    "trades": 60.0,
}
"""A broker's slice older than this is marked stale (rules 1.4.10 table; rules 2.2.4: seen within a minute)."""

_OF_ONE_DAY = frozenset({"orders", "trades"})
"""Resources that cover only one broking day."""

_USABLE = frozenset({ReadStatus.OK, ReadStatus.STALE})


@attrs.frozen(kw_only=True)
class BrokerRead:
    """One configured broker's part in one document at one moment."""

    broker: str
    status: ReadStatus
    slice: Slice | None
    """None exactly when the status is `missing`."""

    @property
    def usable(self) -> bool:
        """Whether the broker's rows are in the document."""
        return self.status in _USABLE

    @property
    def as_of(self) -> str | None:
        """The time at which the broker was last seen, as documents write it; None when no slice counts (`missing`)."""
        return None if self.slice is None else local_text(from_epoch(self.slice.received_at))

    def entry(self) -> dict[str, object]:
        """Return the broker's element of `brokers`: {broker, status, as_of}."""
        return {"broker": self.broker, "status": self.status.value, "as_of": self.as_of}


def read_brokers(
    resource: Resource, codes: Sequence[str], slices: Mapping[str, Slice], now_epoch: float
) -> tuple[BrokerRead, ...]:
    """Return the read of every configured broker, in the alphabetical order of the codes."""
    day = day_start(now_epoch)
    return tuple([_read_of_day(resource, code, slices.get(code), now_epoch, day) for code in sorted(codes)])


def read_broker(resource: Resource, broker: str, held: Slice | None, now_epoch: float) -> BrokerRead:
    """Judge one broker's slice at `now_epoch` (epoch seconds).

    An order or trade book read before the latest 07:00 belongs to another day. Nothing is stored for today, so the status is `missing`. A
    time of receipt further in the future than the limit proves nothing, so the status is `stale` too.
    """
    return _read_of_day(resource, broker, held, now_epoch, day_start(now_epoch))


def _read_of_day(resource: Resource, broker: str, held: Slice | None, now_epoch: float, day: float) -> BrokerRead:
    if held is None or (resource in _OF_ONE_DAY and held.received_at < day):
        return BrokerRead(broker=broker, status=ReadStatus.MISSING, slice=None)
    if held.error is not None or held.rows is None:
        return BrokerRead(broker=broker, status=ReadStatus.UNREADABLE, slice=held)
    recent = abs(now_epoch - held.received_at) <= STALE_AFTER_SECONDS[resource]
    return BrokerRead(broker=broker, status=ReadStatus.OK if recent else ReadStatus.STALE, slice=held)


def day_start(epoch: float) -> float:
    """Return the 07:00 India time at which the broking day of an instant began. Both in epoch seconds."""
    return latest_boundary(from_epoch(epoch)).timestamp()
