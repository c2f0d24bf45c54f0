"""opening_auction: a limit for the pre-open session (order-engine 3.32)."""

from datetime import datetime, time, timedelta
from enum import StrEnum

import attrs

from onebroker.actors.engine.plan.parts import AppliesTo, Lifetime, OnEnd, Part, TimeOfDay
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import Rule, Unfit, time_of_day, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import LIMIT_ONLY, Preset, Refs
from onebroker.actors.engine.presets.settings import Reading, RuleOfOrder, setting
from onebroker.config.calendars import MOST_DAYS_SEARCHED, Session
from onebroker.config.clock import IST
from onebroker.config.messages import presets_entries as texts

AUCTIONED = ("equities", "exchange_traded_funds", "investment_trusts", "equity_futures", "equity_index_futures")
AFTER_THE_OPENING = timedelta(seconds=5)
"""How long after the pre-open the unfilled rest is handled: the market has begun by then."""


class Unfilled(StrEnum):
    """What happens to the rest that the auction left unfilled."""

    KEEP = "keep"
    """The exchange carries it to the normal market."""
    CANCEL = "cancel"
    MARKETABLE = "marketable"


_ENDS = {Unfilled.CANCEL: OnEnd.CANCEL, Unfilled.MARKETABLE: OnEnd.MARKETABLE}


def _window(reading: Reading) -> tuple[time, time]:
    return reading.body.world.settings.pre_open_send_window


def _within_window(reading: Reading) -> Rule[time]:
    first, last = _window(reading)

    def in_window(value: object, name: str) -> time:
        found = time_of_day(value, name)
        if not first <= found <= last:
            raise Unfit(texts.time_between(name, f"{first:%H:%M}", f"{last:%H:%M}"))
        return found

    return in_window


@attrs.frozen(kw_only=True)
class Settings:
    at_time: time = setting(
        RuleOfOrder(time_of_day.accepts, _within_window), default_of=lambda reading: _window(reading)[0]
    )
    unfilled: Unfilled = setting(word_of(Unfilled), default=Unfilled.KEEP)


def check(_: Settings, __: Fields, body: Body) -> None:
    _next_pre_open(body)


def _next_pre_open(body: Body) -> Session:
    """Return the pre-open that the order is for: today's until its window for sending has passed, else that of the next trading day."""
    last = body.world.settings.pre_open_send_window[1]
    if body.segment in AUCTIONED:
        for ahead in range(MOST_DAYS_SEARCHED):
            day = body.now.date() + timedelta(days=ahead)
            found = body.world.pre_open(body.instrument, day)
            if found is not None and body.now <= datetime.combine(day, last, IST):
                return found
    raise body.refusal(texts.NO_PRE_OPEN)


def tree(settings: Settings, body: Body, path: str) -> Part:
    pre_open = _next_pre_open(body)
    day = pre_open.opens.date()
    at = max(pre_open.opens, datetime.combine(day, settings.at_time, IST))
    when = None if at <= body.now else TimeOfDay(at.time(), day.isoformat())
    return order(body, path, body_price(body), when=when, lifetime=_lifetime(settings, pre_open))


def _lifetime(settings: Settings, pre_open: Session) -> Lifetime | None:
    if settings.unfilled is Unfilled.KEEP:
        return None
    at = (pre_open.closes + AFTER_THE_OPENING).time()
    return Lifetime(at_time=at, applies_to=AppliesTo.WORKING, on_end=_ENDS[settings.unfilled])


PRESET = Preset(
    name="opening_auction",
    title="limit for the pre-open session",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=LIMIT_ONLY,
    references=Refs.SCHEDULED,
    any_day=True,
)
