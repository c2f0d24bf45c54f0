"""Fields that all order requests share: true or false, the broker's code, ids. Pure; raises Refusal 400. A JSON null counts as absent."""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal

_TAG = re.compile(r"[A-Za-z0-9]{1,20}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def flag(body: Mapping[str, Any], name: str) -> bool:
    """Return a JSON boolean, false when absent; texts and numbers are refused."""
    value = body.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Refusal(400, texts.true_or_false(name))
    return value


def broker(value: object, brokers: tuple[str, ...]) -> str | None:
    """Return a broker code that is in `brokers`, matched in any case; None when absent."""
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


def tag(value: object) -> str:
    """Return a caller's tag."""
    if not isinstance(value, str) or _TAG.fullmatch(value) is None:
        raise Refusal(400, texts.TAG)
    return value


def dry_run(body: Mapping[str, Any]) -> bool:
    """Return whether the body asks to send nothing."""
    check_dry_run(body)
    return flag(body, "dry_run")


def check_dry_run(body: Mapping[str, Any]) -> None:
    """Refuse a null: it would send an order that the caller may have meant to try out."""
    if body.get("dry_run", False) is None:
        raise Refusal(400, texts.true_or_false("dry_run"))
