"""strategy_stop: closes several positions when their joint profit and loss passes a limit (order-engine 3.45)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.held import Positions
from onebroker.actors.engine.plan.parts import FromPosition, JointPnl, Part, Since
from onebroker.actors.engine.plan.prices import Marketable
from onebroker.actors.engine.plan.reading.conditions import read_instruments
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import above_zero, at_least, flag, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.positions import found, read_product
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.config.messages import plan as plan_texts
from onebroker.config.messages import presets_exits as texts


@attrs.frozen(kw_only=True)
class Settings:
    instrument_ids: tuple[str, ...]
    """Empty with `every_instrument`."""
    every_instrument: bool
    product: str | None
    max_loss: Decimal | None
    """Rupees, as are the next two fields."""
    target_profit: Decimal | None
    give_back: Decimal | None
    """Measured from the best figure."""
    since: Since
    buffer_ticks: int
    cancel_resting_first: bool


def read(fields: Fields, body: Body) -> Settings:
    ids, every = read_instruments(fields, body.world)
    if not ids and not every:
        raise fields.refusal(plan_texts.INSTRUMENTS)
    settings = Settings(
        instrument_ids=ids,
        every_instrument=every,
        product=read_product(fields, "product"),
        max_loss=fields.optional("max_loss", above_zero, None),
        target_profit=fields.optional("target_profit", above_zero, None),
        give_back=fields.optional("give_back", above_zero, None),
        since=fields.optional("since", word_of(Since), Since.PLACEMENT),
        buffer_ticks=fields.optional("buffer_ticks", at_least(0), 2),
        cancel_resting_first=fields.optional("cancel_resting_first", flag, True),
    )
    if settings.max_loss is None and settings.target_profit is None and settings.give_back is None:
        raise fields.refusal(texts.NO_LIMIT_OF_A_STRATEGY)
    return settings


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
    read=read,
    tree=tree,
    engine_priced=True,
    sized=False,
    references=Refs.NEVER,
    takes_price_reference=False,
    sees_market=True,
    settle=settle,
)
