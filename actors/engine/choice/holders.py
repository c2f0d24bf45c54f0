"""One account, not one broker: which brokers hold the units that an order takes away (order-engine 4.1). Pure.

The brokers see their own account only. A SELL of 20 shares that lie at two brokers, 10 at each, is a sale for the caller and a new short for a
third broker. Two rules follow.

A delivery sale (a SELL in CNC) goes to a broker that can deliver the whole order. There is no short in delivery: the broker refuses the order, or
the shares are missing two days later and the exchange buys them in an auction. A broker can deliver

    its holdings (settled and T1) + today's delivery purchases - today's delivery sales - units of its other open delivery sales.

Holdings are found by ISIN: shares bought on the NSE may be sold on the BSE. So today's trades and the open sales of the same share at the other
exchange count too (`share_tokens` in books/settled_positions.py). Today's trades come from the positions. In the seconds after a fill the positions may not show
it yet; then the order book is added up. It knows every fill of today, and lacks only a conversion from MIS that a person made in these seconds.

If the holdings of a broker are not known, neither is the answer. Such a broker gets no sale by itself: a broker that surely holds the shares may
exist, and with several unread brokers the choice would be a guess. It gets a sale that names it, because the broker itself checks the order,
and a person who sees the shares in the broker's app must be able to sell them. A close that is pinned to its broker is never stopped here.

Any other sale may open a short, and a purchase may open a position beside a short. This is allowed (rules 2.4.2), but it is rarely meant. Holders
come first in the ranking, also those that hold only a part, and the answer says what the order opens (`opens_beside`).
"""

from collections.abc import Mapping

from onebroker.actors.engine.choice.broker_checks import Deliverable
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.choice.ranking import is_alternative, standing_units, towards
from onebroker.actors.sessions.session_view import SessionView
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import Product, Side


def is_delivery_sale(order: LegOrder) -> bool:
    return order.product == Product.CNC and order.transaction_type == Side.SELL


def deliverable(
    order: LegOrder,
    nets: Mapping[str, int | None],
    view: SessionView,
    *,
    in_holdings: int | None,
    in_flight: int,
    alternatives: frozenset[str],
) -> Deliverable:
    """Return what a broker can deliver of the order's share. `nets`: the broker's tokens of the share at both exchanges -> the net delivery position,
    None where it does not agree with the fills (4.11). `in_holdings`: settled and T1 units of the share, None where they are not
    known. `in_flight`: units of other delivery sales on their way. `alternatives`: the ids of orders of which only one fills, this one or another."""
    tokens = nets.keys()
    shown = (*view.orders.values(), *view.unseen.values())
    others = [row for row in shown if not is_alternative(row, alternatives)]
    standing = sum(standing_units(others, token, Product.CNC, Side.SELL) for token in tokens)
    today = sum(_bought_today(view, token) if net is None else net for token, net in nets.items())
    units = max(0, (in_holdings or 0) + today - standing - in_flight)
    is_read = "holdings" not in view.read_errors
    return Deliverable(units=units, known=is_read and (in_holdings is not None or units >= order.quantity))


def _bought_today(view: SessionView, token: str) -> int:
    """Return the units that today's delivery orders added to the account, negative when more were sold; without any fill, what the broker shows."""
    place = (token, Product.CNC)
    filled = [
        row for row in view.orders.values() if row.filled_quantity and (row.instrument_token, row.product) == place
    ]
    if not filled and "positions" not in view.read_errors:
        rows = (row for row in view.positions if (row.instrument_token, row.product) == place and row.view == "net")
        return sum(row.quantity or 0 for row in rows)
    return sum(Side(row.transaction_type).sign * row.filled_quantity for row in filled)


def opens_beside(order: LegOrder, broker: str, held: Mapping[str, int]) -> str | None:
    """Return the warning when the order opens a position at `broker` although other brokers hold units that it could take away. `held`: broker ->
    signed net units in the product.

    None for a delivery order: a delivery sale goes where it can be delivered, and a delivery row below zero is a sale out of the holdings, not a
    short. None for an exit too: it closes what its own plan opened.
    """
    if order.exit or order.product == Product.CNC:
        return None
    opened = order.quantity - min(order.quantity, towards(order, held.get(broker, 0)))
    elsewhere = {code: units for code in sorted(held) if code != broker and (units := towards(order, held[code])) > 0}
    if not opened or not elsewhere:
        return None
    return texts.opens_beside(
        list(elsewhere), sum(elsewhere.values()), opened, broker, is_sale=order.transaction_type == Side.SELL
    )


def not_delivered(order: LegOrder, able: Mapping[str, Deliverable]) -> tuple[int, str]:
    """Return status and sentence when no broker can deliver the whole order; `able`: what each broker can deliver.

    409, because nothing was sent and what is held conflicts with the order, as for a reference that finds no position (rules 8). It is not a 422:
    this is the answer of a broker that got the order. 503 while the holdings of a broker could not be read, or when a broker that holds enough
    cannot take the order now: later the same order may be taken. An order that names its broker is told who else holds the share.
    """
    holders = {code: one.units for code, one in sorted(able.items()) if one.units}
    unread = sorted(code for code, one in able.items() if not one.known)
    if order.broker is not None:
        own = able[order.broker].units if order.broker in able else 0
        cannot = texts.pinned_cannot(order.broker, texts.cannot_deliver(own, order.quantity))
        return 409, texts.pinned_not_deliverable(
            cannot, {code: units for code, units in holders.items() if code != order.broker}
        )
    is_temporary = bool(unread) or any(units >= order.quantity for units in holders.values())
    return (503 if is_temporary else 409), texts.not_deliverable(order.quantity, holders, unread)


def shown_holders(able: Mapping[str, Deliverable]) -> list[dict[str, object]]:
    """Return `holders` of the refusal: the brokers that can deliver a part, and the brokers whose holdings are not known (quantity null)."""
    return [
        {"broker": code, "quantity": one.units if one.known else None}
        for code, one in sorted(able.items())
        if one.units or not one.known
    ]
