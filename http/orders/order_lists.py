"""List forms of modify, cancel and parents: every entry is answered at its place, in the order of the list (rules 2.4.4-2.4.6).

asked = read_list(body, request.args, ROUTE)
return await answer_list(asked.items, one)
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import trio
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.config.messages import order_changes as change_texts
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http import refusals, render
from onebroker.http.bodies import body_keys
from onebroker.http.orders.dry_run_flag import DRY_RUN, read_dry_run
from onebroker.http.route import Route

ORDERS, PARENTS = "orders", "parents"
_REFUSED = tuple(refusals.REFUSALS)


@attrs.frozen
class AskedList:
    items: list[Any]
    """As they were sent; not empty."""
    dry_run: bool
    """For all items."""


One: TypeAlias = Callable[[Any, Callable[[], None]], Awaitable[EngineAnswer]]
"""Takes an item, and a function to call once the item is in the mailbox of the actor that works it. Returns the item's
answer; raises what the single form raises."""


@attrs.frozen
class _Sentences:
    no_list: str
    beside: Callable[[str], str]
    dry_run: str


_SENTENCES = {
    ORDERS: _Sentences(texts.ORDERS_LIST, texts.inside_each_order, texts.DRY_RUN_OF_LIST),
    PARENTS: _Sentences(change_texts.PARENTS_LIST, change_texts.inside_each_parent, change_texts.DRY_RUN_OF_PARENTS),
}


def read_list(body: Mapping[str, Any], args: Mapping[str, str], route: Route) -> AskedList:
    """Return the list (ORDERS or PARENTS) from a body of `route`; `args` is the query (only dry_run). Raises Refusal 400."""
    name = route.list_form[0].name
    items, said = body[name], _SENTENCES[name]
    if not isinstance(items, list) or not items:
        raise Refusal(400, said.no_list)
    body_keys.check_beside(body, route, said.beside)
    if any(isinstance(item, dict) and DRY_RUN.name in item for item in items):
        raise Refusal(400, said.dry_run)
    return AskedList(items, read_dry_run(body, args))


async def answer_list(items: Sequence[Any], one: One) -> Response:
    """Work all items at the same time, handed over in list order, and return `{results}`. Always 200: each item has its own status."""
    entries: dict[int, EngineAnswer] = {}

    async def work(index: int, item: Any, begun: trio.Event) -> None:
        try:
            entries[index] = await one(item, begun.set)
        except _REFUSED as error:
            refusal = refusals.refusal_of(error)
            entries[index] = EngineAnswer(status=refusal.status, body=refusal.body())
        finally:
            begun.set()

    async with trio.open_nursery() as nursery:
        for index, item in enumerate(items):
            begun = trio.Event()
            nursery.start_soon(work, index, item, begun)
            await begun.wait()
    results = [
        {"request_index": index, "status": entries[index].status, "response": entries[index].body}
        for index in range(len(items))
    ]
    return render.json_answer({"results": results})
