"""The exchange documents that come with onebroker: nse, bse, mcx, ncdex, years 2025 and 2026 (rules 1.2.6, 1.4.3).

The calendar follows them until documents are imported (`onebroker import exchanges FILE`); the demo serves them. The hours are
the hours of rules 1.4.3. The days were collected on 2026-08-22, so a holiday declared later is missing. They have not been
compared with the exchanges' circulars again since. No day is beyond doubt:

| Year | Calendar | Where the days come from | How certain |
|---|---|---|---|
| 2026 | equity, currency | circulars of NSE and BSE of December 2025, changed in January 2026 (15 January, elections) | high |
| 2026 | commodity of bse | BSE's circular of 15 December 2025; 15 January from an NSE circular | high |
| 2026 | commodity of nse, mcx | assumed equal to bse's; NSE's circular seen abridged only, MCX's published list agrees | good |
| 2025 | equity | lists as brokers published them; no circular was seen | good |
| 2025 | currency | the same; that the holiday of 5 September moved to the 8th was not checked against a circular either | fair |
| 2025 | commodity | the same; one broker's page of MCX's holidays, read again on 2026-11-22, agrees in every day and part | good |
| both | ncdex | brokers' notices: both sessions closed on every listed holiday but 1 January; no circular was seen | low |

Special sessions: Muhurat of 21 October 2025, Union Budget of 1 February 2025 (Saturday) and 2026 (Sunday); general knowledge,
unchecked against a circular. Muhurat 2026 was announced for Sunday 8 November. Its hours were not published when this was
written, so it is not here. No special session of ncdex is known.

The exchanges publish the holidays of 2027 in December 2026. Until then 2027 is not among the known years. Its holidays that fall
on a weekday and are certain without a list stand in `certain_holidays`, so that these days are closed: 26 January, Good Friday
(two days before Easter Sunday, 28 March 2027) and 14 April. 1 May, 15 August, 2 October and 25 December fall on weekends.
"""

from collections.abc import Iterable
from typing import Any

CALENDAR_YEARS = (2025, 2026)
CALENDAR_COPIED_AT = "2026-08-22T00:00:00+05:30"

_Day = tuple[str, str]
_Part = tuple[str, str, str]

_EQUITY: tuple[_Day, ...] = (
    ("2025-02-26", "Mahashivratri"),
    ("2025-03-14", "Holi"),
    ("2025-03-31", "Id-Ul-Fitr"),
    ("2025-04-10", "Shri Mahavir Jayanti"),
    ("2025-04-14", "Dr. Baba Saheb Ambedkar Jayanti"),
    ("2025-04-18", "Good Friday"),
    ("2025-05-01", "Maharashtra Day"),
    ("2025-08-15", "Independence Day"),
    ("2025-08-27", "Ganesh Chaturthi"),
    ("2025-10-02", "Mahatma Gandhi Jayanti"),
    ("2025-10-21", "Diwali Laxmi Pujan"),
    ("2025-10-22", "Diwali Balipratipada"),
    ("2025-11-05", "Prakash Gurpurb Sri Guru Nanak Dev"),
    ("2025-12-25", "Christmas"),
    ("2026-01-15", "Municipal Corporation Elections in Maharashtra"),
    ("2026-01-26", "Republic Day"),
    ("2026-03-03", "Holi"),
    ("2026-03-26", "Shri Ram Navami"),
    ("2026-03-31", "Shri Mahavir Jayanti"),
    ("2026-04-03", "Good Friday"),
    ("2026-04-14", "Dr. Baba Saheb Ambedkar Jayanti"),
    ("2026-05-01", "Maharashtra Day"),
    ("2026-05-28", "Bakri Id"),
    ("2026-06-26", "Muharram"),
    ("2026-09-14", "Ganesh Chaturthi"),
    ("2026-10-02", "Mahatma Gandhi Jayanti"),
    ("2026-10-20", "Dussehra"),
    ("2026-11-10", "Diwali Balipratipada"),
    ("2026-11-24", "Prakash Gurpurb Sri Guru Nanak Dev"),
    ("2026-12-25", "Christmas"),
)

