"""legged_spread: works one leg passively, then takes the other leg to reach the net price (order-engine 3.25; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import FromFill, Part
from onebroker.actors.engine.plan.price_kinds import Anchor, FollowInstrument, Marketable, WatchField
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import above_zero, at_least, choice, number, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.named import instrument_named, second_instrument
from onebroker.actors.engine.presets.part_builders import capped_at_limit, linked, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs
from onebroker.actors.engine.presets.settings import setting
from onebroker.actors.engine.presets.trigger_settings import check_tick
from onebroker.config.messages import presets_entries as texts
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, Side, Validity


@attrs.frozen(kw_only=True)
class Settings:
    second_instrument_id: str = setting(second_instrument)
    second_transaction_type: Side = setting(word_of(Side), default_of=lambda reading: reading.body.side.opposite)
    second_ratio: Decimal = setting(above_zero, default=Decimal(1))
    """Units of the second instrument for each unit of the first."""
    second_product: str | None = setting(choice(SENDABLE_PRODUCTS), default=None)
    """None = the body's."""
    net_price: Decimal = setting(number)
    """Rupees: the most to pay for one unit of the first together with its second, less what sales bring; may be negative."""
    step_ticks: int = setting(at_least(1), default=1)
    buffer_ticks: int = setting(at_least(0), default=2)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    lot = instrument_named(body, settings.second_instrument_id).lot_size or 1
    if body.quantity is not None and body.quantity * settings.second_ratio % lot:
        raise fields.refusal(texts.times_ratio_in_lots(lot))
    check_tick(body, "legged_spread")


def tree(settings: Settings, body: Body, path: str) -> Part:
    second = order(
        body,
        linked(path),
        Marketable(buffer_ticks=settings.buffer_ticks, follow=True),
        side=settings.second_transaction_type,
        quantity=FromFill(ratio=settings.second_ratio),
        instrument=instrument_named(body, settings.second_instrument_id),
        product=settings.second_product,
        validity=Validity.DAY,
        uncovered=texts.WITHOUT_SECOND_LEG,
    )
    return order(body, path, capped_at_limit(body, _passive(settings, body)), each_fill=second)


def _passive(settings: Settings, body: Body) -> FollowInstrument:
    """Return the first leg's limit. At this limit, with the price taken for the second leg, the net price is met. A sale of the second leg brings
    its bid, a purchase costs its offer."""
    sells = settings.second_transaction_type is Side.SELL
    brings_in = settings.second_ratio if sells else -settings.second_ratio
    return FollowInstrument(
        watch_instrument_id=settings.second_instrument_id,
        anchor=Anchor.ZERO,
        base_price=body.side.sign * settings.net_price,
        delta=body.side.sign * brings_in,
        watch_field=WatchField.BID if sells else WatchField.OFFER,
        step_ticks=settings.step_ticks,
    )


PRESET = Preset(
    name="legged_spread",
    title="works one leg passively then takes the other to make the net",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    references=Refs.NEVER,
    sees_market=True,
)
