"""Reference documents as they are served (rules 1.2.6, 1.4.3). Every document may have further fields, as imported."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.schema_marks import one_of
from onebroker.http.answers.shared import UNSET, DayText, Unset

TimeText: TypeAlias = Annotated[str, msgspec.Meta(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")]
CalendarName: TypeAlias = Literal["equity", "currency", "commodity"]


class UserDocuments(msgspec.Struct, kw_only=True):
    user_details: list[dict[str, Any]]
    """The imported documents, without `_id`."""
    broker_profiles: dict[str, dict[str, Any] | None] | None
    """Broker code -> the broker's own profile, null for a broker that has given none; null as a whole when none is available."""


class BrokerDocument(msgspec.Struct, kw_only=True):
    """A broker, as imported."""

    broker_name: str
    """Broker code."""
    name: str


class TradingSession(msgspec.Struct, kw_only=True):
    """A part of a trading day, in Indian time."""

    name: str
    opens: TimeText
    closes: TimeText
    closes_during_us_standard_time: TimeText | Unset = UNSET
    """The close while the United States are on standard time."""


class PreOpen(msgspec.Struct, kw_only=True):
    opens: TimeText
    closes: TimeText


class CalendarHours(msgspec.Struct, kw_only=True):
    sessions: list[TradingSession]
    pre_open: PreOpen | Unset = UNSET


class TradingHours(msgspec.Struct, kw_only=True):
    """The hours of each calendar that the exchange trades."""

    timezone: Literal["Asia/Kolkata"]
    equity: CalendarHours | Unset = UNSET
    currency: CalendarHours | Unset = UNSET
    commodity: CalendarHours | Unset = UNSET


class Holiday(msgspec.Struct, kw_only=True):
    date: DayText
    closed: Literal["all", "morning", "evening"]
    """Which session is closed; `morning` and `evening` on commodity calendars."""
    name: str


class Holidays(msgspec.Struct, kw_only=True):
    equity: list[Holiday] | Unset = UNSET
    currency: list[Holiday] | Unset = UNSET
    commodity: list[Holiday] | Unset = UNSET


class SpecialSession(msgspec.Struct, kw_only=True):
    """A session on a day that has none otherwise, or at another time."""

    date: DayText
    name: str
    calendars: list[CalendarName]
    opens: TimeText
    closes: TimeText


class ExchangeDocument(msgspec.Struct, kw_only=True):
    """An exchange, as imported."""

    exchange: Annotated[str, one_of([str(name) for name in TRADING_EXCHANGES])]
    short_name: str
    trading_hours: TradingHours
    holidays: Holidays
    special_sessions: list[SpecialSession]
    calendar_years: list[int]
    """The years whose holidays are known."""
    calendar_copied_at: str


OPEN = (
    BrokerDocument,
    ExchangeDocument,
    TradingSession,
    PreOpen,
    CalendarHours,
    TradingHours,
    Holiday,
    Holidays,
    SpecialSession,
)
"""Documents that may have further fields, as imported."""


# --- examples ---------------------------------------------------------------------------------------------------------------

USERS_EXAMPLE = {
    "user_details": [{"name": "A. Trader", "email": "trader@example.com"}],
    "broker_profiles": {"zerodha": {"user_id": "AB1234"}, "upstox": None},
}
BROKERS_EXAMPLE = [{"broker_name": "zerodha", "name": "Zerodha", "support_email": "support@example.com"}]
EXCHANGES_EXAMPLE = [
    {
        "exchange": "mcx",
        "short_name": "MCX",
        "trading_hours": {
            "timezone": "Asia/Kolkata",
            "commodity": {
                "sessions": [
                    {"name": "morning", "opens": "09:00", "closes": "17:00"},
                    {
                        "name": "evening",
                        "opens": "17:00",
                        "closes": "23:30",
                        "closes_during_us_standard_time": "23:55",
                    },
                ]
            },
        },
        "holidays": {"commodity": [{"date": "2026-01-26", "closed": "all", "name": "Republic Day"}]},
        "special_sessions": [
            {
                "date": "2026-02-01",
                "name": "Union Budget",
                "calendars": ["commodity"],
                "opens": "09:00",
                "closes": "17:00",
            }
        ],
        "calendar_years": [2026],
        "calendar_copied_at": "2026-08-22T00:00:00+05:30",
    }
]