_CURRENCY_ONLY: tuple[_Day, ...] = (
    ("2025-02-19", "Chhatrapati Shivaji Maharaj Jayanti"),
    ("2025-04-01", "Annual Bank Closing"),
    ("2025-05-12", "Buddha Pournima"),
    ("2025-09-08", "Id-E-Milad"),
    ("2026-02-19", "Chhatrapati Shivaji Maharaj Jayanti"),
    ("2026-03-19", "Gudi Padwa"),
    ("2026-04-01", "Annual Bank Closing"),
    ("2026-08-26", "Id-E-Milad"),
)

_COMMODITY: tuple[_Part, ...] = (
    ("2025-01-01", "evening", "New Year Day"),
    ("2025-02-26", "morning", "Mahashivratri"),
    ("2025-03-14", "morning", "Holi"),
    ("2025-03-31", "morning", "Id-Ul-Fitr"),
    ("2025-04-10", "morning", "Shri Mahavir Jayanti"),
    ("2025-04-14", "morning", "Dr. Baba Saheb Ambedkar Jayanti"),
    ("2025-04-18", "all", "Good Friday"),
    ("2025-05-01", "morning", "Maharashtra Day"),
    ("2025-08-15", "all", "Independence Day"),
    ("2025-08-27", "morning", "Ganesh Chaturthi"),
    ("2025-10-02", "all", "Mahatma Gandhi Jayanti"),
    ("2025-10-21", "all", "Diwali Laxmi Pujan"),
    ("2025-10-22", "morning", "Diwali Balipratipada"),
    ("2025-11-05", "morning", "Prakash Gurpurb Sri Guru Nanak Dev"),
    ("2025-12-25", "all", "Christmas"),
    ("2026-01-01", "evening", "New Year Day"),
    ("2026-01-15", "morning", "Municipal Corporation Elections in Maharashtra"),
    ("2026-01-26", "all", "Republic Day"),
    ("2026-03-03", "morning", "Holi"),
    ("2026-03-26", "morning", "Shri Ram Navami"),
    ("2026-03-31", "morning", "Shri Mahavir Jayanti"),
    ("2026-04-03", "all", "Good Friday"),
    ("2026-04-14", "morning", "Dr. Baba Saheb Ambedkar Jayanti"),
    ("2026-05-01", "morning", "Maharashtra Day"),
    ("2026-05-28", "morning", "Bakri Id"),
    ("2026-06-26", "morning", "Muharram"),
    ("2026-09-14", "morning", "Ganesh Chaturthi"),
    ("2026-10-02", "all", "Mahatma Gandhi Jayanti"),
    ("2026-10-20", "morning", "Dussehra"),
    ("2026-11-10", "morning", "Diwali Balipratipada"),
    ("2026-11-24", "morning", "Prakash Gurpurb Sri Guru Nanak Dev"),
    ("2026-12-25", "all", "Christmas"),
)

_CERTAIN: tuple[_Part, ...] = (
    ("2027-01-26", "all", "Republic Day"),
    ("2027-03-26", "all", "Good Friday"),
    ("2027-04-14", "morning", "Dr. Baba Saheb Ambedkar Jayanti"),
)
"""As the commodity calendar has them: in the other calendars they are closed all day."""

_SPECIAL: tuple[tuple[str, str, str, str, str], ...] = (
    ("2025-02-01", "Union Budget", "equity", "09:15", "15:30"),
    ("2025-02-01", "Union Budget", "commodity", "09:00", "17:00"),
    ("2025-10-21", "Muhurat Trading", "equity currency commodity", "13:45", "14:45"),
    ("2026-02-01", "Union Budget", "equity", "09:15", "15:30"),
    ("2026-02-01", "Union Budget", "commodity", "09:00", "17:00"),
)


