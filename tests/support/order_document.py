"""The order document of a day in one process, as `GET /api/orders/details` would send it."""

import contextlib

import trio

from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.document import DocumentActor
from onebroker.actors.portfolio.order_book import OrderBookAssembler


@contextlib.asynccontextmanager
async def order_document(day):
    """Keep the order document of a day's service; yields what reads its rows by order id."""
    published = Published(None)
    assembler = OrderBookAssembler(day.catalogue, day.legs)
    actor = DocumentActor(
        assembler=assembler, codes=tuple(day.codes), mailbox=day.documents["orders"], published=published,
        store=day.store, clock=day.clock,
    )  # fmt: skip
    async with trio.open_nursery() as nursery:
        await nursery.start(actor.run)
        yield lambda: {view.order_id: view for view in published.value.content.rows}
        nursery.cancel_scope.cancel()
