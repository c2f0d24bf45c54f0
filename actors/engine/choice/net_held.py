"""What a broker holds of an order's instrument and product: the units that the order may take away from. Pure."""

from collections.abc import Sequence

from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.records import Listing, PositionRow
from onebroker.config.vocabulary import Product, Side


def net_held(
    order: LegOrder,
    listing: Listing | None,
    view: SessionView,
    positions: Sequence[PositionRow] | None = None,
    in_holdings: int | None = None,
) -> int:
    """Return the net units held there, negative when short: the net position, and for a CNC sell also the holdings. A list whose last read failed
    counts as empty. `positions`: the rows as they agree with the fills (order-engine 4.11); `in_holdings`: the share's units by all reads of the day.
    None = as the broker shows them now."""
    if listing is None:
        return 0
    token, product = listing.broker_token, order.product
    held = 0
    if "positions" not in view.read_errors:
        # A quantity that is not known in units reduces nothing (the instrument takes no orders there either).
        held = sum(
            row.quantity or 0
            for row in (view.positions if positions is None else positions)
            if row.instrument_token == token and row.product == product and row.view == "net"
        )
    if product == Product.CNC and order.transaction_type == Side.SELL and "holdings" not in view.read_errors:
        isin = order.instrument.isin
        shown = sum(
            row.settled_quantity + row.t1_quantity
            for row in view.holdings
            if row.instrument_token == token or (isin is not None and row.isin == isin)
        )
        held += shown if in_holdings is None else in_holdings
    return held
