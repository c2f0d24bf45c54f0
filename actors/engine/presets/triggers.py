"""Settings that several types which wait for a level share (order-engine 1.6, 3.12 to 3.28). Pure; raises Refusal."""

from decimal import Decimal

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.plan.machine.crossing import unseen
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Direction
from onebroker.actors.engine.plan.prices import Fixed
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import price, word_of
from onebroker.actors.engine.plan.reading.surroundings import named_instrument
from onebroker.actors.engine.presets.body import Body
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets as preset_texts
from onebroker.config.vocabulary import Side


def read_direction(fields: Fields) -> Direction | None:
    """Read `trigger_direction`; None = the side from which the price must come, decided when the order is armed (1.6)."""
    return fields.optional("trigger_direction", word_of(Direction), None)


def touched_from(side: Side) -> Direction:
    """Return the direction of an order that waits for a better price: below for a BUY, above for a SELL (3.26, 3.28)."""
    return Direction.BELOW if side is Side.BUY else Direction.ABOVE


def read_limit(fields: Fields, body: Body, name: str = "limit_price") -> Decimal | None:
    """Read the limit to send, by default a LIMIT body's price. None only while a reference has not been worked out."""
    found = fields.optional(name, price(body.tick), body.limit)
    if found is None and not body.priced_later:
        raise fields.refusal(texts.is_required(name))
    return found


def fixed(limit: Decimal | None) -> Fixed:
    """Return the limit that was read; a tree is built only once the limit is known."""
    assert limit is not None
    return Fixed(limit)


def read_watched(fields: Fields, body: Body) -> Instrument:
    """Read a required `watch_instrument_id` (N18, 404)."""
    watched = named_instrument(fields, "watch_instrument_id", body.world)
    if watched.instrument_id == body.instrument.instrument_id:
        raise fields.refusal(texts.WATCHED_IS_TRADED)
    return watched


def read_bounds(fields: Fields, body: Body) -> tuple[Decimal | None, Decimal | None]:
    """Read `lowest_price` and `highest_price`; None = no bound."""
    lowest = fields.optional("lowest_price", price(body.tick), None)
    highest = fields.optional("highest_price", price(body.tick), None)
    if lowest is not None and highest is not None and highest < lowest:
        raise fields.refusal(texts.highest_below_lowest("highest_price", "lowest_price"))
    return lowest, highest


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
