"""Reference documents (rules 1.2.6, 1.4.3): users with the brokers' own profiles, brokers, exchanges. Published bytes."""

from typing import Any, Literal

from quart import Request
from quart.wrappers import Response

from onebroker.actors.reference.state import collection_body, user_body
from onebroker.actors.store import keys
from onebroker.config.messages import reference as sentences
from onebroker.http import render
from onebroker.http.route import Answer, Route
from onebroker.http.services import Services


async def users(request: Request, services: Services) -> Response:
    return render.encoded(user_body(services.reference.value))


async def brokers(request: Request, services: Services) -> Response:
    return render.encoded(collection_body(services.reference.value, "brokers"))


async def exchanges(request: Request, services: Services) -> Response:
    return render.encoded(collection_body(services.reference.value, "exchanges"))


def _object(required: tuple[str, ...], **properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(of: dict[str, object]) -> dict[str, object]:
    return {"type": "array", "items": of}


_TEXT: dict[str, object] = {"type": "string"}
_DAY: dict[str, object] = {"type": "string", "format": "date"}
_TIME: dict[str, object] = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
_CALENDAR: dict[str, object] = {"type": "string", "enum": ["equity", "currency", "commodity"]}
_CLOSED: dict[str, object] = {"type": "string", "enum": ["all", "morning", "evening"]}

_HOURS = _object(
    ("sessions",),
    sessions=_list(
        _object(
            ("name", "opens", "closes"), name=_TEXT, opens=_TIME, closes=_TIME, closes_during_us_standard_time=_TIME
        )
    ),
    pre_open=_object(("opens", "closes"), opens=_TIME, closes=_TIME),
)
_HOLIDAYS = _list(_object(("date", "closed", "name"), date=_DAY, closed=_CLOSED, name=_TEXT))

_USERS = _object(
    ("user_details", "broker_profiles"),
    user_details=_list({"type": "object"}),
    broker_profiles={"type": ["object", "null"], "additionalProperties": {"type": ["object", "null"]}},
)
_BROKERS = _list(_object(("broker_name", "name"), broker_name=_TEXT, name=_TEXT))
_EXCHANGES = _list(
    _object(
        (
            "exchange", "short_name", "trading_hours", "holidays", "special_sessions", "calendar_years",
            "calendar_copied_at",
        ),
        exchange={"type": "string", "enum": ["nse", "bse", "mcx", "ncdex"]},
        short_name=_TEXT,
        trading_hours={
            **_object(("timezone",), timezone={"const": "Asia/Kolkata"}, equity=_HOURS, currency=_HOURS, commodity=_HOURS)
        },
        holidays=_object((), equity=_HOLIDAYS, currency=_HOLIDAYS, commodity=_HOLIDAYS),
        special_sessions=_list(
            _object(
                ("date", "name", "calendars", "opens", "closes"),
                date=_DAY, name=_TEXT, calendars=_list(_CALENDAR), opens=_TIME, closes=_TIME,
            )
        ),
        calendar_years=_list({"type": "integer"}),
        calendar_copied_at=_TEXT,
    )
)  # fmt: skip

_USERS_EXAMPLE = {
    "user_details": [{"name": "A. Trader", "email": "trader@example.com"}],
    "broker_profiles": {"zerodha": {"user_id": "AB1234"}, "upstox": None},
}
_BROKERS_EXAMPLE = [{"broker_name": "zerodha", "name": "Zerodha", "support_email": "support@example.com"}]
_EXCHANGES_EXAMPLE = [
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


def _not_served(collection: Literal["users", "brokers", "exchanges"]) -> tuple[Answer, Answer]:
    return (
        Answer(status=404, doc=sentences.NOT_FOUND[collection]),
        Answer(status=503, doc=sentences.unreadable(collection, keys.reference(collection))),
    )


def _success(doc: str, schema: dict[str, Any], example: object) -> Answer:
    return Answer(status=200, doc=doc, schema=schema, example=example)


ROUTES = (
    Route(
        method="GET",
        path="/api/users/details",
        handler=users,
        tag="reference",
        summary="The imported user documents, and what each broker says of its account holder",
        answers=(
            _success(
                "`{user_details, broker_profiles}`; documents as imported without `_id`; profiles by broker code, null for"
                " a broker that has given none, null as a whole when none is available",
                _USERS,
                _USERS_EXAMPLE,
            ),
            *_not_served("users"),
        ),
    ),
    Route(
        method="GET",
        path="/api/brokers/details",
        handler=brokers,
        tag="reference",
        summary="The imported broker documents",
        answers=(
            _success("An array; further fields as imported", _BROKERS, _BROKERS_EXAMPLE),
            *_not_served("brokers"),
        ),
    ),
    Route(
        method="GET",
        path="/api/exchanges/details",
        handler=exchanges,
        tag="reference",
        summary="The imported exchange documents: trading hours, holidays, special sessions",
        answers=(
            _success("An array; further fields as imported", _EXCHANGES, _EXCHANGES_EXAMPLE),
            *_not_served("exchanges"),
        ),
    ),
)
