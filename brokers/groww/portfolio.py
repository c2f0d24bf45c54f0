"""Groww's positions, holdings and funds.

Source: docs/brokers/groww.md, sections 4 and 7 (documentation, portfolio and margin). The page leaves two things open,
and a row's own figures decide them: whether today's legs include the carried ones, and whether a holding's quantity
includes the T1 units.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import read_rows, read_views
from onebroker.brokers.codec.fields import Row
from onebroker.brokers.groww import wire
from onebroker.brokers.groww.values import CASH, PRODUCTS, Name
from onebroker.brokers.records import FundsRow, FundsSegment, HoldingRow, Listing, PositionRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse


def position_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield one call for all segments: it names none."""
    yield wire.request(access, CallKind.READ, "GET", wire.POSITIONS)


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return both views of the same list: the net view of every row, the day view of rows that traded today."""

    def views(row: Row) -> list[PositionRow]:
        return [_net_row(row), _day_row(row)] if any(_today(row)) else [_net_row(row)]

    return read_views(wire.listed(responses[0], "positions"), views)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.HOLDINGS)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    return read_rows(wire.listed(responses[0], "holdings"), _holding_row)


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.FUNDS)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the one purse. Groww gives the free amount per product: in each segment the smallest counts. The amount free
    for shares counts for the whole (an account without derivatives has nothing free there)."""
    answer = wire.payload(responses[0])
    derivatives, equity = fields.part(answer, "fno_margin_details"), fields.part(answer, "equity_margin_details")
    free = {
        "equity": _least(equity, ("cnc_balance_available", "mis_balance_available")),
        "derivatives": _least(derivatives, _DERIVATIVE_BALANCES),
    }
    return FundsRow(
        available_balance=free["derivatives"] if free["equity"] is None else free["equity"],
        cash_balance=fields.number(answer.get("clear_cash")),
        collateral_value=fields.rupee_sum((answer.get("collateral_available"), answer.get("collateral_used"))),
        adhoc_credit=fields.number(answer.get("adhoc_margin")),
        margin_utilized=fields.number(answer.get("net_margin_used")),
        span_margin=fields.number(derivatives.get("span_margin_used")),
        exposure_margin=fields.number(derivatives.get("exposure_margin_used")),
        other_margin=fields.number(answer.get("brokerage_and_charges")),
        segments={
            "equity": FundsSegment(
                available_balance=free["equity"],
                margin_utilized=_used(equity, "net_equity_margin_used"),
            ),
            "derivatives": FundsSegment(
                available_balance=free["derivatives"],
                margin_utilized=_used(derivatives, "net_fno_margin_used"),
                span_margin=fields.number(derivatives.get("span_margin_used")),
                exposure_margin=fields.number(derivatives.get("exposure_margin_used")),
            ),
        },
    )


_DERIVATIVE_BALANCES = ("future_balance_available", "option_buy_balance_available", "option_sell_balance_available")


def _least(row: Row, names: Iterable[str]) -> float | None:
    return min((figure for name in names if (figure := fields.number(row.get(name))) is not None), default=None)


def _used(row: Row, name: str) -> float | None:
    """Return a segment's margin; in the documents' sample equity's is negative while the total is positive."""
    figure = fields.number(row.get(name))
    return None if figure is None else abs(figure)


# --- positions ---------------------------------------------------------------------------------------------------------


def _today(row: Row) -> tuple[int, int]:
    """Return what was bought and sold today. Credit means bought, debit means sold (documentation's wording)."""
    bought, sold = fields.quantity(row, "credit_quantity"), fields.quantity(row, "debit_quantity")
    if not _holds_carried(row):
        return bought, sold
    carried_in, carried_out = _carried(row)
    return bought - carried_in, sold - carried_out


def _carried(row: Row) -> tuple[int, int]:
    bought = fields.quantity(row, "carry_forward_credit_quantity")
    return bought, fields.quantity(row, "carry_forward_debit_quantity")


def _holds_carried(row: Row) -> bool:
    """Tell whether the legs include the carried ones. The documents do not say it: the net quantity shows it.

    A short position may come without its sign, so the size decides where the quantity with its sign fits neither way.
    Raises `BadAnswer` when the size fits neither way.
    """
    carried = _carried(row)
    legs = fields.quantity(row, "credit_quantity") - fields.quantity(row, "debit_quantity")
    apart, net = legs + carried[0] - carried[1], fields.quantity(row, "quantity")
    for inside, quantity in ((False, apart), (True, legs), (False, -apart), (True, -legs)):
        if quantity == net:
            return inside
    raise BadAnswer("a position whose quantities do not add up")


