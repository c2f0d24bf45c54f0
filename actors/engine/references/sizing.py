"""Turns a quantity reference into side, quantity and the brokers that hold the position (rules 2.6; order-engine 4.1, closing a position that
several brokers hold). Pure."""

from collections.abc import Iterable, Mapping

import attrs

from onebroker.actors.engine.orders.reference_values import QuantityKind, QuantityReference
from onebroker.actors.portfolio.position_view import position_product
from onebroker.brokers.records import PositionRow
from onebroker.config.messages import references as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Side


@attrs.frozen(kw_only=True)
class Sized:
    """The side, quantity and shares to send."""

    side: Side
    quantity: int
    shares: tuple[tuple[str, int], ...]
    """(broker, units), the largest holding first; the units add up to the quantity. One entry when a single broker holds everything."""


def close(reference: QuantityReference, quantity: int | None, nets: Mapping[str, int]) -> Sized:
    """Size an order that closes a position; `nets` are the signed net units by broker, `quantity` the body's own.

    Raises Refusal 409 when there is no position.
    """
    position = sum(nets.values())
    if position == 0:
        raise Refusal(409, texts.no_position(reference.kind))
    side = Side.SELL if position > 0 else Side.BUY
    whole = abs(position)
    wanted = min(quantity or whole, whole) if reference.kind is QuantityKind.REDUCE else whole
    return Sized(side=side, quantity=wanted, shares=tuple(_shares(wanted, side, nets)))


def _shares(quantity: int, side: Side, nets: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    """Yield each broker's share: never more than the broker holds, so that no position is opened there."""
    held = {broker: -net * side.sign for broker, net in nets.items() if net * side.sign < 0}
    left = quantity
    for broker in sorted(held, key=lambda code: (-held[code], code)):
        if left:
            share = min(held[broker], left)
            yield broker, share
            left -= share


def net_units(broker: str, rows: Iterable[PositionRow], token: str, product: str | None) -> int:
    """Return the units of one instrument that a broker's rows show, signed; `product` as a position's word, None = all products added up.

    Raises Refusal 503 when the rows do not show it.
    """
    own = [row for row in rows if row.instrument_token == token and product in (None, position_product(row.product))]
    nets = [row for row in own if row.view == "net"]
    if not nets and any(row.quantity != 0 for row in own):
        raise Refusal(503, texts.no_net_rows(broker))
    total = 0
    for row in nets:
        if row.quantity is None:
            raise Refusal(503, texts.units_unknown(broker))
        total += row.quantity
    return total
