"""Decides when a build is due, when orders may use the present mapping (architecture 8, today's catalogue), and how two builds
compare. Pure.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta

import attrs

from onebroker.actors.catalogue.report import BrokerReport, BuildReport
from onebroker.config.calendars import CALENDARS, Calendar
from onebroker.config.clock import IST
from onebroker.config.instruments import TRADING_EXCHANGES

BUILD_FROM = time(8, 30)
PREVIOUS_UNTIL = time(9, 0)
"""Until this time the previous mapping counts while today's build runs."""
FIRST_RETRY_SECONDS = 30.0
MOST_RETRY_SECONDS = 300.0
"""Longest wait between builds while orders wait for a build."""
MOST_LOST_RETRY_SECONDS = 3600.0
"""Longest wait between builds that only look for a lost broker: each fetches every broker's files again."""
SHRUNK = 0.5
"""A broker's segment with less than this share of its earlier listings counts as shrunk (lesson 15)."""


@attrs.frozen(kw_only=True)
class Mapped:
    """The newest existing mapping."""

    day: date
    built_at: datetime


@attrs.frozen(kw_only=True)
class Standing:
    """Whether orders may be taken; if not, why."""

    published_today: bool
    reason: str = ""


def build_day(calendar: Calendar, day: date) -> bool:
    """Tell whether any market trades on that day."""
    return any(calendar.is_session_day(exchange, name, day) for exchange in TRADING_EXCHANGES for name in CALENDARS)


def build_due(newest: Mapped | None, now: datetime, calendar: Calendar) -> bool:
    """Tell whether a build is due: nothing was ever mapped, or today's mapping is missing on a session day from 08:30 on.

    A mapping made earlier on the same day (a first start at night) is built from yesterday's files: it is built again.
    """
    if newest is None:
        return True
    local = now.astimezone(IST)
    return _past(BUILD_FROM, local) and build_day(calendar, local.date()) and newest.built_at < _at(BUILD_FROM, local)


def standing(
    newest: Mapped | None, now: datetime, calendar: Calendar, *, building: bool, failure: str | None
) -> Standing:
    """Judge the newest mapping; `failure` is why the last build failed."""
    if newest is None:
        return Standing(published_today=False, reason=failure or "the first build is not done")
    local = now.astimezone(IST)
    owed = newest.day < local.date() and _past(BUILD_FROM, local) and build_day(calendar, local.date())
    if not owed or not _past(PREVIOUS_UNTIL, local):
        return Standing(published_today=True)
    why = "today's build is not done" if building or failure is None else f"today's build failed: {failure}"
    return Standing(published_today=False, reason=f"the newest mapping is of {newest.day}, and {why}")


def _at(moment: time, local: datetime) -> datetime:
    return datetime.combine(local.date(), moment, IST)


def _past(moment: time, local: datetime) -> bool:
    return local >= _at(moment, local)


def seconds_to_next_look(now: datetime) -> float:
    """Return the seconds to the next moment at which the answers above can change by themselves: 08:30, 09:00, midnight."""
    local = now.astimezone(IST)
    midnight = datetime.combine(local.date() + timedelta(days=1), time(0), IST)
    moments = (_at(moment, local) for moment in (BUILD_FROM, PREVIOUS_UNTIL))
    return (min((moment for moment in moments if moment > local), default=midnight) - local).total_seconds()


def retry_seconds(failures: int, most_seconds: float) -> float:
    """Return the wait after n builds in a row that failed or lost a broker."""
    return float(min(FIRST_RETRY_SECONDS * 2.0 ** min(failures - 1, 10), most_seconds))


def losses(built: BuildReport, mapped: BuildReport) -> dict[str, str]:
    """Return the brokers and single files that `mapped` holds and `built` would not, each with the reason.

    If `mapped` holds nothing of a broker, whatever the broker now gives is a gain, whichever of its files are missing.
    """
    lost = {code: why for code, why in built.lost.items() if code not in mapped.lost}
    for code, missing in built.missing.items():
        held = mapped.missing.get(code, {})
        if code not in mapped.lost:
            lost.update({f"{code} {name}": why for name, why in missing.items() if name not in held})
    return lost


def mark_shrunk(built: BuildReport, before: Iterable[BuildReport]) -> None:
    """Note in `built` which segments hold far fewer listings than when the broker was last mapped; `before` is newest first."""
    unseen = {code: broker for code, broker in built.brokers.items() if broker.error is None}
    for report in before:
        if not unseen:
            return
        for code in [code for code in unseen if report.brokers.get(code, BrokerReport()).rows]:
            broker, old = unseen.pop(code), report.brokers[code].segments
            broker.shrunk = {
                name: count for name, count in old.items() if broker.segments.get(name, 0) < count * SHRUNK
            }
