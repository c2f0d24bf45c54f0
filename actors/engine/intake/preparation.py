"""Makes an order ready before it is journaled: works out its references, builds its plan from the resolved numbers, and checks it against the
market (order-engine 3.0, order of checks; 5.1). It waits for quotes that nobody has watched so far, but never longer than a caller does.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import attrs
import trio

from onebroker.actors.engine.choice.choose import choose
from onebroker.actors.engine.choice.leg_order import LegOrder, placed_order
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.messages import EngineAnswer, PlaceBody
from onebroker.actors.engine.intake.intake_context import Today
from onebroker.actors.engine.intake.open_positions import fresh_positions, shown_positions
from onebroker.actors.engine.intake.reference_resolution import resolve
from onebroker.actors.engine.intake.synthetic import completed, defaults_of, settled
from onebroker.actors.engine.placing.settled_positions import is_settled, settle
from onebroker.actors.engine.plan.machine.advance import Outcome, advance
from onebroker.actors.engine.plan.machine.conditions import undirected
from onebroker.actors.engine.plan.machine.look import Inputs
from onebroker.actors.engine.plan.parts import OrderPart, Part, Share, TimeOfDay, Units, first_orders_of, walk
from onebroker.actors.engine.plan_parent.plan_market import PlanMarket
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.actors.engine.presets.volume_profile import Volume
from onebroker.brokers.records import Tick
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan_life as life_texts
from onebroker.config.messages import presets as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OrderType

QUOTE_SECONDS = 3.0
"""How long it waits for quotes that nobody has watched so far. Enough time is left after it to find room before the caller stops waiting."""

VOLUMES_SECONDS = 1.0
"""How long it waits for stored volumes."""
PAST = timedelta(days=30)
"""The last trading days are searched for within this period."""


def is_ready(order: PlaceBody, context: EngineContext) -> bool:
    """Whether an order can be journaled as it is: a simple order without references, for which no position has to be read again."""
    return order.references is None and order.plan is None and is_settled(placed_order(order), context)


async def ready(order: PlaceBody, context: EngineContext) -> PlaceBody:
    """Return the order as it will be worked.

    Raises Refusal 400, 404, 409, 503 with `instrument_id`: a reference that cannot be worked out, a check that the resolved numbers fail, a closed
    market, or a market in which the type cannot begin.
    """
    resolved = await resolve(order, context)
    try:
        return await _ready(resolved, context)
    except Refusal as refusal:
        extra = {"instrument_id": order.instrument.instrument_id, **refusal.extra}
        raise Refusal(refusal.status, refusal.sentence, extra) from refusal


async def _ready(order: PlaceBody, context: EngineContext) -> PlaceBody:
    world = _today(context)
    order = completed(order, world)
    root = order.plan
    if root is None:
        await settle(placed_order(order), context)
        return order
    preset = None if order.routed_from is None else PRESETS[order.routed_from]
    body = Body(defaults=defaults_of(order), world=world)
    if preset is not None:
        _check_hours(preset, body)
        if preset.settle is not None:
            order = await _settled(order, preset, body, context)
        if preset.shape is not None and not preset.is_shaped(order.preset):
            order = await _shaped(order, preset, body, context)
        root = order.plan
        assert root is not None
    if _before_the_opening(body):
        root = _waiting_for_the_opening(root, preset, body)
    else:
        await _quotes_there(root, preset, body, context)
        if preset is not None and preset.check_market is not None:
            preset.check_market(order.preset, body, PlanMarket(context, ()))
    _check_directions(root, context)
    await _check_lockout(root, context)
    return attrs.evolve(order, plan=root)


def _today(context: EngineContext) -> Today:
    latest = context.catalogue.value.latest
    if latest is None:
        raise Refusal(503, order_texts.catalogue_not_published(context.catalogue.value.reason))
    return Today(
        now=context.clock.now(),
        snapshot=latest,
        brokers=tuple(context.sessions),
        calendar=context.calendar,
        settings=context.settings,
    )


async def _settled(order: PlaceBody, preset: Preset[Any], body: Body, context: EngineContext) -> PlaceBody:
    """Have the type check the positions. Before it refuses because of a missing position, the positions are read again."""
    assert preset.settle is not None
    try:
        settings = preset.settle(order.preset, body, shown_positions(context))
    except Refusal:
        settings = preset.settle(order.preset, body, await fresh_positions(context))
    return settled(order, settings, body.world)


async def _shaped(order: PlaceBody, preset: Preset[Any], body: Body, context: EngineContext) -> PlaceBody:
    """Have the type use the volumes of the last days; volumes that cannot be read in time count as none."""
    assert preset.shape is not None
    today = body.now.replace(hour=0, minute=0, second=0, microsecond=0)
    candles: Sequence[Volume] = ()
    with trio.move_on_after(VOLUMES_SECONDS):
        candles = await context.volumes.five_minutes(body.instrument.instrument_id, today - PAST, today)
    return settled(order, preset.shape(order.preset, body, candles), body.world)


def _check_hours(preset: Preset[Any], body: Body) -> None:
    """Refuse a type that must see the market once its day's session is over (3.0, outside hours)."""
    if not preset.sees_market or preset.any_day:
        return
    sessions = body.sessions()
    if not sessions or body.now >= sessions[-1].closes:
        raise Refusal(409, texts.MARKET_CLOSED)


