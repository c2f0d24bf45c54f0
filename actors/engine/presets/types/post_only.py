"""post_only: checks that a limit would rest in the book (order-engine 3.37; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.machine.crossing import crossed
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Crossing, Fixed
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import setting
from onebroker.actors.engine.presets.trigger_settings import check_quote
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan_life as life_texts
from onebroker.config.messages import presets_entries as texts
from onebroker.config.vocabulary import OrderType


@attrs.frozen(kw_only=True)
class Settings:
    on_crossing: Crossing = setting(word_of(Crossing), default=Crossing.REFUSE)


def check_first(fields: Fields, body: Body) -> None:
    if body.order_type is OrderType.MARKET:
        raise fields.refusal(texts.CROSSES_AT_MARKET)
    if body.order_type is not OrderType.LIMIT:
        raise fields.refusal(texts.NEEDS_LIMIT)


def tree(settings: Settings, body: Body, path: str) -> Part:
    return order(body, path, Fixed(_limit(body), settings.on_crossing))


def _limit(body: Body) -> Decimal:
    if body.limit is None:
        raise body.refusal(order_texts.needs_price(OrderType.LIMIT))
    return body.limit


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """Make the plan's own check before anything is written."""
    check_quote(body, market)
    quote = market.seen(body.instrument.instrument_id)
    assert quote is not None
    touch = crossed(quote, body.side, _limit(body))
    if touch is not None and (settings.on_crossing is Crossing.REFUSE or body.tick is None):
        raise body.refusal(life_texts.would_cross(body.side, _limit(body), touch), 409)


PRESET = Preset(
    name="post_only",
    title="checks a limit would rest",
    settings=Settings,
    tree=tree,
    check_first=check_first,
    sees_market=True,
    check_market=check_market,
)
