"""Reads market data: the fields that stream frames and REST quotes share, as one tick.

Source: docs/brokers/shoonya.md, sections 4 and 6. Prices are rupees, quantities are Shoonya's own
(`values.FACTOR_EXCHANGES`), all texts. `c` is the previous close.
"""

from collections.abc import Mapping
from decimal import Decimal

from onebroker.brokers.codec.fields import epoch_seconds, number
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.brokers.shoonya.values import moment
from onebroker.config.clock import from_epoch

LEVELS = 5
_LARGEST = 2.0**53
"""A number above this is not a count."""
_AHEAD_SECONDS = 60.0
"""A trade that is later than its frame by more than this happened on another day."""

Fields = Mapping[str, object]


def tick(broker_token: str, fields: Fields, units: Decimal | None, *, sent: str) -> Tick | None:
    """Return the tick of a snapshot; None where it has no last price. `sent` names the field of its time.

    Quantities are None where `units` (ours in one of the broker's) are not known.
    """
    last = price(fields.get("lp"))
    if last is None:
        return None  # never traded: there is no price to serve
    time = epoch_seconds(fields.get(sent))
    return Tick(
        broker_token=broker_token,
        last_price=last,
        average_price=price(fields.get("ap")),
        open=price(fields.get("o")),
        high=price(fields.get("h")),
        low=price(fields.get("l")),
        previous_close=price(fields.get("c")),
        last_quantity=count(fields.get("ltq"), units),
        volume=count(fields.get("v"), units),
        buy_quantity=count(fields.get("tbq"), units),
        sell_quantity=count(fields.get("tsq"), units),
        oi=count(fields.get("oi"), units),
        buy=_levels(fields, "b", units),
        sell=_levels(fields, "s", units),
        last_trade_time=_last_trade(fields, time),
        exchange_time=time,
    )


def price(value: object) -> float | None:
    """Return a price; None for zero, and for a value that cannot be a price (a damaged frame)."""
    read = number(value)
    return read if read is not None and read > 0 else None


def count(value: object, units: Decimal | None) -> int | None:
    """Return a quantity in units; None when it is absent, cannot be a quantity, or the units in one are not known."""
    read = number(value)
    if read is None or units is None or not 0 <= read <= _LARGEST or read != int(read):
        return None
    whole = int(read) * units
    return int(whole) if whole == int(whole) else None


def _levels(fields: Fields, side: str, units: Decimal | None) -> tuple[DepthLevel, ...] | None:
    """Return one side without empty levels; None where the fields have no depth or it cannot be read in units."""
    if units is None or not any(f"{side}q{n}" in fields for side in "bs" for n in range(1, LEVELS + 1)):
        return None
    levels = []
    for n in range(1, LEVELS + 1):
        at, quantity = price(fields.get(f"{side}p{n}")), count(fields.get(f"{side}q{n}"), units)
        if at is not None and quantity:
            levels.append(DepthLevel(at, quantity, count(fields.get(f"{side}o{n}"), Decimal(1))))
    return tuple(levels)


def _last_trade(fields: Fields, sent: float | None) -> float | None:
    """Return the time of the last trade, from a time of day.

    A quote gives its day (`ltd`). A frame does not: the day is the frame's own where something was traded on it, and
    otherwise not known.
    """
    clock, day = fields.get("ltt"), fields.get("ltd")
    if day is None and sent is not None and number(fields.get("v")):
        day = f"{from_epoch(sent):%d-%m-%Y}"
    read = moment(f"{clock} {day}")
    if read is None or (sent is not None and read.timestamp() > sent + _AHEAD_SECONDS):
        return None
    return read.timestamp()
