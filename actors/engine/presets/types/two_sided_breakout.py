"""two_sided_breakout: a buy stop above and a sell stop below a range (order-engine 3.50; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import OneCancelsOthersPart, OrderPart, Part, Rule
from onebroker.actors.engine.plan.price_kinds import ExitOrder, FromParentFill, NativeStop
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import above_zero
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import check_carries, check_not_past
from onebroker.actors.engine.presets.part_builders import child, exit_order, linked, order, shrinking
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.config.messages import presets_exits as texts
from onebroker.config.vocabulary import Side


@attrs.frozen(kw_only=True)
class Settings:
    buy_trigger: Decimal = setting(PRICE)
    buy_limit: Decimal = setting(PRICE)
    sell_trigger: Decimal = setting(PRICE)
    sell_limit: Decimal = setting(PRICE)
    stop_distance: Decimal = setting(above_zero)
    stop_limit_offset: Decimal = setting(above_zero)
    target_distance: Decimal | None = setting(above_zero, default=None)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    if settings.buy_trigger <= settings.sell_trigger:
        raise fields.refusal(texts.BUY_ABOVE_SELL)
    if settings.buy_limit < settings.buy_trigger:
        raise fields.refusal(texts.BUY_LIMIT_BELOW)
    if settings.sell_limit > settings.sell_trigger:
        raise fields.refusal(texts.SELL_LIMIT_ABOVE)
    stop = settings.buy_trigger - settings.stop_distance - settings.stop_limit_offset
    check_carries(body, "stop_distance and stop_limit_offset", stop)
    if settings.target_distance is not None:
        check_carries(body, "sell_limit and target_distance", settings.sell_limit - settings.target_distance)


def tree(settings: Settings, body: Body, path: str) -> Part:
    children = (
        _side(settings, body, child(path, 0), Side.BUY),
        _side(settings, body, child(path, 1), Side.SELL),
    )
    return OneCancelsOthersPart(path=path, rule=Rule.CANCEL, children=children)


def _side(settings: Settings, body: Body, path: str, side: Side) -> OrderPart:
    buys = side is Side.BUY
    stop = NativeStop(
        trigger_price=settings.buy_trigger if buys else settings.sell_trigger,
        limit_price=settings.buy_limit if buys else settings.sell_limit,
    )
    return order(body, path, stop, side=side, each_fill=_exits(settings, body, linked(path), side.opposite))


def _exits(settings: Settings, body: Body, link: str, side: Side) -> Part:
    stop = FromParentFill(
        order=ExitOrder.STOP, distance=settings.stop_distance, limit_offset=settings.stop_limit_offset
    )
    if settings.target_distance is None:
        return exit_order(body, link, stop, side=side)
    target = FromParentFill(order=ExitOrder.LIMIT, distance=settings.target_distance)
    exits = (exit_order(body, child(link, number), price, side=side) for number, price in enumerate((stop, target)))
    return shrinking(link, exits)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    check_not_past(body, market, "buy_trigger", settings.buy_trigger, Side.BUY)
    check_not_past(body, market, "sell_trigger", settings.sell_trigger, Side.SELL)


PRESET = Preset(
    name="two_sided_breakout",
    title="buy stop above and sell stop below a range, exits set from the fill",
    settings=Settings,
    tree=tree,
    check=check,
    engine_priced=True,
    references=Refs.NEVER,
    takes_price_reference=False,
    legs=True,
    check_market=check_market,
)
