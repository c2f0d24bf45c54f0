"""scale_out: a bracket with several targets (order-engine 3.38; rules 2.7)."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal
from itertools import pairwise

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part, Share
from onebroker.actors.engine.plan.prices import Fixed, NativeStop
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import at_least, price, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import body_price, child, exit_order, linked, order, shrinking
from onebroker.actors.engine.presets.exits import check_entry_not_past, check_entry_side, check_stop_limit, entry_price
from onebroker.actors.engine.presets.preset import Holding, Preset
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import presets_exits as texts

FEWEST_TARGETS, MOST_TARGETS = 2, 10
_SHARE = Decimal("1e-20")
"""Precision of a share. The last share takes the remainder, so that all shares add up to exactly 1."""


@attrs.frozen(kw_only=True)
class Settings:
    target_prices: tuple[Decimal, ...]
    stop_price: Decimal
    stop_limit_price: Decimal
    breakeven_after: int | None
    """After this many filled targets the stop moves to the entry's average."""
    target_quantities: tuple[int, ...] | None
    """Units; None while the order's quantity is not known."""


def read(fields: Fields, body: Body) -> Settings:
    targets = tuple(
        fields.judge(price(body.tick), item, f"target_prices.{index}")
        for index, item in enumerate(fields.items("target_prices", FEWEST_TARGETS, MOST_TARGETS))
    )
    settings = Settings(
        target_prices=targets,
        stop_price=fields.required("stop_price", price(body.tick)),
        stop_limit_price=fields.required("stop_limit_price", price(body.tick)),
        breakeven_after=fields.optional("breakeven_after", whole_from(1, len(targets)), None),
        target_quantities=_quantities(fields, body, len(targets)),
    )
    if not body.sided_later and any((one - before) * body.side.sign <= 0 for before, one in pairwise(targets)):
        raise fields.refusal(texts.each_further(body.side))
    check_stop_limit(fields, body, settings.stop_price, settings.stop_limit_price, "scale_out")
    entry = entry_price(body)
    if entry is not None:
        _check_entry(body, settings, entry)
    return settings


def _quantities(fields: Fields, body: Body, targets: int) -> tuple[int, ...] | None:
    """Return the units of each target: the caller's, or equal lots, with spare lots for the first target."""
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
    read=read,
    tree=tree,
    hold=Holding.BY_SWITCH,
    check_market=check_market,
)
