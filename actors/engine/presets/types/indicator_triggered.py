"""indicator_triggered: a limit once a field of a quote crosses a level (order-engine 3.23; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Direction, Part, PriceAt, QuoteField
from onebroker.actors.engine.plan.reading.reading_context import named_instrument
from onebroker.actors.engine.plan.reading.value_rules import number, uuid, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset
from onebroker.actors.engine.presets.settings import Reading, own_reading, setting
from onebroker.actors.engine.presets.trigger_settings import DIRECTION, fixed, limit_to_send
from onebroker.config.messages import presets_entries as texts

_FIELDS = (
    QuoteField.LAST_PRICE, QuoteField.AVERAGE_PRICE, QuoteField.BID, QuoteField.OFFER, QuoteField.MID, QuoteField.VOLUME,
    QuoteField.OI, QuoteField.CHANGE_PERCENT, QuoteField.BUY_QUANTITY, QuoteField.SELL_QUANTITY, QuoteField.LAST_QUANTITY,
)  # fmt: skip
"""In the order of 3.23."""


@own_reading(uuid.accepts, required=False)
def _watched(reading: Reading, name: str) -> str:
    if not reading.fields.has(name):
        return reading.body.instrument.instrument_id
    return named_instrument(reading.fields, name, reading.body.world).instrument_id


@attrs.frozen(kw_only=True)
class Settings:
    watch_field: QuoteField = setting(word_of(QuoteField, _FIELDS))
    trigger_price: Decimal = setting(number)
    """In the unit of the field: rupees, units, percent."""
    limit_price: Decimal | None = setting(limit_to_send)
    """None while a price reference has not been worked out."""
    trigger_direction: Direction | None = setting(DIRECTION, default=None)
    watch_instrument_id: str = setting(_watched)
    """By default the instrument that is traded."""


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = PriceAt(
        instrument_id=settings.watch_instrument_id,
        field=settings.watch_field,
        level=settings.trigger_price,
        direction=settings.trigger_direction,
    )
    return order(body, path, fixed(settings.limit_price), when=when)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """Refuse a field that the quote does not carry: the order would wait for it without end."""
    quote = market.seen(settings.watch_instrument_id)
    if quote is not None and quote.value(settings.watch_field) is None:
        raise body.refusal(texts.field_missing(settings.watch_field.value), 503)


PRESET = Preset(
    name="indicator_triggered",
    title="limit when a quote field crosses a level",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    hold=Holding.BY_SWITCH,
    immediate=True,
    sees_market=True,
    check_market=check_market,
)
