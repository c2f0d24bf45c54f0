"""The list form of a place body (rules 2.4.2, 2.8): checks the list as a whole. Pure; raises Refusal 400."""

from collections.abc import Mapping
from typing import Any

import attrs

from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http.bodies import body_keys
from onebroker.http.orders.dry_run_flag import DRY_RUN, read_dry_run
from onebroker.http.route import Route

ORDERS = "orders"


@attrs.frozen
class PlaceList:
    items: list[Any]
    """As they were sent; not empty."""
    dry_run: bool
    """For all items."""


def check_list(body: Mapping[str, Any], args: Mapping[str, str], route: Route, *, maximum: int) -> PlaceList:
    """Check a body that has `orders`; `args` is the query (only dry_run), `maximum` is the most orders that the list may hold."""
    items = body[ORDERS]
    if not isinstance(items, list) or not items:
        raise Refusal(400, texts.ORDERS_LIST)
    if len(items) > maximum:
        raise Refusal(400, texts.list_too_long(maximum, len(items)))
    body_keys.check_beside(body, route, texts.inside_each_order)
    if any(isinstance(item, dict) and DRY_RUN.name in item for item in items):
        raise Refusal(400, texts.DRY_RUN_OF_LIST)
    return PlaceList(items, read_dry_run(body, args))
