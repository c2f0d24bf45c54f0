"""The order, parent or part that a change or a cancel names (rules 2.4.4-2.4.6). Pure; raises Refusal 400. A null counts as absent."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from onebroker.actors.engine.intake import request_fields
from onebroker.config.messages import order_changes as change_texts
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal

_ORDER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PART = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
_MOST_PART = 200


@attrs.frozen
class OrderNamed:
    order_id: str
    broker: str | None

    def shown(self) -> dict[str, Any]:
        return {"order_id": self.order_id}


@attrs.frozen
class ParentNamed:
    parent_id: str
    part: str | None

    def shown(self) -> dict[str, Any]:
        return {"parent_id": self.parent_id, **({} if self.part is None else {"part": self.part})}


Named: TypeAlias = OrderNamed | ParentNamed


def read_named(given: Mapping[str, Any], brokers: tuple[str, ...]) -> Named:
    """Return the order named by `order_id` and `broker`, or the parent named by `parent_id` and `part`."""
    if given.get("parent_id") is None:
        if given.get("part") is not None:
            raise Refusal(400, change_texts.PART_NEEDS_PARENT)
        return OrderNamed(read_order_id(given), request_fields.broker(given.get("broker"), brokers))
    if given.get("order_id") is not None:
        raise Refusal(400, texts.EITHER_ID)
    if given.get("broker") is not None:
        raise Refusal(400, texts.not_with_parent("broker"))
    return ParentNamed(request_fields.uuid_text(given["parent_id"], texts.PARENT_NAME), _part(given.get("part")))


def read_order_id(given: Mapping[str, Any]) -> str:
    """Return the order id; a JSON integer is accepted, a boolean is not."""
    value = given.get("order_id")
    if value is None or value == "":
        raise Refusal(400, texts.ORDER_ID_REQUIRED)
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or _ORDER_ID.fullmatch(text) is None:
        raise Refusal(400, texts.ORDER_ID_FORM)
    return text


def _part(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _MOST_PART or _PART.fullmatch(value) is None:
        raise Refusal(400, change_texts.PART_NAME)
    return value
