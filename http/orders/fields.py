"""Fields that every order route reads the same way: the broker code, the dry-run flag, ids. Pure; raises Refusal 400.

A JSON null counts as absent, in every field but `dry_run`: who writes one meant to say something.
"""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http import parse
from onebroker.http.route import Parameter

DRY_RUN = Parameter(
    name="dry_run",
    place="query",
    kind="boolean",
    doc="Build the request and send nothing; also in a JSON body, which wins.",
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def flag(body: Mapping[str, Any], name: str) -> bool:
    """Return a JSON boolean, false when absent; texts and numbers are none."""
    value = body.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Refusal(400, texts.true_or_false(name))
    return value


def dry_run(body: Mapping[str, Any], args: Mapping[str, str]) -> bool:
    """Return the flag of the body, or else of the query (true, false, 1, 0, yes, no). Rules 2.4.4, 2.4.5: the body wins."""
    if DRY_RUN.name in body:
        check_dry_run(body)
        return flag(body, DRY_RUN.name)
    return parse.flag(args, DRY_RUN) or False


def check_dry_run(body: Mapping[str, Any]) -> None:
    """Refuse (400) a null: it would send what its writer may have meant to try out."""
    if body.get(DRY_RUN.name, False) is None:
        raise Refusal(400, texts.true_or_false(DRY_RUN.name))


def broker(value: object, brokers: tuple[str, ...]) -> str | None:
    """Return a broker code out of `brokers`, matched in any case; None when absent."""
    if value is None:
        return None
    code = value.strip().lower() if isinstance(value, str) else ""
    if code not in brokers:
        raise Refusal(400, texts.must_be_one_of("broker", brokers))
    return code


def uuid_text(value: object, sentence: str) -> str:
    """Return a UUID in its lower-case form with hyphens; anything else is refused with `sentence`."""
    text = value.strip() if isinstance(value, str) else ""
    if _UUID.fullmatch(text) is None:
        raise Refusal(400, sentence)
    return str(uuid.UUID(text))
