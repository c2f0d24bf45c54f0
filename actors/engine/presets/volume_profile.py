"""How a day's volume is spread over the slices of a vwap without a profile: as on the last stored days, else in the shape of a U (order-engine
3.55), and a profile that the caller gives. Pure; raises Refusal 400."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.reading.executions import MOST_SLICES, read_volume_profile
from onebroker.actors.engine.plan.reading.value_rules import Accepts, Kind, not_below_zero
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.session_hours import close_of_today, opening_of_today, start_of_work
from onebroker.actors.engine.presets.settings import Reading, own_reading
from onebroker.config.clock import IST

CANDLE = timedelta(minutes=5)
MOST_DAYS = 10
LEAST_DAYS = 3
"""Fewer stored days do not show the usual day."""
_STEP = Decimal("0.000001")


@own_reading(Accepts(kind=Kind.LIST, least=2, most=MOST_SLICES, item=not_below_zero.accepts), required=False)
def profile_of_caller(reading: Reading, name: str) -> tuple[Decimal, ...] | None:
    """Read `volume_profile`: a weight for each of the `slices`, which are read before it. None = the caller gives no profile."""
    return read_volume_profile(reading.fields, reading["slices"]) if reading.fields.has(name) else None


@attrs.frozen
class Volume:
    """The volume traded in one five-minute candle."""

    began: datetime
    """Aware."""
    units: int


@attrs.frozen(kw_only=True)
class _Slices:
    """The slices of one day."""

    start: datetime
    count: int
    each: timedelta

    def shares(self, candles: Iterable[Volume]) -> list[float] | None:
        """Return each slice's share of the volume in all slices; a candle's volume is spread evenly over its minutes. None = no volume."""
        traded = [0.0] * self.count
        for candle in candles:
            for number in self._touched(candle):
                traded[number] += candle.units * (self._common(candle, number) / CANDLE)
        total = sum(traded)
        return [units / total for units in traded] if total else None

    def _touched(self, candle: Volume) -> range:
        first = (candle.began - self.start) // self.each
        last = (candle.began + CANDLE - self.start) // self.each
        return range(max(0, first), min(self.count, last + 1))

    def _common(self, candle: Volume, number: int) -> timedelta:
        began = self.start + number * self.each
        common = min(candle.began + CANDLE, began + self.each) - max(candle.began, began)
        return max(timedelta(0), common)


def profile(candles: Sequence[Volume], body: Body, slices: int, over_minutes: Decimal) -> tuple[Decimal, ...]:
    """Return the weights of the slices: the mean of their shares on the last stored days, else the shape of a U."""
    if _is_over(body):
        return (Decimal(1),) * slices
    start, slice_length = start_of_work(body), timedelta(minutes=float(over_minutes)) / slices
    days: list[list[float]] = []
    for day, of_day in sorted(_by_day(candles).items(), reverse=True):
        begins = datetime.combine(day, start.time(), IST)
        shares = _Slices(start=begins, count=slices, each=slice_length).shares(of_day)
        if shares is not None and len(days) < MOST_DAYS:
            days.append(shares)
    if len(days) < LEAST_DAYS:
        return u_shape(body, slices, over_minutes)
    return tuple(Decimal(repr(sum(shares) / len(days))).quantize(_STEP) for shares in zip(*days, strict=True))


def _by_day(candles: Iterable[Volume]) -> Mapping[date, list[Volume]]:
    days: dict[date, list[Volume]] = defaultdict(list)
    for candle in candles:
        days[candle.began.astimezone(IST).date()].append(candle)
    return days


def u_shape(body: Body, slices: int, over_minutes: Decimal) -> tuple[Decimal, ...]:
    """Return the weight 1 + 2 x (2x - 1)^2 of each slice; x is the slice's middle as a share of the session. Weights are large at both ends of the
    session and small between."""
    opens, closes = opening_of_today(body), close_of_today(body)
    if opens is None or closes is None or _is_over(body):
        return (Decimal(1),) * slices
    start, slice_length = start_of_work(body), timedelta(minutes=float(over_minutes)) / slices
    return tuple(_weight(start + slice_length * (number + 0.5), opens, closes) for number in range(slices))


def _is_over(body: Body) -> bool:
    """Whether there is no session left to work in; the market's own check reports that."""
    closes = close_of_today(body)
    return closes is None or body.now >= closes


def _weight(moment: datetime, opens: datetime, closes: datetime) -> Decimal:
    share = Decimal(repr((moment - opens) / (closes - opens)))
    return (1 + 2 * (2 * share - 1) ** 2).quantize(_STEP)
