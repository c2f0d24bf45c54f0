"""Reads requests for candles and ticks (rules 1.4.8, 1.4.9): turns texts into ranges, and gives an instrument's price
basis (rules 1.3.2).

The parameters that a POST list shares are read first, in the order of the rule book's list of sentences (rules 1.7).
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta

import attrs

from onebroker.actors.history.messages import Basis, CandleQuery
from onebroker.actors.history.ticks import TickQuery
from onebroker.config.instruments import ADJUSTABLE_SEGMENTS, Identity, bare_segment, calendar_of, price_places
from onebroker.config.intervals import DAY, INTERVALS, MOST_INTRADAY_DAYS
from onebroker.config.messages import history as sentences
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import parse
from onebroker.http.history.moments import microseconds, read_moment
from onebroker.http.route import Parameter

INTERVAL = Parameter(
    name="interval", place="query", required=True, choices=tuple(INTERVALS), doc=f"One of {', '.join(INTERVALS)}."
)
FROM = Parameter(name="from", place="query", kind="date", doc="First India calendar day; with `to`, or give `days`.")
TO = Parameter(name="to", place="query", kind="date", doc="Last India calendar day, included.")
DAYS = Parameter(
    name="days", place="query", kind="integer", minimum=1, maximum=36_500,
    doc="Instead of from and to: today back so many days, both ends included.",
)  # fmt: skip
ADJUSTED = Parameter(
    name="adjusted", place="query", kind="boolean",
    doc="Whether equities, exchange traded funds and investment trusts are adjusted for corporate actions; true when absent.",
)  # fmt: skip
KNOWN_AS_OF = Parameter(
    name="known_as_of", place="query", kind="date",
    doc="Only adjustment factors with an ex-date on or before this day apply; ignored unless the basis is adjusted.",
)  # fmt: skip
START = Parameter(
    name="start", place="query", required=True, doc="First instant, included; India time without an offset."
)
END = Parameter(name="end", place="query", required=True, doc="First instant that is not included.")

RANGE_PARAMETERS = (INTERVAL, FROM, TO, DAYS, ADJUSTED, KNOWN_AS_OF)
PERIOD_PARAMETERS = (START, END, ADJUSTED)


@attrs.frozen(kw_only=True)
class CandleRange:
    """The parameters that all instruments of one candle request share."""

    interval: str
    first: date
    last: date
    adjusted: bool
    known_as_of: date | None


@attrs.frozen(kw_only=True)
class TickPeriod:
    """The same for ticks: start <= time < end."""

    start: datetime
    end: datetime
    adjusted: bool


def read_range(values: Mapping[str, str], today: date) -> CandleRange:
    """Return the range; raises Refusal 400."""
    interval = _interval(values)
    first, last = _days(values, today)
    if interval != DAY and (last - first).days > MOST_INTRADAY_DAYS:
        raise Refusal(400, sentences.RANGE_TOO_LONG)
    return CandleRange(
        interval=interval,
        first=first,
        last=last,
        adjusted=_adjusted(values),
        known_as_of=parse.day(values, KNOWN_AS_OF),
    )


def _interval(values: Mapping[str, str]) -> str:
    interval = parse.required_text(values, INTERVAL)
    if interval not in INTERVALS:
        raise Refusal(400, sentences.INTERVAL_UNKNOWN)
    return interval


def _days(values: Mapping[str, str], today: date) -> tuple[date, date]:
    ends = [name for name in (FROM.name, TO.name) if name in values]
    if DAYS.name in values:
        if ends:
            raise Refusal(400, sentences.EITHER_RANGE)
        return today - timedelta(days=parse.whole_number(values, DAYS) or 0), today
    if len(ends) < 2:
        raise Refusal(400, sentences.RANGE_REQUIRED)
    first, last = _day(values, FROM), _day(values, TO)
    if last < first:
        raise Refusal(400, sentences.TO_BEFORE_FROM)
    return first, last


def _day(values: Mapping[str, str], parameter: Parameter) -> date:
    day = parse.day(values, parameter)
    if day is None:
        raise Refusal(400, shared.must_be_date(parameter.name))
    return day


def _adjusted(values: Mapping[str, str]) -> bool:
    return parse.flag(values, ADJUSTED) is not False


def read_period(values: Mapping[str, str]) -> TickPeriod:
    """Return the period; raises Refusal 400."""
    texts = [parse.required_text(values, parameter) for parameter in (START, END)]
    moments = [_moment(name, text) for name, text in zip((START.name, END.name), texts, strict=True)]
    if moments[1] <= moments[0]:
        raise Refusal(400, sentences.END_BEFORE_START)
    return TickPeriod(start=moments[0], end=moments[1], adjusted=_adjusted(values))


def _moment(name: str, text: str) -> datetime:
    moment = read_moment(text)
    if moment is None:
        raise Refusal(400, sentences.must_be_moment(name))
    return moment


def is_adjustable(identity: Identity) -> bool:
    return bare_segment(identity.segment) in ADJUSTABLE_SEGMENTS


def basis_of(identity: Identity, *, adjusted: bool) -> Basis:
    """Return the price basis (rules 1.3.2)."""
    if not is_adjustable(identity):
        return "as_served"
    return "adjusted" if adjusted else "unadjusted"


def candle_query(identity: Identity, asked: CandleRange) -> CandleQuery:
    basis = basis_of(identity, adjusted=asked.adjusted)
    return CandleQuery(
        instrument_id=identity.instrument_id,
        market=(identity.exchange, calendar_of(identity.segment)),
        interval=asked.interval,
        first=asked.first,
        last=asked.last,
        basis=basis,
        known_as_of=asked.known_as_of if basis == "adjusted" else None,
        places=price_places(identity.segment),
    )


def tick_query(identity: Identity, asked: TickPeriod) -> TickQuery:
    return TickQuery(
        instrument_id=identity.instrument_id,
        start=microseconds(asked.start),
        end=microseconds(asked.end),
        basis=basis_of(identity, adjusted=asked.adjusted),
        places=price_places(identity.segment),
    )
