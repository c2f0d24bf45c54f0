"""Turns text and bytes of a request into typed values; raises Refusal 400 for what is wrong.

A `Parameter` of the route's row names what is read, so that the document and the reader cannot differ. The sentences
are those of rules 1.7.3. A section with its own words (rules 2.4.1) has its own reader next to its routes.
"""

import re
from collections.abc import Mapping
from datetime import date
from typing import cast

from quart import Request

from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http.bodies import long_body_in, unique_keys
from onebroker.http.route import Parameter

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MOST_DIGITS = 18
"""More digits than any quantity has. A longer number counts as this many nines, which every bound refuses."""


# Query parameters. An absent parameter gives None, and so does blank text; a blank number, flag or date is malformed.


def refuse_repeats(request: Request, *parameters: Parameter) -> None:
    """Refuse with `<name> must be given once`: the service does not choose between two values."""
    repeated = next((parameter.name for parameter in parameters if len(request.args.getlist(parameter.name)) > 1), None)
    if repeated is not None:
        raise Refusal(400, shared.must_be_given_once(repeated))


def text(args: Mapping[str, str], parameter: Parameter) -> str | None:
    """Return the text without blanks around it; None if nothing remains."""
    return args.get(parameter.name, "").strip() or None


def required_text(args: Mapping[str, str], parameter: Parameter) -> str:
    """Like `text`; refuses with `<name> is required`."""
    value = text(args, parameter)
    if value is None:
        raise Refusal(400, shared.is_required(parameter.name))
    return value


def whole_number(args: Mapping[str, str], parameter: Parameter) -> int | None:
    """Return the number; it must lie within the parameter's bounds if the parameter has both."""
    raw = args.get(parameter.name)
    if raw is None:
        return None
    if _WHOLE_NUMBER.fullmatch(raw.strip()) is None:
        raise Refusal(400, shared.must_be_whole_number(parameter.name))
    number = _bounded_int(raw.strip())
    minimum, maximum = parameter.minimum, parameter.maximum
    if minimum is not None and maximum is not None and not minimum <= number <= maximum:
        raise Refusal(400, shared.must_be_between(parameter.name, minimum, maximum))
    return number


def flag(args: Mapping[str, str], parameter: Parameter) -> bool | None:
    """Return true, false, 1, 0, yes or no, in any case, as a bool."""
    raw = args.get(parameter.name)
    if raw is None:
        return None
    value = _FLAGS.get(raw.strip().lower())
    if value is None:
        raise Refusal(400, shared.must_be_true_or_false(parameter.name))
    return value


def day(args: Mapping[str, str], parameter: Parameter) -> date | None:
    """Return a `YYYY-MM-DD` date."""
    raw = args.get(parameter.name)
    if raw is None:
        return None
    try:
        if _DATE.fullmatch(raw.strip()) is None:
            raise ValueError
        return date.fromisoformat(raw.strip())
    except ValueError:
        raise Refusal(400, shared.must_be_date(parameter.name)) from None


def _bounded_int(digits: str) -> int:
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-").lstrip("0") or "0"
    return sign * int(digits if len(digits) <= _MOST_DIGITS else "9" * _MOST_DIGITS)


# Bodies


async def body_object(request: Request, sentence: str) -> dict[str, object]:
    """Return the JSON object of a POST or PUT. Not `application/json`, not JSON or not an object: Refusal 400
    `sentence`.

    A key that is given twice is refused, at any depth. For a body above `long_body_in.AT_ONCE_BYTES` the framework answers
    its 413 page.
    """
    return _object(await json_text(request, sentence), sentence)


async def json_text(request: Request, sentence: str) -> bytes:
    """Return the body of a POST or PUT as it was sent. Not `application/json`: Refusal 400 `sentence`."""
    if request.mimetype != "application/json":
        raise Refusal(400, sentence)
    return cast("bytes", await request.get_data())


async def optional_body_object(request: Request, sentence: str) -> dict[str, object]:
    """Return the JSON object of a DELETE; empty if there is no body, whatever its Content-Type (architecture 10).

    Not JSON or not an object: Refusal 400 `sentence`. A key that is given twice is refused, at any depth.
    """
    raw = cast("bytes", await request.get_data())
    return _object(raw, sentence) if raw.strip() else {}


async def listed_body_object(request: Request, sentence: str, name: str) -> dict[str, object]:
    """Like `body_object`, for a body that may hold a long list `name`: such a body is decoded in pieces."""
    raw = await json_text(request, sentence)
    try:
        return _as_object(await long_body_in.decode(raw, name, unique_keys.decode), sentence)
    except unique_keys.RepeatedKey as error:
        raise Refusal(400, shared.must_be_given_once(error.name)) from None
    except (ValueError, RecursionError):  # malformed text, wrong UTF-8, nesting that is too deep
        raise Refusal(400, sentence) from None


def _object(raw: bytes, sentence: str) -> dict[str, object]:
    try:
        return _as_object(long_body_in.decode_at_once(raw, unique_keys.decode), sentence)
    except unique_keys.RepeatedKey as error:
        raise Refusal(400, shared.must_be_given_once(error.name)) from None
    except (ValueError, RecursionError):  # malformed text, wrong UTF-8, nesting that is too deep
        raise Refusal(400, sentence) from None


def _as_object(value: object, sentence: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise Refusal(400, sentence)
    return value
