"""The envelope of ICICI Direct's answers, the incoming JSON bodies, and the broker's format for days, times and figures."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.rest import Refused, as_json

EXPIRED = "Resource not available."
WRONG_SESSION = "Invalid session."
WRONG_KEY = "Public Key does not exist."
NOTHING = "No Data Found"

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def success(content: object) -> WireResponse:
    return as_json(200, {"Success": content, "Status": 200, "Error": None})


def error(message: str, *, status: int = 500, http_status: int = 200) -> WireResponse:
    """Return a refusal. Most refusals are an HTTP 200 whose body says 500."""
    return as_json(http_status, {"Success": None, "Status": status, "Error": message})


def refused(message: str, *, status: int = 500, http_status: int = 200) -> Refused:
    return Refused(error(message, status=status, http_status=http_status))


def found(rows: Sequence[Row]) -> WireResponse:
    """Answer a list. An empty list comes in the form of an error, though it is none."""
    return success(rows) if rows else as_json(200, {"Success": None, "Status": 200, "Error": NOTHING})


def body_of(request: DialectRequest) -> dict[str, object]:
    """Return the JSON object that a call carries (GET and DELETE too). Raise `Refused` if there is none."""
    try:
        return msgspec.json.decode(request.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError) as failure:
        raise refused("Invalid request body", status=400, http_status=400) from failure


def word(body: Mapping[str, object], name: str) -> str:
    """Return a field as text, blank if it is absent."""
    value = body.get(name)
    return "" if value is None else str(value).strip()


def day_text(day: date) -> str:
    return f"{day.day:02d}-{_MONTHS[day.month - 1]}-{day.year}"


def day_of(text: str) -> date:
    """Read a day of a request: ISO with a time, or `27-Feb-2025`. Raises ValueError."""
    if text[:4].isdigit():
        return date.fromisoformat(text[:10])
    day, month, year = text.split("-")
    return date(int(year), 1 + _MONTHS.index(month.title()), int(day))


def minute_text(moment: datetime) -> str:
    return f"{day_text(moment.date())} {moment:%H:%M}"


def second_text(moment: datetime) -> str:
    return f"{day_text(moment.date())} {moment:%H:%M:%S}"


def figure(value: Decimal | None) -> str:
    """Write a price as the order book does: text with two decimals, or four if it needs them."""
    amount = value or Decimal(0)
    return f"{amount:.2f}" if amount == amount.quantize(Decimal("0.01")) else f"{amount:.4f}"
