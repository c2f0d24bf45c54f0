"""Settings that several types which wait for a level share (order-engine 1.6, 3.12 to 3.28). Pure; raises Refusal."""

from decimal import Decimal

from onebroker.actors.engine.plan.machine.crossing import unseen
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Direction
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.plan.reading.value_rules import price, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.settings import PRICE, Reading, own_reading
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets as preset_texts
from onebroker.config.vocabulary import Side

DIRECTION = word_of(Direction)
"""The rule of `trigger_direction`; left out = the side from which the price must come, decided when the order is armed (1.6)."""


def touched_from(side: Side) -> Direction:
    """Return the direction of an order that waits for a better price: below for a BUY, above for a SELL (3.26, 3.28)."""
    return Direction.BELOW if side is Side.BUY else Direction.ABOVE


@own_reading(DIRECTION.accepts, required=False)
def touched_direction(reading: Reading, name: str) -> Direction:
    """Read the direction of an order that waits for a better price, by default the direction in which the price becomes better."""
    return reading.fields.optional(name, DIRECTION, None) or touched_from(reading.body.side)


@own_reading(PRICE.accepts, required=False)
def limit_to_send(reading: Reading, name: str) -> Decimal | None:
    """Read the limit to send, by default a LIMIT body's price. None only while a reference has not been worked out."""
    found = reading.fields.optional(name, price(reading.body.tick), reading.body.limit)
    if found is None and not reading.body.priced_later:
        raise reading.fields.refusal(texts.is_required(name))
    return found


def fixed(limit: Decimal | None) -> Fixed:
    """Return the limit that was read; a tree is built only once the limit is known."""
    assert limit is not None
    return Fixed(limit)


def check_bounds(reading: Reading) -> None:
    """Check `highest_price` against `lowest_price`; None = no bound."""
    lowest, highest = reading["lowest_price"], reading["highest_price"]
    if lowest is not None and highest is not None and highest < lowest:
        raise reading.fields.refusal(texts.highest_below_lowest("highest_price", "lowest_price"))


def check_tick(body: Body, name: str) -> None:
    """Refuse a type that computes its prices from ticks where the brokers agree on no tick (4.3)."""
    if body.tick is None:
        raise body.refusal(preset_texts.needs_tick(name), 503)


def check_quote(body: Body, market: Market) -> None:
    """Refuse an order priced by its own book while it has no usable quote (the sentences of 3.29), or no quote with a book."""
    instrument_id = body.instrument.instrument_id
    quote = market.seen(instrument_id)
    if quote is None or not quote.tells_depth:
        status, sentence = unseen(market, instrument_id, body.side)
        raise body.refusal(sentence, status)
