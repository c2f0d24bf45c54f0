"""Flatten: halt every parent, cancel every order, close every position, and check that it is done (rules 2.4.7; order-engine 5.7). A close is the
same within a scope (`scope.py`; rules 2.10.6): each list of this module is cut to it, and a flatten's scope cuts nothing.

`flat` is true only when the brokers show every order of ours that may be alive. An order that is not shown may still fill; its parent cancels it
when it appears. An order that a caller places meanwhile is his: it is left, and it is named. `flat` is also false while a broker has positions that cannot be read; its readable positions are closed meanwhile.

Positions are believed when they agree with the fills (`actors/engine/books/settled_positions.py`). They are read until they do, for five seconds. A
position that is still doubted then is closed by its fills, or by its row where the fills give nothing or the other side; `flat` is false, and the
answer names it with both figures. So a broker that shows its positions late is not called flat, and a repeated flatten closes nothing twice.

The orders are cancelled at once, with or without an engine. Halting and closing wait for an engine that starts or restarts.

Only one flatten runs at a time. A second one waits for the first to end and then does the rest, so a repeated request closes no position twice. If
a step is not complete, the answer says why, and the next step follows all the same.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import attrs
import trio

from onebroker.actors.engine.books.brokers_left_out import brokers_left_out
from onebroker.actors.engine.books.fresh_reads import Read, began, is_ok, read_soon
from onebroker.actors.engine.books.settled_positions import judged, read_settled
from onebroker.actors.engine.books.shown_positions import shown_lately
from onebroker.actors.engine.books.unlisted_positions import unlisted_tokens
from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.engine.context.messages import EndExits, EngineAnswer, HaltedParents, HaltParents, everything
from onebroker.actors.engine.context.position_days import Judged, RowKey
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.desk.cancels import send_cancel
from onebroker.actors.engine.desk.closed_positions import (
    POLL_SECONDS,
    doubted,
    lacking_trades,
    not_readable,
    wait_for_trades,
    wait_for_zero,
    without_trades,
)
from onebroker.actors.engine.desk.desk_context import MARGIN_SECONDS, DeskContext, Held
from onebroker.actors.engine.desk.flatten_closes import (
    Close,
    Closed,
    at_touch,
    close_all,
    closes_of,
    refused_for_price,
)
from onebroker.actors.engine.desk.messages import Flatten
from onebroker.actors.engine.desk.scope import Scope
from onebroker.actors.engine.intake.desk_fields import Limits
from onebroker.actors.engine.orders.intents import IntentKind
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.orders.part_state import Holding
from onebroker.actors.engine.placing.message_events import cancel_event
from onebroker.actors.engine.placing.send_once import Message
from onebroker.actors.engine.placing.unshown_orders import unshown
from onebroker.actors.engine.plan.machine.cleared_exits import Closing, ExitName
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.portfolio.position_view import position_product
from onebroker.actors.sessions.acknowledged_changes import cancelling
from onebroker.actors.sessions.messages import CapReached, LoginNeeded, RoomFull, Sent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import NotSendable, WireRequest
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.messages import instruments as instrument_texts
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome, is_finished

WAIT_SECONDS = 5.0
"""For the cancels to show, for fresh positions, and for closed positions to show zero; each wait separately."""
ENGINE_SECONDS = 40.0
"""How long a flatten waits, from its start, for an engine that is not there: another engine's lock is free after 30 s."""

OrderName = tuple[str, str]
"""Broker and order id."""


@attrs.frozen(kw_only=True)
class Cancelled:
    """The result of the cancel of one order."""

    broker: str
    order_id: str
    sent: bool
    outcome: Outcome | None
    """None when the cancel was not sent."""
    status_message: str | None

    def shown(self) -> dict[str, Any]:
        outcome = None if self.outcome is None else self.outcome.value
        return {**attrs.asdict(self), "outcome": outcome}


class Flattenings:
    """The flatten requests of a desk, and its closes within limits: one runs at a time."""

    def __init__(self, desk: DeskContext) -> None:
        self._desk = desk
        self._turn = trio.Lock()

    async def flatten(self, message: Flatten) -> EngineAnswer:
        """Flatten, or return what would be done. Raises Refusal 404 for an unknown instrument, and 503: then nothing was sent."""
        if message.dry_run:
            return await self._begin(message).dry_run()
        async with self._turn:
            return await self._begin(message).flatten()

    def _begin(self, message: Flatten) -> "Flattening":
        return Flattening(self._desk, message, scope_of(self._desk, message))


