"""Whether a broker has the money that an order needs, as far as that can be known beforehand (order-engine 4.1, `check_funds`). Pure.

A BUY for delivery or of an option is paid in full. Intraday shares need at least a fifth of their value (SEBI's least margin since September
2021). For a future or a sold option, the exchange's risk system computes the need from the whole account, and only the broker can report it. The
broker's last figure counts for a while (`actors/engine/placing/margin_choice.py` asks for it). That figure is taken as the need of the order by itself. Where the account
already holds something in the same underlying, the need may be smaller, so the figure does not count. A sale of held shares needs nothing. An
unknown need is not checked: the broker decides.
"""

from decimal import Decimal

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.engine.choice.broker_checks import Candidate
from onebroker.actors.engine.choice.costs import Cost, group_of
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.sessions.session_view import MarginFigure, MarginKey
from onebroker.brokers.records import FundsRow
from onebroker.config.charges.rows import Group
from onebroker.config.money import exact
from onebroker.config.vocabulary import Side

INTRADAY_SHARE = Decimal("0.2")
MARGIN_COUNTS_SECONDS = 120.0
"""How long a broker's figure counts. The exchanges recompute the risk of a contract about six times a day."""

_FUTURES = frozenset({Group.EQUITY_FUTURES, Group.CURRENCY_FUTURES, Group.COMMODITY_FUTURES})
_OPTIONS = frozenset({Group.EQUITY_OPTIONS, Group.CURRENCY_OPTIONS, Group.COMMODITY_OPTIONS})

_POOLS = {"equity": ("equity",), "derivatives": ("derivatives", "equity"), "currency": ("currency", "derivatives", "equity"),
          "commodity": ("commodity",)}  # fmt: skip
"""Kind of trade -> the pools of money that may serve it, nearest first."""


def needed(order: LegOrder, price: Decimal | None, cost: Cost | None) -> Decimal | None:
    """Return roughly how many rupees the order needs; None when that cannot be known."""
    if price is None:
        return None
    group, buys = group_of(order.segment, order.product), Side(order.transaction_type) is Side.BUY
    value, charges = order.quantity * price, Decimal(cost.total if cost is not None else 0) / 100
    if group is Group.EQUITY_INTRADAY:
        return value * INTRADAY_SHARE + charges
    return value + charges if buys and (group is Group.EQUITY_DELIVERY or group in _OPTIONS) else None


def by_margin(order: LegOrder) -> bool:
    """Tell whether only brokers know what the order needs: futures, and sold options."""
    group = group_of(order.segment, order.product)
    return group in _FUTURES or (group in _OPTIONS and Side(order.transaction_type) is Side.SELL)


def margin_figure(candidate: Candidate, now: float) -> MarginFigure | None:
    """Return the last margin figure of the candidate's broker for such an order, while it counts; `now` in monotonic seconds."""
    listing, order = candidate.listing, candidate.order
    if listing is None:
        return None
    figure = candidate.view.margins.get(MarginKey(listing.broker_token, order.transaction_type, order.product))
    return figure if figure is not None and figure.asked_at > now - MARGIN_COUNTS_SECONDS else None


def told_margin(candidate: Candidate, snapshot: Snapshot | None, now: float) -> Decimal | None:
    """Return the margin of the order in rupees by the broker's figure. None when it gave none, or when the figure may not apply."""
    figure = margin_figure(candidate, now) if by_margin(candidate.order) else None
    if figure is None or figure.per_unit is None or _stands_in_underlying(candidate, snapshot):
        return None
    return figure.per_unit * candidate.order.quantity


def _stands_in_underlying(candidate: Candidate, snapshot: Snapshot | None) -> bool:
    """Whether the account there holds anything of the order's underlying, or may: a position that cannot be read or named counts as held."""
    view, wanted = candidate.view, candidate.order.instrument.identity
    if snapshot is None or view.positions_read_started is None or "positions" in view.read_errors:
        return True
    for row in view.positions:
        if row.view != "net" or row.quantity == 0:
            continue
        instrument_id = snapshot.by_token(candidate.broker.code, row.instrument_token)
        held = None if instrument_id is None else snapshot.instrument(instrument_id)
        if held is None or wanted.underlying_symbol in (held.identity.underlying_symbol, held.identity.symbol):
            return True
    return False


def available(order: LegOrder, broker: str, document: DocumentState | None) -> Decimal | None:
    """Return the free money in rupees that the funds document shows for this kind of trade; None when it shows none for this broker."""
    reads = () if document is None else document.reads
    read = next((read for read in reads if read.broker == broker and read.usable), None)
    row = read.slice.rows if read is not None and read.slice is not None else None
    if not isinstance(row, FundsRow):
        return None
    kind = (
        "derivatives"
        if order.calendar == "equity" and order.segment.endswith(("_futures", "_options"))
        else order.calendar
    )
    pool = next((row.pools[name] for name in _POOLS[kind] if name in row.pools), row.available_balance)
    return None if pool is None else exact(pool)
