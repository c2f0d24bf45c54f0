"""Where stops and targets may be placed (order-engine 3.6, 3.0 already past; N16). Pure; raises Refusal 400, and 409 for a market that is already
past a stop."""

from decimal import Decimal

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.presets.body import Body
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets as preset_texts
from onebroker.config.messages import presets_exits as exit_texts
from onebroker.config.vocabulary import Side


def entry_price(body: Body) -> Decimal | None:
    """Return the price against which an entry's exits are judged, where the body gives it: its limit, or an SL-M's trigger. None for a MARKET
    entry, and while a reference has not given the price yet."""
    if body.priced_later:
        return None
    return body.limit if body.limit is not None else body.defaults.trigger_price


def check_entry_side(body: Body, field: str, value: Decimal, entry: Decimal, *, gains: bool) -> None:
    """N16: an exit with `gains` must be on the profit side of the entry, any other exit on the losing side."""
    above = gains is (body.side is Side.BUY)
    if body.sided_later or ((value > entry) if above else (value < entry)):
        return
    if body.side is Side.BUY:
        raise body.refusal((texts.above_for_buy if above else texts.below_for_buy)(field, "price"))
    raise body.refusal((texts.above_for_sell if above else texts.below_for_sell)(field, "price"))


def check_stop_limit(fields: Fields, body: Body, stop: Decimal, limit: Decimal, name: str) -> None:
    """The limit of an entry's stop must be at its trigger or further on the losing side: below it for a BUY entry."""
    if not body.sided_later and (limit - stop) * body.side.sign > 0:
        raise fields.refusal(preset_texts.stop_limit_wrong_side(body.side, name))


def check_own_limit(fields: Fields, body: Body, names: tuple[str, str], trigger: Decimal, limit: Decimal) -> None:
    """The limit of a stop of the body's side must be at its trigger or past it. `names` are the names of trigger and limit."""
    if not body.sided_later and (limit - trigger) * body.side.sign < 0:
        direction = "below" if body.side is Side.BUY else "above"
        raise fields.refusal(texts.not_past(names[1], body.side, names[0], direction))


def check_further(fields: Fields, body: Body, names: tuple[str, str], value: Decimal, other: Decimal) -> None:
    """N16: a stop of the body's side must be below the other price for a SELL, above it for a BUY."""
    if not body.sided_later and (value - other) * body.side.sign <= 0:
        sentence = texts.above_for_buy if body.side is Side.BUY else texts.below_for_sell
        raise fields.refusal(sentence(*names))


def check_not_past(body: Body, market: Market, field: str, trigger: Decimal, side: Side) -> None:
    """Refuse (409) a stop whose trigger the last price has already reached. Without a quote this is not known, and nothing is refused."""
    quote = market.seen(body.instrument.instrument_id)
    if quote is not None and quote.is_past(trigger, side):
        raise body.refusal(preset_texts.already_past(field), 409)


def check_entry_not_past(body: Body, market: Market) -> None:
    """Make the same check for an entry that is itself a stop (a body SL or SL-M)."""
    if body.order_type.takes_trigger and body.defaults.trigger_price is not None:
        check_not_past(body, market, "trigger_price", body.defaults.trigger_price, body.side)


def check_carries(body: Body, fields: str, lowest: Decimal) -> None:
    """Refuse distances that leave no price above zero."""
    if lowest <= 0:
        raise body.refusal(exit_texts.brings_to(fields, lowest))