def scope_of(desk: DeskContext, message: Flatten) -> Scope:
    """Return what a message covers. Raises Refusal 404 when its instrument is not mapped, 503 when none has ever been."""
    limits = Limits() if message.limits is None else message.limits
    instrument = None
    if limits.instrument_id is not None:
        latest = desk.context.catalogue.value.latest
        if latest is None:
            raise Refusal(503, instrument_texts.NEVER_MAPPED)
        instrument = latest.instrument(limits.instrument_id)
        if instrument is None:
            raise Refusal(404, instrument_texts.not_mapped(limits.instrument_id, latest.mapping_date))
    return Scope(
        broker=limits.broker,
        instrument=instrument,
        may_hold={} if instrument is None else unlisted_tokens(desk.context, instrument.instrument_id),
        product=limits.product,
        tag=limits.tag,
        skip_covered=message.skip_covered,
    )


class Flattening:
    """One flatten, or one close within a scope."""

    def __init__(self, desk: DeskContext, message: Flatten, scope: Scope) -> None:
        self._desk = desk
        self._message = message
        self._scope = scope
        self._clock = desk.context.clock
        self._lacking: list[str] = []
        """`broker:position_key` of the positions of which a close by tag lacked trades."""
        self._known: set[OrderName] | None = None
        """All orders that the books showed when the cancels were done; None: they are not done."""

    async def dry_run(self) -> EngineAnswer:
        return self._dry_run(self._message, await self._left_out())

    async def flatten(self) -> EngineAnswer:
        return await self._flatten(self._message, await self._left_out())

    async def _left_out(self) -> list[str]:
        """Check that the store answers, and return the brokers that the settings leave out although something may be open there."""
        try:
            await self._desk.context.store.members(keys.OPEN_PARENTS)
            found = [code for code in await brokers_left_out(self._desk.context) if self._scope.broker in (None, code)]
        except StoreError as error:
            raise Refusal(503, shared.redis_unreadable(str(error))) from error
        self._desk.check_store({})
        return found

    def _dry_run(self, message: Flatten, left_out: Collection[str]) -> EngineAnswer:
        orders = [{"broker": code, "order_id": row.order_id, "status": row.status} for code, row in self._open_orders()]
        shown = self._shown_positions()
        closes = [close.shown() for close in closes_of(self._desk.context, shown, self._scope)]
        body = {
            "dry_run": True,
            **self._named(),
            "would_cancel": orders,
            "would_close": closes,
            "brokers_not_read": sorted({*self._not_read(), *left_out}),
            "positions_not_readable": not_readable(self._desk.context, shown),
            **doubted(self._desk.context, shown, self._scope),
            **without_trades(lacking_trades(self._desk.context, shown, self._scope)),
            "timing_ms": self._desk.timing(message.routed, None),
        }
        return EngineAnswer(status=200, body=body)

    async def _flatten(self, message: Flatten, left_out: Collection[str]) -> EngineAnswer:
        engine_until = self._clock.monotonic() + ENGINE_SECONDS
        done: dict[OrderName, Cancelled] = {}
        halted = await self._halt(done, engine_until)
        timing = self._desk.timing(message.routed, None)
        cancelled, not_read = await self._cancel_all(done)
        still_open = [f"{code}:{row.order_id}" for code, row in self._open_orders()]
        self._known = {
            (code, order_id) for code, handle in self._sessions().items() for order_id in handle.view.value.orders
        }
        not_shown = self._not_shown()
        closed, shown, read, open_positions = await self._close_all(engine_until)
        still_open += self._orders_since(closed, still_open)
        open_positions = sorted({*open_positions, *self._positions_since(closed)})
        whole = {code for code in read if shown[code].read.whole}
        not_read = sorted({*not_read, *(self._sessions().keys() - whole), *left_out})
        flat = (
            "error" not in halted
            and all(cancel.sent for cancel in cancelled)
            and not still_open
            and not not_shown
            and all(close.accepted for close in closed)
            and not open_positions
            and not not_read
            and not self._lacking
        )
        body = {
            **self._named(),
            "halted": halted,
            "cancelled": [cancel.shown() for cancel in cancelled],
            "still_open_after_waiting": still_open,
            "not_shown_after_waiting": not_shown,
            "closed": [close.shown() for close in closed],
            "positions_still_open_after_waiting": open_positions,
            "brokers_not_read": not_read,
            "positions_not_readable": not_readable(self._desk.context, shown),
            **doubted(self._desk.context, shown, self._scope),
            **without_trades(self._lacking),
            "flat": flat,
            "timing_ms": timing,
        }
        return EngineAnswer(status=200 if flat else 207, body=body)

    def _named(self) -> dict[str, Any]:
        """Return what the answer to a close says of its limits; nothing for a flatten."""
        limits = self._message.limits
        return {} if limits is None else {"closes": limits.shown()}

    def _sessions(self) -> Mapping[str, SessionHandle]:
        """Return the brokers that the scope covers."""
        return {code: handle for code, handle in self._desk.context.sessions.items() if self._scope.has_broker(code)}

    # --- step 1: the parents ----------------------------------------------------------------------------------------

    async def _halt(self, done: dict[OrderName, Cancelled], engine_until: float) -> dict[str, Any]:
        """Halt every open parent and return `halted` of the answer. Where no engine runs, orders are cancelled into `done` meanwhile; no cancel
        delays the halt."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._cancel_without_engine, done)
            halted = await self._ask_to_halt(engine_until)
            nursery.cancel_scope.cancel()
        return halted

    async def _ask_to_halt(self, engine_until: float) -> dict[str, Any]:
        """Ask the engine to halt its parents. If it ends before it has answered, ask the next engine: halting a halted parent does nothing."""
        desk = self._desk
        intent = desk.intent(IntentKind.HALT, {})
        wait_seconds = desk.context.settings.broker_timeout_seconds + 2 * MARGIN_SECONDS
        reach = everything if self._scope.is_whole else self._scope.reach
        asked = -1
        while await desk.engine_comes(engine_until, after=asked):
            asked = desk.status.version
            try:
                halted: HaltedParents = await desk.engine.ask(
                    lambda reply: HaltParents(intent=intent, reach=reach, reply=reply), wait_seconds
                )
                if halted.partly:
                    await self._end_exits(wait_seconds)
            except ActorNotRunning:
                continue
            except AskTimedOut:
                return {"error": texts.close_not_answered(wait_seconds), "intent_id": intent.intent_id}
            except StoreError as error:
                return {"error": shared.redis_unreadable(str(error))}
            answer: dict[str, Any] = {"halted_parents": halted.count}
            if not self._scope.is_whole:
                answer["partly"] = list(halted.partly)
            desk.keep_soon(intent, EngineAnswer(status=200, body=answer))
            return answer
        return {"error": order_texts.ENGINE_NOT_RUNNING}

    async def _end_exits(self, wait_seconds: float) -> None:
        """End the exits that wait for the positions which are about to be closed, in parents that go on. Raises ActorNotRunning, AskTimedOut.

        Not within the limit of a tag: the units of other tags keep their exits, and the parents of the tag itself are halted."""
        if self._scope.tag is not None:
            return
        closing = {
            Holding(close.broker, close.instrument.instrument_id, position_product(close.row.product))
            for close in closes_of(self._desk.context, self._shown_positions(), self._scope)
            if close.instrument is not None
        }
        everywhere = closes_of(self._desk.context, self._shown_positions())
        elsewhere = {
            (close.instrument.instrument_id, position_product(close.row.product))
            for close in everywhere
            if close.instrument is not None
            and Holding(close.broker, close.instrument.instrument_id, position_product(close.row.product))
            not in closing
        }
        about = Closing(holdings=frozenset(closing), elsewhere=frozenset(elsewhere))

        def ask(reply: Reply[frozenset[ExitName]]) -> EndExits:
            return EndExits(parent_id="", closing=about, reply=reply)

        await self._desk.engine.ask(ask, wait_seconds)

    async def _cancel_without_engine(self, done: dict[OrderName, Cancelled]) -> None:
        """Once no engine runs, cancel open orders repeatedly, without end. While an engine runs, its parents are halted first."""
        status = self._desk.status
        while self._desk.engine_runs:
            await status.wait_newer(status.version)
        while True:
            await self._cancel_new(done)
            self._read_orders_soon()
            await trio.sleep(POLL_SECONDS)

    # --- steps 2 and 3: the orders ----------------------------------------------------------------------------------

    async def _cancel_all(self, done: dict[OrderName, Cancelled]) -> tuple[list[Cancelled], list[str]]:
        """Cancel every open order that is not `done`, also orders that appear meanwhile. Stop when the fresh books show no open order and no order
        that may be alive is missing from them, or when the wait ends.

        Returns the result of each cancel, and the brokers whose book is not known.
        """
        await self._cancel_new(done)
        after = self._clock.monotonic()
        with trio.move_on_after(WAIT_SECONDS):
            while True:
                await self._cancel_new(done)
                if not self._open_orders() and not self._unshown() and self._all_read("orders", after):
                    break
                self._read_orders_soon()
                await trio.sleep(POLL_SECONDS)
        now = self._clock.monotonic()
        sessions = self._sessions()
        not_read = [code for code, handle in sessions.items() if not is_ok(handle.view.value, "orders", now)]
        return [done[name] for name in sorted(done)], not_read

    async def _cancel_new(self, done: dict[OrderName, Cancelled]) -> None:
        """Cancel, all at once, the open orders whose cancel has not left yet. The end of a wait does not stop a cancel that is under way."""
        left = {name for name, cancel in done.items() if cancel.sent}
        new = [(code, row) for code, row in self._open_orders() if (code, row.order_id) not in left]
        if not new:
            return

        def note(cancel: Cancelled) -> None:
            done[cancel.broker, cancel.order_id] = cancel

        with trio.CancelScope(shield=True):  # each cancel is bounded by its wait for room and the broker's time
            async with trio.open_nursery() as nursery:
                for code, row in new:
                    nursery.start_soon(self._cancel, code, row, note)

    async def _cancel(self, code: str, row: OrderRow, note: Callable[[Cancelled], None]) -> None:
        handle = self._desk.session(code)
        access = handle.view.value.access

        def unsent(why: str) -> None:
            note(Cancelled(broker=code, order_id=row.order_id, sent=False, outcome=None, status_message=why))

        if access is None:
            unsent(order_texts.no_login(code))
            return
        try:
            request = handle.broker.orders.cancel_request(access, row, self._clock.now())
            sent = await self._send_cancel(Held(broker=code, row=row), request)
        except Refusal as refusal:
            unsent(refusal.sentence)
        except NotSendable as error:
            unsent(order_texts.cancel_not_built(str(error)))
        except LoginNeeded:
            unsent(order_texts.no_login(code))
        except (RoomFull, CapReached):
            unsent(order_texts.CANCEL_RATE_BUDGET_FULL)
        except StoreError as error:
            unsent(texts.cancel_not_sent(str(error)))
        else:
            answer, why = sent.answer, sent.answer.status_message
            message = why if sent.reached else texts.cancel_not_sent(why or "")
            note(
                Cancelled(
                    broker=code,
                    order_id=row.order_id,
                    sent=sent.reached,
                    outcome=answer.outcome,
                    status_message=message,
                )
            )

    async def _send_cancel(self, held: Held, request: WireRequest) -> Sent:
        """Send a cancel. A flatten has halted the order's parent. Within a scope the parent may go on; then the cancel goes through it."""
        if not self._scope.is_whole:
            return await send_cancel(self._desk, held, request, self._message.routed)
        leaving = Message(
            broker=held.broker,
            request=request,
            when_accepted=cancelling(held.row),
            event=cancel_event(held.broker, held.row, self._desk.parent_of(held)),
            passage=Passage.CANCEL,
        )
        return await self._desk.send(leaving, Priority.CANCEL)

    def _read_orders_soon(self) -> None:
        for handle in self._sessions().values():
            read_soon(handle, "orders")

    def _open_orders(self) -> list[tuple[str, OrderRow]]:
        """Return every order of the scope that has not finished, by broker and id; an unknown status counts as open."""
        legs = self._desk.context.legs
        return sorted(
            (
                (code, row)
                for code, handle in self._sessions().items()
                for row in handle.view.value.orders.values()
                if not is_finished(row.status) and self._scope.takes_order(code, row, legs)
            ),
            key=lambda found: (found[0], found[1].order_id),
        )

    def _unshown(self) -> list[LegRecord]:
        context = self._desk.context
        return [leg for leg in unshown(context) if self._scope.takes_leg(leg, context.legs)]

    def _not_shown(self) -> list[dict[str, Any]]:
        """Return our orders that may be alive and that no book shows, by broker and leg."""
        names = ("broker", "leg_id", "order_id", "tradingsymbol", "transaction_type", "quantity")
        return [
            {**{name: getattr(leg, name) for name in names}, "status_message": texts.NOT_SHOWN}
            for leg in self._unshown()
        ]

    def _all_read(self, resource: Read, after: float) -> bool:
        """Whether every broker with a login has been read since `after` (monotonic seconds)."""
        views = [handle.view.value for handle in self._sessions().values() if handle.view.value.live]
        return all((started := began(view, resource)) is not None and started >= after for view in views)

    def _not_read(self) -> list[str]:
        now = self._clock.monotonic()
        return sorted(
            code
            for code, handle in self._sessions().items()
            if not (is_ok(handle.view.value, "orders", now) and is_ok(handle.view.value, "positions", now))
        )

    # --- steps 4 and 5: the positions -------------------------------------------------------------------------------

    async def _close_all(
        self, engine_until: float
    ) -> tuple[list[Closed], Mapping[str, Judged], Collection[str], list[str]]:
        """Close the positions. Return the result of each close, the positions by broker as they were closed, the brokers that were read since, and
        the positions still open after the wait, or doubted."""
        context = self._desk.context
        live = [code for code, handle in self._sessions().items() if handle.view.value.live]
        read = await read_settled(context, live, WAIT_SECONDS, self._asks)
        shown = {**self._shown_positions(), **read}
        self._lacking = await wait_for_trades(context, shown, self._scope, WAIT_SECONDS)
        closes = closes_of(context, shown, self._scope, self._known)
        closed = await close_all(self._desk, closes, engine_until)
        in_doubt = {
            f"{code}:{found.row_of(key).position_key}"
            for code, found in shown.items()
            for key in found.doubts
            if self._asks(code, key)
        }
        still_open = await wait_for_zero(context, closes, WAIT_SECONDS)
        refused = refused_for_price(context, closed) if still_open else frozenset[tuple[str, str]]()
        if refused:
            closed, still_open = await self._close_at_touch(closed, still_open, refused, engine_until)
        return closed, shown, read.keys(), sorted(in_doubt.union(still_open))

    async def _close_at_touch(
        self, closed: list[Closed], still_open: list[str], refused: Collection[tuple[str, str]], engine_until: float
    ) -> tuple[list[Closed], list[str]]:
        """Close again, once, what was refused because the price past the touch is outside of the exchange's limits (order-engine 1.11). The positions
        are read again before. Return all results, those of the refused closes replaced, and the positions that are open then."""
        context = self._desk.context
        read = await read_settled(context, {code for code, _ in refused}, WAIT_SECONDS, self._asks)
        found = [close for close in closes_of(context, read, self._scope, self._known) if _name(close) in refused]
        again = [priced for close in found if (priced := at_touch(context, close)) is not None]
        if not again:
            return closed, still_open
        results = await close_all(self._desk, again, engine_until)
        names = {_name(close) for close in again}
        kept = [one for one in closed if _name(one.close) not in names]
        others = [name for name in still_open if name not in {f"{code}:{key}" for code, key in names}]
        return [*kept, *results], sorted([*others, *await wait_for_zero(context, again, WAIT_SECONDS)])

    def _orders_since(self, closed: Collection[Closed], known: Collection[str]) -> list[str]:
        """Return the open orders that came after the cancels, without the closes themselves: a caller may have placed an order meanwhile."""
        own = {(one.close.broker, one.order_id) for one in closed}
        now = [f"{code}:{row.order_id}" for code, row in self._open_orders() if (code, row.order_id) not in own]
        return [name for name in now if name not in known]

    def _positions_since(self, closed: Collection[Closed]) -> set[str]:
        """Return the positions that were opened after the closes were chosen."""
        own = {(one.close.broker, one.close.row.position_key) for one in closed}
        now = closes_of(self._desk.context, self._shown_positions(), self._scope)
        return {
            f"{close.broker}:{close.row.position_key}"
            for close in now
            if (close.broker, close.row.position_key) not in own
        }

    def _asks(self, code: str, key: RowKey) -> bool:
        """Whether a position is within the scope."""
        return self._scope.takes_position(code, key.token, key.product)

    def _shown_positions(self) -> dict[str, Judged]:
        """Return the positions that the brokers of the scope show now, compared with their fills, without brokers that show none."""
        now = self._clock.monotonic()
        shown = {
            code: judged(self._desk.context, code)
            for code, handle in self._sessions().items()
            if shown_lately(handle.view.value, now) is not None
        }
        return {code: positions for code, positions in shown.items() if positions is not None}


def _name(close: Close) -> tuple[str, str]:
    return close.broker, close.row.position_key
