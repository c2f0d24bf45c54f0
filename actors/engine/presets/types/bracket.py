"""bracket: an entry, then a stop and a target sized to the filled quantity (order-engine 3.6; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Fixed, NativeStop
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import (
    check_entry_not_past,
    check_entry_side,
    check_stop_limit,
    entry_price,
)
from onebroker.actors.engine.presets.part_builders import body_price, child, exit_order, linked, order, shrinking
from onebroker.actors.engine.presets.preset import Holding, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting


@attrs.frozen(kw_only=True)
class Settings:
    stop_price: Decimal = setting(PRICE)
    stop_limit_price: Decimal = setting(PRICE)
    target_price: Decimal = setting(PRICE)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_stop_limit(fields, body, settings.stop_price, settings.stop_limit_price, "bracket")
    entry = entry_price(body)
    if entry is not None:
        _check_entry(body, settings, entry)


def _check_entry(body: Body, settings: Settings, entry: Decimal) -> None:
    check_entry_side(body, "stop_price", settings.stop_price, entry, gains=False)
    check_entry_side(body, "target_price", settings.target_price, entry, gains=True)


def tree(settings: Settings, body: Body, path: str) -> Part:
    link = linked(path)
    stop = NativeStop(trigger_price=settings.stop_price, limit_price=settings.stop_limit_price)
    exits = (
        exit_order(body, child(link, 0), stop),
        exit_order(body, child(link, 1), Fixed(settings.target_price)),
    )
    return order(body, path, body_price(body), each_fill=shrinking(link, exits))


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """A MARKET entry is judged by the last price, where it is known."""
    check_entry_not_past(body, market)
    quote = market.seen(body.instrument.instrument_id)
    if entry_price(body) is None and quote is not None and quote.last_price is not None:
        _check_entry(body, settings, quote.last_price)


PRESET = Preset(
    name="bracket",
    title="entry, then stop and target armed on first partial fill",
    settings=Settings,
    tree=tree,
    check=check,
    hold=Holding.BY_SWITCH,
    legs=True,
    check_market=check_market,
)
