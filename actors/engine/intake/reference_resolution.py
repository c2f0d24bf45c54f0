"""Works out an order's references just before the order is built (rules 2.6): first the side and quantity, then the price for that side.

The result is validated again like a typed order. The resolved numbers, never the references, are recorded and sent.
"""

from decimal import Decimal
from functools import partial

import attrs
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.books.reference_quotes import fresh_nets, no_position, usable_quote
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.messages import PlaceBody
from onebroker.actors.engine.orders.reference_values import References
from onebroker.actors.engine.references.pricing import is_told, resolve_price
from onebroker.actors.engine.references.sizing import close
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import references as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Side

WAIT_SECONDS = 3.0
"""How long it waits for a quote that nobody has watched, and for positions that must be read again. Enough time is left after it to find room
before the caller stops waiting."""


async def resolve(order: PlaceBody, context: EngineContext) -> PlaceBody:
    """Return the order with its references worked out.

    Raises Refusal 400, 409 (no position) or 503 (a needed value is missing), with `instrument_id`.
    """
    references = order.references
    if references is None:
        return order
    try:
        return await _resolved(order, references, context)
    except Refusal as refusal:
        extra = {**refusal.extra, "instrument_id": order.instrument.instrument_id}
        raise Refusal(refusal.status, refusal.sentence, extra) from refusal


async def _resolved(order: PlaceBody, references: References, context: EngineContext) -> PlaceBody:
    until = trio.current_time() + WAIT_SECONDS
    instrument_id = order.instrument.instrument_id
    tick = None
    if references.price is not None:
        tick = agreed_tick(order.instrument)
        if references.price.needs_quote:
            context.quotes.usable_tick(instrument_id)  # starts watching the instrument while positions are read
    if references.quantity is not None and references.quantity.kind.closes:
        order = await _closing(order, references, context, until=until)
    assert order.transaction_type is not None  # types that allow no side take no references
    if references.price is not None and tick is not None:
        reference, quote = references.price, None
        if reference.needs_quote:
            quote = await usable_quote(context, instrument_id, partial(is_told, reference), until=until)
        order = attrs.evolve(order, price=resolve_price(reference, Side(order.transaction_type), quote, tick))
    return _recorded(order)


async def _closing(order: PlaceBody, references: References, context: EngineContext, *, until: float) -> PlaceBody:
    """Size the order by the position. The order goes to the broker that holds the position; at another broker it would open one."""
    assert references.quantity is not None
    codes = context.sessions.keys() if order.broker is None else {order.broker}
    nets = await fresh_nets(order.instrument, references.quantity.product, codes, context, until=until)
    if not sum(nets.values()):
        raise no_position(context, order.instrument, references.quantity, codes)
    sized = close(references.quantity, references.typed_quantity, nets)
    if order.disclosed_quantity > sized.quantity:
        raise Refusal(400, order_texts.DISCLOSED_ABOVE)
    order = attrs.evolve(order, transaction_type=sized.side.value, quantity=sized.quantity, position_close=True)
    if len(sized.shares) > 1:
        return attrs.evolve(order, holders=sized.shares)
    ((broker, _),) = sized.shares
    return attrs.evolve(order, broker=broker)


def agreed_tick(instrument: Instrument) -> Decimal:
    """Return the tick size that most brokers agree on, in rupees. Raises Refusal 503 when there is none."""
    if not instrument.tick_size:
        raise Refusal(503, texts.NO_TICK)
    return Decimal(repr(instrument.tick_size))


def _recorded(order: PlaceBody) -> PlaceBody:
    """Replace the references by the numbers in the caller's body that the parent keeps."""
    kept = {name: value for name, value in order.sent.items() if name not in ("price_reference", "quantity_reference")}
    numbers: dict[str, object] = {"transaction_type": order.transaction_type, "quantity": order.quantity}
    if order.price is not None:
        numbers["price"] = float(order.price)  # as in a typed order
    return attrs.evolve(order, references=None, sent={**kept, **numbers})
