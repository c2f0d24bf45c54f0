"""The keys that a body or query of an order route may have: the keys of its row in the route table, and no others.
Pure.

A misspelt `dry_run` would place a live order, and a misspelt quantity another order. So an unknown key is refused, and
the refusal names the nearest known key. A null counts as absent (but not for `dry_run`: `intake/request_fields.py`).
"""

from collections.abc import Callable, Iterable, Mapping

from onebroker.config.converters import nearest
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http.route import Route

MOST_SHOWN = 64
"""Characters of an unknown key that a refusal repeats."""


def check_body(body: Mapping[str, object], route: Route, what: str) -> None:
    """Refuse (400) a key that the single form of `route` does not have; `what` names the request, such as `an order`."""
    known = {row.name for row in route.parameters if row.place == "body"}
    _check(body, known | {row.name for row in route.list_form[:1]}, lambda name: texts.takes_no(what, name))


def check_item(item: Mapping[str, object], route: Route, what: str) -> None:
    """Refuse (400) a key that an item of the list form of `route` does not have."""
    known = {row.name for row in route.parameters if row.place == "body"}
    _check(item, known - {row.name for row in route.list_form}, lambda name: texts.takes_no(what, name))


def check_beside(body: Mapping[str, object], route: Route, sentence: Callable[[str], str]) -> None:
    """Refuse (400, `sentence`) a key that must not stand next to the list of `route`. A null counts as absent if an item has its key."""
    beside = {row.name for row in route.list_form}
    inside = {row.name for row in route.parameters if row.place == "body"}
    for name, value in body.items():
        if name not in beside and not (name in inside and value is None):
            shown = name[:MOST_SHOWN]
            raise Refusal(400, sentence(shown) + ("" if name in inside else nearest(shown, beside)))


def check_query(args: Iterable[str], route: Route) -> None:
    """Refuse (400) a query parameter that `route` does not have."""
    _check(
        args,
        {row.name for row in route.parameters if row.place == "query"},
        lambda name: texts.takes_no("the query", name),
    )


def _check(given: Iterable[str], known: set[str], sentence: Callable[[str], str]) -> None:
    for name in given:
        if name not in known:
            raise Refusal(400, sentence(name[:MOST_SHOWN]) + nearest(name[:MOST_SHOWN], known))
