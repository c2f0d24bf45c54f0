"""cover: an entry with a compulsory stop (order-engine 3.11; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import NativeStop
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import (
    check_entry_not_past,
    check_entry_side,
    check_stop_limit,
    entry_price,
)
from onebroker.actors.engine.presets.part_builders import body_price, exit_order, linked, order
from onebroker.actors.engine.presets.preset import Holding, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting


@attrs.frozen(kw_only=True)
class Settings:
    stop_price: Decimal = setting(PRICE)
    stop_limit_price: Decimal = setting(PRICE)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_stop_limit(fields, body, settings.stop_price, settings.stop_limit_price, "cover")
    entry = entry_price(body)
    if entry is not None:
        check_entry_side(body, "stop_price", settings.stop_price, entry, gains=False)


def tree(settings: Settings, body: Body, path: str) -> Part:
    stop = NativeStop(trigger_price=settings.stop_price, limit_price=settings.stop_limit_price)
    return order(body, path, body_price(body), each_fill=exit_order(body, linked(path), stop, compulsory=True))


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """A MARKET entry is judged by the last price, where it is known."""
    check_entry_not_past(body, market)
    quote = market.seen(body.instrument.instrument_id)
    if entry_price(body) is None and quote is not None and quote.last_price is not None:
        check_entry_side(body, "stop_price", settings.stop_price, quote.last_price, gains=False)


PRESET = Preset(
    name="cover",
    title="entry with compulsory stop",
    settings=Settings,
    tree=tree,
    check=check,
    hold=Holding.BY_SWITCH,
    check_market=check_market,
)
