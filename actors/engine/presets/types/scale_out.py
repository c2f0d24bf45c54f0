"""scale_out: a bracket with several targets (order-engine 3.38; rules 2.7)."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal
from itertools import pairwise

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part, Share
from onebroker.actors.engine.plan.price_kinds import Fixed, NativeStop
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import Accepts, Kind, at_least, price, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import (
    check_entry_not_past,
    check_entry_side,
    check_stop_limit,
    entry_price,
)
from onebroker.actors.engine.presets.part_builders import body_price, child, exit_order, linked, order, shrinking
from onebroker.actors.engine.presets.preset import Holding, Preset
from onebroker.actors.engine.presets.settings import PRICE, Reading, RuleOfOrder, own_reading, setting
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import presets_exits as texts

FEWEST_TARGETS, MOST_TARGETS = 2, 10
_SHARE = Decimal("1e-20")
"""Precision of a share. The last share takes the remainder, so that all shares add up to exactly 1."""


@own_reading(Accepts(kind=Kind.LIST, least=FEWEST_TARGETS, most=MOST_TARGETS, item=PRICE.accepts), required=True)
def _targets(reading: Reading, name: str) -> tuple[Decimal, ...]:
    items = reading.fields.items(name, FEWEST_TARGETS, MOST_TARGETS)
    rule = price(reading.body.tick)
    return tuple(reading.fields.judge(rule, item, f"{name}.{index}") for index, item in enumerate(items))


@own_reading(Accepts(kind=Kind.LIST, least=FEWEST_TARGETS, most=MOST_TARGETS, item=at_least(1).accepts), required=False)
def _quantities(reading: Reading, _: str) -> tuple[int, ...] | None:
    """Return the units of each target: the caller's, or equal lots, with spare lots for the first target."""
    fields, body, targets = reading.fields, reading.body, len(reading["target_prices"])
    given = _given_quantities(fields, body, targets)
    if body.quantity is None:
        return given
    if given is not None:
        if sum(given) != body.quantity:
            raise fields.refusal(texts.QUANTITIES_NOT_THE_ORDER_S)
        return given
    lots = body.quantity // body.lot
    if lots < targets:
        raise fields.refusal(texts.lots_for_targets(targets, body.lot))
    each, spare = divmod(lots, targets)
    return tuple((each + (spare if number == 0 else 0)) * body.lot for number in range(targets))


def _given_quantities(fields: Fields, body: Body, targets: int) -> tuple[int, ...] | None:
    if not fields.has("target_quantities"):
        return None
    found = []
    for index, item in enumerate(fields.items("target_quantities", targets, targets)):
        name = f"target_quantities.{index}"
        units = fields.judge(at_least(1), item, name)
        if units % body.lot:
            raise fields.refusal(order_texts.whole_lots(name, body.lot))
        found.append(units)
    return tuple(found)


_ONE_OF_THE_TARGETS = RuleOfOrder(
    whole_from(1, MOST_TARGETS).accepts, lambda reading: whole_from(1, len(reading["target_prices"]))
)


@attrs.frozen(kw_only=True)
class Settings:
    target_prices: tuple[Decimal, ...] = setting(_targets)
    stop_price: Decimal = setting(PRICE)
    stop_limit_price: Decimal = setting(PRICE)
    breakeven_after: int | None = setting(_ONE_OF_THE_TARGETS, default=None)
    """After this many filled targets the stop moves to the entry's average."""
    target_quantities: tuple[int, ...] | None = setting(_quantities)
    """Units; None while the order's quantity is not known."""


def check(settings: Settings, fields: Fields, body: Body) -> None:
    pairs = pairwise(settings.target_prices)
    if not body.sided_later and any((one - before) * body.side.sign <= 0 for before, one in pairs):
        raise fields.refusal(texts.each_further(body.side))
    check_stop_limit(fields, body, settings.stop_price, settings.stop_limit_price, "scale_out")
    entry = entry_price(body)
    if entry is not None:
        _check_entry(body, settings, entry)


def _check_entry(body: Body, settings: Settings, entry: Decimal) -> None:
    check_entry_side(body, "stop_price", settings.stop_price, entry, gains=False)
    check_entry_side(body, "target_prices.0", settings.target_prices[0], entry, gains=True)


def shares_of(quantities: Sequence[int] | None, targets: int) -> tuple[Decimal, ...]:
    """Return the share of the fills that goes to each target; the shares add up to exactly 1."""
    weights = quantities or (1,) * targets
    total = sum(weights)
    first = [(Decimal(weight) / total).quantize(_SHARE, ROUND_DOWN) for weight in weights[:-1]]
    return (*first, 1 - sum(first, Decimal(0)))


def tree(settings: Settings, body: Body, path: str) -> Part:
    link = linked(path)
    stop = NativeStop(trigger_price=settings.stop_price, limit_price=settings.stop_limit_price)
    shares = shares_of(settings.target_quantities, len(settings.target_prices))
    targets = (
        exit_order(body, child(link, number), Fixed(target), quantity=Share(share))
        for number, (target, share) in enumerate(zip(settings.target_prices, shares, strict=True), 1)
    )
    exits = shrinking(
        link, (exit_order(body, child(link, 0), stop), *targets), breakeven_after=settings.breakeven_after
    )
    return order(body, path, body_price(body), each_fill=exits)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """A MARKET entry is judged by the last price, where it is known."""
    check_entry_not_past(body, market)
    quote = market.seen(body.instrument.instrument_id)
    if entry_price(body) is None and quote is not None and quote.last_price is not None:
        _check_entry(body, settings, quote.last_price)


PRESET = Preset(
    name="scale_out",
    title="bracket with several targets",
    settings=Settings,
    tree=tree,
    check=check,
    hold=Holding.BY_SWITCH,
    check_market=check_market,
)