def _value(*legs: tuple[int, object]) -> float | None:
    """Add up quantity x price of legs; an empty leg counts nothing. None where a leg that is not empty has no price."""
    priced = [(quantity, fields.number(price)) for quantity, price in legs if quantity]
    amounts = [quantity * price for quantity, price in priced if price is not None]
    return sum(amounts, 0.0) if len(amounts) == len(priced) else None


def _net_row(row: Row) -> PositionRow:
    name, product = Name.of_row(row), PRODUCTS.read(row.get("product"))
    bought, sold = _today(row)
    carried_in, carried_out = _carried(row)
    quantity = bought + carried_in - sold - carried_out
    inside = _holds_carried(row)
    today_in, today_out = (row.get("credit_price"), row.get("debit_price"))
    carried_in_price, carried_out_price = (
        row.get("carry_forward_credit_price"),
        row.get("carry_forward_debit_price"),
    )
    if inside:  # the legs' prices are those of both parts together
        carried_in_price, carried_out_price = today_in, today_out
    return PositionRow(
        position_key=f"{name.token}:{product}",
        view="net",
        product=product,
        instrument_token=name.token,
        tradingsymbol=name.symbol,
        exchange=name.exchange,
        quantity=quantity,
        overnight_quantity=carried_in - carried_out,
        buy_quantity=bought + carried_in,
        sell_quantity=sold + carried_out,
        buy_value=_value((bought, today_in), (carried_in, carried_in_price)),
        sell_value=_value((sold, today_out), (carried_out, carried_out_price)),
        average_price=fields.price(row.get("net_price")) if quantity else None,
        realized=fields.number(row.get("realised_pnl")),
    )


def _day_row(row: Row) -> PositionRow:
    """Return today's part of a row. Its result is not reported separately; its average is known only where the legs are today's."""
    name, product = Name.of_row(row), PRODUCTS.read(row.get("product"))
    bought, sold = _today(row)
    inside = _holds_carried(row) and any(_carried(row))
    average = row.get("credit_price") if bought > sold else row.get("debit_price")
    return PositionRow(
        position_key=f"{name.token}:{product}",
        view="day",
        product=product,
        instrument_token=name.token,
        tradingsymbol=name.symbol,
        exchange=name.exchange,
        quantity=bought - sold,
        overnight_quantity=0,
        buy_quantity=bought,
        sell_quantity=sold,
        buy_value=None if inside else _value((bought, row.get("credit_price"))),
        sell_value=None if inside else _value((sold, row.get("debit_price"))),
        average_price=None if inside or bought == sold else fields.price(average),
    )


# --- holdings ----------------------------------------------------------------------------------------------------------

_SETTLED_PARTS = ("demat_free_quantity", "demat_locked_quantity", "groww_locked_quantity", "pledge_quantity")


def _holding_row(row: Row) -> HoldingRow:
    """Read a holding. Rows carry no exchange: a holding listed at NSE is taken as NSE's, and its ISIN identifies it anyway."""
    symbol, exchange = fields.required(row, "trading_symbol"), _exchange(row)
    t1 = fields.quantity(row, "t1_quantity")
    quantity = fields.quantity(row, "quantity")
    return HoldingRow(
        instrument_token=Name(exchange, CASH, symbol).token,
        tradingsymbol=symbol,
        exchange=exchange,
        isin=fields.text(row.get("isin")),
        settled_quantity=quantity - t1 if _holds_t1(row, quantity, t1) else quantity,
        t1_quantity=t1,
        # Units that the broker pledged on (repledge) are still pledged units.
        collateral_quantity=fields.quantity(row, "pledge_quantity"),
        average_price=fields.price(row.get("average_price")),
    )


def _exchange(row: Row) -> str:
    listed = row.get("tradable_exchanges")
    named = [str(exchange).upper() for exchange in listed] if isinstance(listed, list) else []
    return "NSE" if not named or "NSE" in named else named[0]


def _holds_t1(row: Row, quantity: int, t1: int) -> bool:
    """Tell whether the quantity includes the T1 units: the settled parts add up either to all of it, or to all without
    the T1 units.

    Where neither sum fits, the quantity is assumed to include them, so that nothing is counted twice.
    """
    if not t1:
        return False
    settled = sum(fields.quantity(row, name) for name in _SETTLED_PARTS)
    return settled != quantity and quantity >= t1