def exchange_documents() -> list[dict[str, Any]]:
    """Return the four documents, in the order nse, bse, mcx, ncdex; a fresh copy at each call."""
    return [
        _document(
            "nse", "NSE", "National Stock Exchange of India",
            _bourse_hours(), _bourse_holidays(), _specials(), _bourse_certain(),
        ),
        _document(
            "bse", "BSE", "BSE (Bombay Stock Exchange)",
            _bourse_hours(), _bourse_holidays(), _specials(), _bourse_certain(),
        ),
        _document(
            "mcx", "MCX", "Multi Commodity Exchange of India",
            {"commodity": _commodity_hours()}, {"commodity": _holidays(_COMMODITY)}, _specials("commodity"),
            {"commodity": _holidays(_CERTAIN)},
        ),
        _document(
            "ncdex", "NCDEX", "National Commodity and Derivatives Exchange",
            {"commodity": _agricultural_hours()}, {"commodity": _holidays(_all_day(_COMMODITY))}, [],
            {"commodity": _holidays(_all_day(_CERTAIN))},
        ),
    ]  # fmt: skip


def _document(
    exchange: str,
    short_name: str,
    name: str,
    hours: dict[str, Any],
    holidays: dict[str, Any],
    special_sessions: list[dict[str, Any]],
    certain_holidays: dict[str, Any],
) -> dict[str, Any]:
    return {
        "exchange": exchange,
        "short_name": short_name,
        "name": name,
        "trading_hours": {"timezone": "Asia/Kolkata", **hours},
        "holidays": holidays,
        "special_sessions": special_sessions,
        "certain_holidays": certain_holidays,
        "calendar_years": list(CALENDAR_YEARS),
        "calendar_copied_at": CALENDAR_COPIED_AT,
    }


def _bourse_hours() -> dict[str, Any]:
    return {
        "equity": {
            "sessions": [{"name": "normal", "opens": "09:15", "closes": "15:30"}],
            "pre_open": {"opens": "09:00", "closes": "09:15"},
        },
        "currency": {"sessions": [{"name": "normal", "opens": "09:00", "closes": "17:00"}]},
        "commodity": _commodity_hours(),
    }


def _commodity_hours() -> dict[str, Any]:
    evening = {"name": "evening", "opens": "17:00", "closes": "23:30", "closes_during_us_standard_time": "23:55"}
    return {"sessions": [{"name": "morning", "opens": "09:00", "closes": "17:00"}, evening]}


def _agricultural_hours() -> dict[str, Any]:
    evening = {"name": "evening", "opens": "17:00", "closes": "21:00"}
    return {"sessions": [{"name": "morning", "opens": "10:00", "closes": "17:00"}, evening]}


def _bourse_holidays() -> dict[str, Any]:
    currency = sorted((*_EQUITY, *_CURRENCY_ONLY))
    return {
        "equity": _holidays((day, "all", name) for day, name in _EQUITY),
        "currency": _holidays((day, "all", name) for day, name in currency),
        "commodity": _holidays(_COMMODITY),
    }


def _bourse_certain() -> dict[str, Any]:
    whole = _holidays(_all_day(_CERTAIN))
    return {"equity": whole, "currency": [*whole], "commodity": _holidays(_CERTAIN)}


def _all_day(days: Iterable[_Part]) -> list[_Part]:
    return [(day, "all" if closed == "morning" else closed, name) for day, closed, name in days]


def _holidays(days: Iterable[_Part]) -> list[dict[str, str]]:
    return [{"date": day, "closed": closed, "name": name} for day, closed, name in days]


def _specials(*calendars: str) -> list[dict[str, Any]]:
    """Return the special sessions of `calendars` (none given = of all). Each row names only those calendars."""
    rows = [
        {
            "date": day,
            "name": name,
            "calendars": [calendar for calendar in traded.split() if not calendars or calendar in calendars],
            "opens": opens,
            "closes": closes,
        }
        for day, name, traded, opens, closes in _SPECIAL
    ]
    return [row for row in rows if row["calendars"]]