def _before_the_opening(body: Body) -> bool:
    sessions = body.sessions()
    return bool(sessions) and body.now < sessions[0].opens


def _waiting_for_the_opening(root: Part, preset: Preset[Any] | None, body: Body) -> Part:
    """Let a type that must see the market begin with the session when it arrives too early (3.0, outside hours). A held order, or an order that
    waits for something else, does not look at the market before that anyway."""
    waits = root.when is not None or (isinstance(root, OrderPart) and root.hold)
    if preset is None or not preset.sees_market or waits:
        return root
    return attrs.evolve(root, when=TimeOfDay(body.sessions()[0].opens.time()))


def _check_directions(root: Part, context: EngineContext) -> None:
    """Refuse a condition whose direction depends on the present value when there is no present value. A direction taken from a later value could
    be wrong (1.6)."""
    looked = _look(root, context)
    for part in walk(root):
        now = looked.parts[part.path]
        if now.due_at is not None and part.when is not None and undirected(now, part.when):
            refused = looked.reasons.get(part.path)
            raise Refusal(503, life_texts.NO_QUOTE_FOR_CONDITION if refused is None else refused.sentence)


async def _check_lockout(root: Part, context: EngineContext) -> None:
    """Refuse an order if the day's loss stops every order that it begins with, as a simple order is refused: it would only wait to be refused
    (4.7)."""
    locked = context.entry_lock()
    if locked is None:
        return
    if all([await _is_stopped(part, locked, context) for part in first_orders_of(root)]):
        raise Refusal(locked.status, str(locked.body["error"]))


async def _is_stopped(part: OrderPart, locked: EngineAnswer, context: EngineContext) -> bool:
    """Whether the day's loss stops an entry, given the present positions. An exit, or an order that is sized later, is judged when it is due."""
    latest = context.catalogue.value.latest
    instrument = None if latest is None else latest.instrument(part.instrument_id)
    units = _units(part)
    if instrument is None or (part.is_exit and not part.exit_by_type) or units is None:
        return False
    order = LegOrder(
        instrument=instrument,
        transaction_type=part.transaction_type,
        product=part.product,
        order_type=OrderType.LIMIT,
        quantity=units,
        broker=part.broker,
    )
    await settle(order, context)
    return choose(order, context).refusal == locked


def _units(part: OrderPart) -> int | None:
    """Return a part's units before anything has filled; None when they are not known yet."""
    match part.quantity:
        case Units(quantity=units):
            return units
        case Share(share=share, of=int(whole)):
            return int(whole * share)
        case _:
            return None


def _look(root: Part, context: EngineContext) -> Outcome:
    """Look at a plan as its first look will, without acting."""
    return advance(root, Inputs(parts={}, legs=(), market=PlanMarket(context, ())))


def _is_open(body: Body) -> bool:
    return any(session.contains(body.now) for session in body.sessions())


async def _quotes_there(root: Part, preset: Preset[Any] | None, body: Body, context: EngineContext) -> None:
    """Wait for the quotes that decide the plan's start or the type's own check, with their book where the book decides. A feed's first quote may
    carry no book."""
    looked = _look(root, context) if _is_open(body) else None
    quotes = set() if looked is None or looked.actions else set(looked.watched)
    books = set() if looked is None else set(looked.bookless)
    if preset is not None and preset.check_market is not None:
        books.add(body.instrument.instrument_id)
    if not _lacking(quotes, books, context):
        return
    with context.quotes.follow(quotes | books) as follower, trio.move_on_after(QUOTE_SECONDS):
        while _lacking(quotes, books, context):
            await anext(follower)


def _lacking(quotes: set[str], books: set[str], context: EngineContext) -> bool:
    ticks = {instrument_id: context.quotes.usable_tick(instrument_id) for instrument_id in quotes | books}
    return None in ticks.values() or any(_tells_no_depth(ticks[instrument_id]) for instrument_id in books)


def _tells_no_depth(tick: Tick | None) -> bool:
    return tick is None or tick.buy is None or tick.sell is None
