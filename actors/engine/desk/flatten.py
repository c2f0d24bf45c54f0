"""Flatten: halt every parent, cancel every order, close every position, and check that it is done (rules 2.4.7; order-engine 5.7).

`flat` is true only when the brokers show every order of ours that may be alive. An order that is not shown may still fill; its parent cancels it
when it appears. `flat` is also false while a broker has positions that cannot be read; its readable positions are closed meanwhile.

Positions are believed when they agree with the fills (`actors/engine/books/settled_positions.py`). They are read until they do, for five seconds. A
position that is still doubted then is closed by its fills, or by its row where the row shows more than the fills explain; `flat` is false, and the
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
from onebroker.actors.engine.books.settled_positions import judged, named_doubts, read_settled
from onebroker.actors.engine.books.shown_positions import shown_lately, shown_since
from onebroker.actors.engine.context.messages import EngineAnswer, HaltParents
from onebroker.actors.engine.context.position_days import Judged, key_of
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.desk.desk_context import MARGIN_SECONDS, DeskContext, Held
from onebroker.actors.engine.desk.flatten_closes import Close, Closed, close_all, closes_of
from onebroker.actors.engine.desk.messages import Flatten
from onebroker.actors.engine.orders.intents import IntentKind
from onebroker.actors.engine.placing.message_events import cancel_event
from onebroker.actors.engine.placing.send_once import Message
from onebroker.actors.engine.placing.unshown_orders import unshown
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.sessions.acknowledged_changes import cancelling
from onebroker.actors.sessions.messages import CapReached, LoginNeeded, RoomFull
from onebroker.actors.store import keys
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.brokers.requests import NotSendable
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome, is_finished

WAIT_SECONDS = 5.0
"""For the cancels to show, for fresh positions, and for closed positions to show zero; each wait separately."""
POLL_SECONDS = 0.25
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


class Flattening:
    """The flatten requests of a desk."""

    def __init__(self, desk: DeskContext) -> None:
        self._desk = desk
        self._clock = desk.context.clock
        self._turn = trio.Lock()

    async def flatten(self, message: Flatten) -> EngineAnswer:
        """Flatten, or return what would be done. Raises Refusal 503: then nothing was sent."""
        if message.dry_run:
            return self._dry_run(message, await self._left_out())
        async with self._turn:
            return await self._flatten(message, await self._left_out())

    async def _left_out(self) -> list[str]:
        """Check that the store answers, and return the brokers that the settings leave out although something may be open there."""
        try:
            await self._desk.context.store.members(keys.OPEN_PARENTS)
            found = await brokers_left_out(self._desk.context)
        except StoreError as error:
            raise Refusal(503, shared.redis_unreadable(str(error))) from error
        self._desk.check_store({})
        return found

    def _dry_run(self, message: Flatten, left_out: Collection[str]) -> EngineAnswer:
        orders = [{"broker": code, "order_id": row.order_id, "status": row.status} for code, row in self._open_orders()]
        shown = self._shown_positions()
        closes = [close.shown() for close in closes_of(self._desk.context, shown)]
        body = {
            "dry_run": True,
            "would_cancel": orders,
            "would_close": closes,
            "brokers_not_read": sorted({*self._not_read(), *left_out}),
            "positions_not_readable": self._not_readable(shown),
            **self._doubted(shown),
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
        not_shown = self._not_shown()
        closed, shown, read, open_positions = await self._close_all(engine_until)
        whole = {code for code in read if shown[code].read.whole}
        not_read = sorted({*not_read, *(self._desk.context.sessions.keys() - whole), *left_out})
        flat = (
            "error" not in halted
            and all(cancel.sent for cancel in cancelled)
            and not still_open
            and not not_shown
            and all(close.accepted for close in closed)
            and not open_positions
            and not not_read
        )
        body = {
            "halted": halted,
            "cancelled": [cancel.shown() for cancel in cancelled],
            "still_open_after_waiting": still_open,
            "not_shown_after_waiting": not_shown,
            "closed": [close.shown() for close in closed],
            "positions_still_open_after_waiting": open_positions,
            "brokers_not_read": not_read,
            "positions_not_readable": self._not_readable(shown),
            **self._doubted(shown),
            "flat": flat,
            "timing_ms": timing,
        }
        return EngineAnswer(status=200 if flat else 207, body=body)

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
        asked = -1
        while await desk.engine_comes(engine_until, after=asked):
            asked = desk.status.version
            try:
                halted: int = await desk.engine.ask(lambda reply: HaltParents(intent=intent, reply=reply), wait_seconds)
            except ActorNotRunning:
                continue
            except AskTimedOut:
                return {"error": texts.close_not_answered(wait_seconds), "intent_id": intent.intent_id}
            except StoreError as error:
                return {"error": shared.redis_unreadable(str(error))}
            answer = {"halted_parents": halted}
            desk.keep_soon(intent, EngineAnswer(status=200, body=answer))
            return answer
        return {"error": order_texts.ENGINE_NOT_RUNNING}

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
                if not self._open_orders() and not unshown(self._desk.context) and self._all_read("orders", after):
                    break
                self._read_orders_soon()
                await trio.sleep(POLL_SECONDS)
        now = self._clock.monotonic()
        sessions = self._desk.context.sessions
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
            leaving = Message(
                broker=code,
                request=request,
                when_accepted=cancelling(row),
                event=cancel_event(code, row, self._desk.parent_of(Held(broker=code, row=row))),
                passage=Passage.CANCEL,
            )
            sent = await self._desk.send(leaving, Priority.CANCEL)
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

    def _read_orders_soon(self) -> None:
        for handle in self._desk.context.sessions.values():
            read_soon(handle, "orders")

    def _open_orders(self) -> list[tuple[str, OrderRow]]:
        """Return every order that has not finished, by broker and id; an unknown status counts as open."""
        return sorted(
            (
                (code, row)
                for code, handle in self._desk.context.sessions.items()
                for row in handle.view.value.orders.values()
                if not is_finished(row.status)
            ),
            key=lambda found: (found[0], found[1].order_id),
        )

    def _not_shown(self) -> list[dict[str, Any]]:
        """Return our orders that may be alive and that no book shows, by broker and leg."""
        names = ("broker", "leg_id", "order_id", "tradingsymbol", "transaction_type", "quantity")
        return [
            {**{name: getattr(leg, name) for name in names}, "status_message": texts.NOT_SHOWN}
            for leg in unshown(self._desk.context)
        ]

    def _all_read(self, resource: Read, after: float) -> bool:
        """Whether every broker with a login has been read since `after` (monotonic seconds)."""
        views = [handle.view.value for handle in self._desk.context.sessions.values() if handle.view.value.live]
        return all((started := began(view, resource)) is not None and started >= after for view in views)

    def _not_read(self) -> list[str]:
        now = self._clock.monotonic()
        return sorted(
            code
            for code, handle in self._desk.context.sessions.items()
            if not (is_ok(handle.view.value, "orders", now) and is_ok(handle.view.value, "positions", now))
        )

    # --- steps 4 and 5: the positions -------------------------------------------------------------------------------

    async def _close_all(
        self, engine_until: float
    ) -> tuple[list[Closed], Mapping[str, Judged], Collection[str], list[str]]:
        """Close the positions. Return the result of each close, the positions by broker as they were closed, the brokers that were read since, and
        the positions still open after the wait, or doubted."""
        context = self._desk.context
        live = [code for code, handle in context.sessions.items() if handle.view.value.live]
        read = await read_settled(context, live, WAIT_SECONDS)
        shown = {**self._shown_positions(), **read}
        closes = closes_of(context, shown)
        closed = await close_all(self._desk, closes, engine_until)
        doubted = {f"{code}:{found.row_of(key).position_key}" for code, found in shown.items() for key in found.doubts}
        return closed, shown, read.keys(), sorted(doubted.union(await self._wait_for_zero(closes)))

    def _shown_positions(self) -> dict[str, Judged]:
        """Return the positions that brokers show now, compared with their fills, without brokers that show none."""
        now = self._clock.monotonic()
        shown = {
            code: judged(self._desk.context, code)
            for code, handle in self._desk.context.sessions.items()
            if shown_lately(handle.view.value, now) is not None
        }
        return {code: positions for code, positions in shown.items() if positions is not None}

    def _doubted(self, shown: Mapping[str, Judged]) -> dict[str, Any]:
        """Return `positions_doubted`, where there are such positions."""
        context = self._desk.context
        entries = [
            {
                "broker": code,
                "position_key": shown[code].row_of(named.doubt.key).position_key,
                "instrument_id": named.instrument_id,
                "tradingsymbol": named.doubt.tradingsymbol,
                "product": named.doubt.key.product,
                "shown": named.doubt.shown,
                "by_fills": named.doubt.by_fills,
                "since": named.since_text(context.clock),
                "status_message": named.sentence(context.clock),
            }
            for code in sorted(shown)
            for named in named_doubts(context, code, shown[code])
        ]
        return {"positions_doubted": entries} if entries else {}

    def _not_readable(self, shown: Mapping[str, Judged]) -> list[dict[str, str]]:
        """Return the brokers with unreadable rows, and which rows these are."""
        views = {code: self._desk.session(code).view.value for code, found in shown.items() if not found.read.whole}
        return [
            {"broker": code, "status_message": view.read_errors.get("positions", "")}
            for code, view in sorted(views.items())
        ]

    async def _wait_for_zero(self, closes: list[Close]) -> list[str]:
        """Read again until all closed positions show zero, or the wait ends; return `broker:position_key` of the others."""
        rows = {(close.broker, close.row.position_key): close.row for close in closes}
        after = self._clock.monotonic()
        with trio.move_on_after(WAIT_SECONDS):
            while any(not self._shows_zero(code, row, after) for (code, _), row in rows.items()):
                for code in {code for code, _ in rows}:
                    read_soon(self._desk.session(code), "positions")
                await trio.sleep(POLL_SECONDS)
        return [f"{code}:{key}" for (code, key), row in sorted(rows.items()) if not self._shows_zero(code, row, after)]

    def _shows_zero(self, code: str, closed: PositionRow, after: float) -> bool:
        """Whether a read begun since `after` shows no open position of this key, and the fills say the same. In a partly readable answer, a missing
        row may be an unreadable one."""
        shown = shown_since(self._desk.session(code).view.value, after)
        found = judged(self._desk.context, code)
        if shown is None or found is None or key_of(closed) in found.doubts:
            return False
        units = [row.quantity for row in shown.rows if row.view != "day" and row.position_key == closed.position_key]
        return (shown.whole or bool(units)) and not any(quantity != 0 for quantity in units)
