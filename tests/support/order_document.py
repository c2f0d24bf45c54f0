"""The order document of a day in one process, as `GET /api/orders/details` would send it."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, cast

import trio

from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.actor import DocumentActor
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.portfolio.order_book import OrderBookAssembler, OrderView

if TYPE_CHECKING:
    from tests.support.day import Day


@contextlib.asynccontextmanager
async def order_document(day: "Day") -> AsyncIterator[Callable[[], dict[str, OrderView]]]:
    """Keep the order document of a day's service; yields what reads its rows by order id."""
    published: Published[DocumentState | None] = Published(None)
    assembler = OrderBookAssembler(day.catalogue, day.legs)
    actor = DocumentActor(
        assembler=assembler, codes=tuple(day.codes), mailbox=day.documents["orders"], published=published,
        store=day.store, clock=day.clock,
    )  # fmt: skip

    def rows() -> dict[str, OrderView]:
        assert published.value is not None
        views = cast("tuple[OrderView, ...]", published.value.content.rows)
        return {view.order_id: view for view in views}

    async with trio.open_nursery() as nursery:
        await nursery.start(actor.run)
        yield rows
        nursery.cancel_scope.cancel()
