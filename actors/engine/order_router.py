"""Routes what sessions show of orders to the parents that own them: first the rows, then that a read of the book has arrived."""

from collections.abc import Mapping

from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.messages import BooksFresh
from onebroker.actors.engine.ended_orders import EndedOrders
from onebroker.actors.engine.parents import Parents
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.engine.startup import begin_day, know
from onebroker.actors.sessions.session_view import PartlyRead
from onebroker.brokers.records import OrderRow


class OrderRouter:
    """The way from the brokers' books to the parents. Only the engine's actor starts it."""

    def __init__(self, context: EngineContext, parents: Parents, ended: EndedOrders) -> None:
        self._context = context
        self._parents = parents
        self._ended = ended

    async def route(self, code: str, handle: SessionHandle) -> None:
        """Tell parents the newest row of each of their orders at a broker, and of each read of its book. Runs until it is cancelled."""
        seen: Mapping[str, OrderRow] = {}
        fresh_told: float | None = None
        partly_told: PartlyRead | None = None
        version = -1
        while True:
            if version == handle.view.version:
                await handle.view.wait_newer(version)
            version = handle.view.version
            view = handle.view.value
            begin_day(self._context, session_day(self._context.clock))
            if view.orders is not seen:
                for order_id, row in view.orders.items():
                    if seen.get(order_id) is not row:
                        await self._route_row(code, row)
                seen = view.orders
            if view.orders_read_started is not None and view.orders_read_started != fresh_told:
                fresh_told = view.orders_read_started
                self._parents.tell_fresh(BooksFresh(broker=code, began=fresh_told, orders=view.orders))
            if view.orders_partly is not partly_told:
                partly_told = view.orders_partly
                if partly_told is not None:
                    began = partly_told.read_started
                    self._parents.tell_fresh(
                        BooksFresh(broker=code, began=began, orders=view.orders, partly=partly_told)
                    )

    async def _route_row(self, code: str, row: OrderRow) -> None:
        legs = self._context.legs
        await know(self._context, code, row)
        entry = legs.entry(code, row.order_id, row.tag)
        if entry is None:
            return
        legs.shown(entry, row.order_id)
        if not self._parents.tell_row(entry.parent_id, code, row):
            self._ended.tell_row(entry.parent_id, code, row)
