"""oco: a stop and a target on a held position, each shrinking as the other fills (order-engine 3.31; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Fixed, NativeStop
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import check_further, check_not_past
from onebroker.actors.engine.presets.part_builders import child, order, shrinking
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.config.messages import presets_exits as texts


@attrs.frozen(kw_only=True)
class Settings:
    stop_price: Decimal = setting(PRICE)
    stop_limit_price: Decimal = setting(PRICE)
    target_price: Decimal = setting(PRICE)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_further(fields, body, ("stop_price", "target_price"), settings.stop_price, settings.target_price)
    if not body.sided_later and (settings.stop_limit_price - settings.stop_price) * body.side.sign < 0:
        raise fields.refusal(texts.own_stop_limit_wrong_side(body.side, "oco"))


def tree(settings: Settings, body: Body, path: str) -> Part:
    stop = NativeStop(trigger_price=settings.stop_price, limit_price=settings.stop_limit_price)
    exits = (
        order(body, child(path, 0), stop, closes=True),
        order(body, child(path, 1), Fixed(settings.target_price), closes=True),
    )
    return shrinking(path, exits)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    check_not_past(body, market, "stop_price", settings.stop_price, body.side)


PRESET = Preset(
    name="oco",
    title="stop and target on a held position, each shrinking as the other fills",
    settings=Settings,
    tree=tree,
    check=check,
    engine_priced=True,
    takes_price_reference=False,
    legs=True,
    check_market=check_market,
)
