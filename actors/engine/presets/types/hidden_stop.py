"""hidden_stop: a stop kept in the engine, with an optional real backstop (order-engine 3.20; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Condition, Direction, OneCancelsOthersPart, Part, PriceAt, Rule
from onebroker.actors.engine.plan.price_kinds import Marketable, NativeStop
from onebroker.actors.engine.plan.reading.value_rules import at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import check_further, check_own_limit
from onebroker.actors.engine.presets.part_builders import child, order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import PRICE, Reading, setting
from onebroker.config.messages import presets_exits as texts
from onebroker.config.vocabulary import Side


def _check_backstop(reading: Reading) -> None:
    """The backstop has both of its prices or neither; it must be further out than the trigger.

    It is judged before the setting that candle_close_stop adds.
    """
    stop, limit = reading["backstop_price"], reading["backstop_limit_price"]
    if (stop is None) != (limit is None):
        raise reading.fields.refusal(texts.BACKSTOP_PAIR)
    if stop is not None:
        trigger, names = reading["trigger_price"], ("backstop_price", "backstop_limit_price")
        check_further(reading.fields, reading.body, ("backstop_price", "trigger_price"), stop, trigger)
        check_own_limit(reading.fields, reading.body, names, stop, limit)


@attrs.frozen(kw_only=True)
class Settings:
    trigger_price: Decimal = setting(PRICE)
    backstop_price: Decimal | None = setting(PRICE, default=None)
    backstop_limit_price: Decimal | None = setting(PRICE, default=None)
    buffer_ticks: int = setting(at_least(0), default=2, check=_check_backstop)


def falls_or_rises(body: Body) -> Direction:
    """Return the direction in which the price reaches a stop of the body's side: downwards for a SELL."""
    return Direction.BELOW if body.side is Side.SELL else Direction.ABOVE


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = PriceAt(
        instrument_id=body.instrument.instrument_id, level=settings.trigger_price, direction=falls_or_rises(body)
    )
    return exit_when(settings, body, path, when)


def exit_when(settings: Settings, body: Body, path: str, when: Condition) -> Part:
    """Return the exit that waits for its condition, together with the backstop when there is one."""
    price = Marketable(buffer_ticks=settings.buffer_ticks, follow=True)
    if settings.backstop_price is None:
        return order(body, path, price, when=when, closes=True)
    backstop = NativeStop(trigger_price=settings.backstop_price, limit_price=settings.backstop_limit_price)
    children = (
        order(body, child(path, 0), price, when=when, closes=True),
        order(body, child(path, 1), backstop, closes=True),
    )
    return OneCancelsOthersPart(path=path, rule=Rule.TRIGGER, children=children)


PRESET = Preset(
    name="hidden_stop",
    title="stop kept in the engine with optional real backstop",
    settings=Settings,
    tree=tree,
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
)
