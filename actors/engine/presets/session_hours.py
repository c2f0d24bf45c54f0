"""The sessions of an instrument's day, against which a type's times are judged (order-engine 3.0, outside hours). Pure; raises Refusal 400."""

from datetime import datetime, time, timedelta
from decimal import Decimal

from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.presets.body import Body
from onebroker.config.calendars import MOST_DAYS_SEARCHED
from onebroker.config.clock import IST
from onebroker.config.messages import presets as texts


def close_of_today(body: Body) -> datetime | None:
    """Return when the instrument's last session of today closes; None when it does not trade today."""
    sessions = body.sessions()
    return sessions[-1].closes if sessions else None


def opening_of_today(body: Body) -> datetime | None:
    sessions = body.sessions()
    return sessions[0].opens if sessions else None


def start_of_work(body: Body) -> datetime:
    """Return when an order sent now begins: at once, or at the opening when the opening is still ahead."""
    opens = opening_of_today(body)
    return body.now if opens is None else max(body.now, opens)


def check_ends_before_close(fields: Fields, body: Body, name: str, minutes: Decimal) -> None:
    """Refuse an order that would take longer than the market is open (3.49)."""
    close = close_of_today(body)
    if close is None or body.now >= close:
        return  # closed: the market's own check refuses it
    try:
        ends = start_of_work(body) + timedelta(minutes=float(minutes))
    except OverflowError:
        ends = datetime.max.replace(tzinfo=IST)
    if ends > close:
        raise fields.refusal(texts.ends_after_close(name, close.strftime("%H:%M")))


def check_within_hours(fields: Fields, body: Body, name: str, at: time) -> None:
    """Refuse a time of day outside the instrument's sessions (several sessions of a day count as one). On a day without sessions, the market's own
    check decides."""
    sessions = body.sessions()
    if not sessions:
        return
    moment = datetime.combine(body.now.date(), at, IST)
    if not sessions[0].opens <= moment <= sessions[-1].closes:
        raise fields.refusal(texts.within_market_hours(name))


def check_within_next_hours(fields: Fields, body: Body, name: str, at: time) -> None:
    """Refuse a time of day outside the hours of the next day on which the instrument trades, for orders that live for days."""
    for number in range(MOST_DAYS_SEARCHED):
        day = body.now.date() + timedelta(days=number)
        sessions = body.sessions(day)
        if sessions:
            if not sessions[0].opens <= datetime.combine(day, at, IST) < sessions[-1].closes:
                raise fields.refusal(texts.within_market_hours(name))
            return


def check_minutes_before_close(fields: Fields, body: Body, name: str, minutes: Decimal) -> None:
    """Refuse minutes that, counted from now, end after the market has closed: then nothing could be closed any more."""
    close = close_of_today(body)
    if close is None or body.now >= close:
        return  # closed: the market's own check refuses it
    if minutes * 60 > Decimal((close - body.now).total_seconds()):
        raise fields.refusal(texts.ends_after_close(name, close.strftime("%H:%M")))
