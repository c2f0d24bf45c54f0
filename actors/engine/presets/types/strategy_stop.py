"""strategy_stop: closes several positions when their joint profit and loss passes a limit (order-engine 3.45)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.net_positions import Positions
from onebroker.actors.engine.plan.parts import FromPosition, JointPnl, Part, Since
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan.reading.conditions import read_instruments
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import above_zero, at_least, flag, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.positions_to_close import INSTRUMENT_IDS, POSITION_PRODUCT, found
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.actors.engine.presets.settings import Reading, own_reading, setting
from onebroker.config.messages import plan as plan_texts
from onebroker.config.messages import presets_exits as texts


@own_reading(INSTRUMENT_IDS, required=False)
def _guarded(reading: Reading, _: str) -> tuple[str, ...]:
    ids, every = read_instruments(reading.fields, reading.body.world)
    if not ids and not every:
        raise reading.fields.refusal(plan_texts.INSTRUMENTS)
    return ids


@attrs.frozen(kw_only=True)
class Settings:
    instrument_ids: tuple[str, ...] = setting(_guarded)
    """Empty with `every_instrument`."""
    every_instrument: bool = setting(flag, default=False)
    product: str | None = setting(POSITION_PRODUCT, default=None)
    max_loss: Decimal | None = setting(above_zero, default=None)
    """Rupees, as are target_profit and give_back."""
    target_profit: Decimal | None = setting(above_zero, default=None)
    give_back: Decimal | None = setting(above_zero, default=None)
    """Measured from the best figure."""
    since: Since = setting(word_of(Since), default=Since.PLACEMENT)
    buffer_ticks: int = setting(at_least(0), default=2)
    cancel_resting_first: bool = setting(flag, default=True)


def check(settings: Settings, fields: Fields, _: Body) -> None:
    if settings.max_loss is None and settings.target_profit is None and settings.give_back is None:
        raise fields.refusal(texts.NO_LIMIT_OF_A_STRATEGY)


def _form(settings: Settings, body: Body) -> FromPosition:
    return FromPosition(
        product=settings.product,
        instrument_ids=settings.instrument_ids,
        every_instrument=settings.every_instrument,
        cancel_resting_first=settings.cancel_resting_first,
        most=body.quantity,
    )


def settle(settings: Settings, body: Body, positions: Positions) -> Settings:
    found(body, positions, _form(settings, body), texts.NOTHING_TO_GUARD)
    return settings


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = JointPnl(
        instrument_ids=settings.instrument_ids,
        every_instrument=settings.every_instrument,
        product=settings.product,
        loss=settings.max_loss,
        profit=settings.target_profit,
        give_back=settings.give_back,
        since=settings.since,
    )
    price = Marketable(buffer_ticks=settings.buffer_ticks, follow=True)
    return order(body, path, price, quantity=_form(settings, body), when=when, closes=True)


PRESET = Preset(
    name="strategy_stop",
    title="closes several positions when their joint profit and loss passes a limit",
    settings=Settings,
    tree=tree,
    check=check,
    engine_priced=True,
    sized=False,
    references=Refs.NEVER,
    takes_price_reference=False,
    sees_market=True,
    settle=settle,
)
