"""Problems with what is known of the markets: the list of instruments and day candles."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.history import daily_schedule
from onebroker.actors.history.daily_loader import CollectorView, MarketView
from onebroker.config.calendars import Calendar

FIRST_LIST_SECONDS = 10.0
"""Time for the list of instruments that the last run has left."""
OVERDUE_SECONDS = 3600.0
"""Day candles that are loaded within this time are not overdue."""


def catalogue_lacks(state: CatalogueState, live: Collection[str], uptime: float) -> Iterator[Problem]:
    """Yield what the list of instruments lacks. `live`: codes of the brokers with a login; `uptime` in seconds."""
    do = "onebroker instruments sync"
    if not state.published_today and uptime >= FIRST_LIST_SECONDS:
        lacks = "there is no list of instruments" if state.latest is None else "no new orders are taken"
        yield Problem(kind=ProblemKind.CATALOGUE, what=f"{lacks}: {state.reason}", do=do)
    if state.trouble is not None:
        yield Problem(
            kind=ProblemKind.CATALOGUE,
            subject="build",
            what=f"the last build of the list of instruments failed: {state.trouble}",
            do=f"nothing: it is tried again; {do} tries at once",
        )
    for code in live:
        lost = state.lost.get(code)
        missing = (
            [f"{code}: {lost}"] if lost else [f"{name}: {why}" for name, why in state.missing.get(code, {}).items()]
        )
        if missing:
            yield Problem(
                kind=ProblemKind.CATALOGUE,
                broker=code,
                subject="files",
                what=f"instruments of {code} are missing in the list: {'; '.join(missing)}",
                do=f"nothing: its files are fetched again; {do} fetches them at once",
            )


def candles_overdue(view: CollectorView, calendar: Calendar, now: datetime, uptime: float) -> Iterator[Problem]:
    """Yield the markets whose day candles are overdue, although they could have been loaded. `uptime` in seconds."""
    if uptime < OVERDUE_SECONDS:
        return
    names: Mapping[str, tuple[str, str]] = {daily_schedule.market_name(market): market for market in calendar.markets()}
    for name, loaded in view.markets.items():
        if name in names and name != view.loading and _is_overdue(loaded, now):
            if loaded.trouble is None and not daily_schedule.may_load(calendar, names[name], now):
                continue
            until = "none was ever loaded" if loaded.last_day is None else f"they are there until {loaded.last_day}"
            yield Problem(
                kind=ProblemKind.CANDLES,
                subject=name,
                what=f"day candles of {name} are overdue, {until}: {loaded.trouble or 'the load has not begun'}",
                do="nothing: the load is tried again; `onebroker history backfill` reads the days from your brokers at once",
                since=loaded.next_due,
            )


def _is_overdue(loaded: MarketView, now: datetime) -> bool:
    return loaded.next_due is not None and now.timestamp() - loaded.next_due >= OVERDUE_SECONDS
