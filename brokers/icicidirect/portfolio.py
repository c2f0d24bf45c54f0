"""ICICI Direct's positions, holdings and funds.

Source: docs/brokers/icicidirect.md, sections 4 and 7 (README samples, public notes). Positions are one list without
today's part. The demat account has ISIN and units; the portfolio has cost and undelivered units: a holding joins both.
Money must be allocated to a segment before it can be used for trading.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import made_of, read_rows, read_some
from onebroker.brokers.icicidirect import naming, wire
from onebroker.brokers.icicidirect.values import PRODUCTS, SIDES
from onebroker.brokers.records import FundsRow, FundsSegment, HoldingRow, Listing, PositionRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.config.vocabulary import Product

HOLDINGS_EXCHANGE = "NSE"
"""There is one demat account for all exchanges; the portfolio is requested under NSE."""

POOLS = {"equity": "equity", "derivatives": "fno", "currency": "currency", "commodity": "commodity"}
"""Our segment -> the ending of the broker's fields."""


def position_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.POSITIONS)


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return the net view. The broker has no other view, and does not report what was bought, sold, carried or realized."""
    return read_rows(wire.rows(responses[0]), _position_row)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.DEMAT_HOLDINGS)
    body = {"exchange_code": HOLDINGS_EXCHANGE}
    yield wire.request(access, CallKind.READ, "GET", wire.PORTFOLIO_HOLDINGS, body)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    """Return one row per stock of either list, those of the demat account first; a stock without units is left out."""
    lists = [(number, row) for number, response in enumerate(responses) for row in wire.rows(response)]
    return made_of(lambda: read_some(lists, lambda row: _placed(*row)), _joined)


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.FUNDS)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the four pools, each the allocated less the blocked amount, and their sum as the available balance."""
    answer = fields.row_of(wire.data(responses[0]))
    segments = {name: _funds_segment(answer, ending) for name, ending in POOLS.items()}
    return FundsRow(
        available_balance=fields.rupee_sum(segment.available_balance for segment in segments.values()),
        cash_balance=fields.number(answer.get("total_bank_balance")),
        margin_utilized=fields.rupee_sum(segment.margin_utilized for segment in segments.values()),
        withdrawable_balance=fields.number(answer.get("unallocated_balance")),
        segments=segments,
        pools={name: segment.available_balance or 0.0 for name, segment in segments.items()},
    )


def _position_row(row: Mapping[str, object]) -> PositionRow:
    name = naming.of_row(row)
    product = PRODUCTS.read(row.get("product_type"))
    action = SIDES.read(row.get("action"))
    units = fields.quantity(row, "quantity")
    signs = {"BUY": 1, "SELL": -1}
    if units and action not in signs:
        raise BadAnswer(f"a position of {units} units whose action is {action}")
    quantity = signs.get(action, 0) * units
    return PositionRow(
        # The same stock can be held in two settlements.
        position_key=":".join(filter(None, (name.token, product, fields.text(row.get("settlement_id"))))),
        view="net",
        product=product,
        instrument_token=name.token,
        tradingsymbol=name.symbol,
        exchange=name.exchange,
        quantity=quantity,
        average_price=fields.price(row.get("average_price")) if quantity else None,
        last_price=fields.price(row.get("ltp")),
    )


def _stock(row: Mapping[str, object]) -> str:
    return fields.required(row, "stock_code").strip().upper()


def _placed(number: int, row: fields.Row) -> tuple[str, str, fields.Row] | None:
    """Return which part of a holding a row of either list is, and its stock; None for a row that is part of none."""
    if number == 0:
        return "demat", _stock(row), row
    if PRODUCTS.read(row.get("product_type")) == Product.MTF:
        return "margin", _stock(row), row
    return ("portfolio", _stock(row), row) if fields.text(row.get("expiry_date")) is None else None


def _joined(placed: Iterable[tuple[str, str, fields.Row]]) -> list[HoldingRow]:
    parts: dict[str, dict[str, fields.Row]] = {"demat": {}, "portfolio": {}, "margin": {}}
    for part, stock, row in placed:
        parts[part][stock] = row
    stocks = dict.fromkeys(stock for part in parts.values() for stock in part)
    return read_some(stocks, lambda stock: _holding_row(stock, *(part.get(stock, {}) for part in parts.values())))


def _holding_row(
    stock: str, demat: Mapping[str, object], portfolio: Mapping[str, object], margin: Mapping[str, object]
) -> HoldingRow | None:
    """Return the holding of a stock; None where no units are held."""
    name = naming.Name(HOLDINGS_EXCHANGE, stock)
    delivered = _held(demat)
    usable = sum(
        fields.quantity(demat, part)
        for part in ("demat_avail_quantity", "demat_allocated_quantity", "blocked_quantity")
        if demat
    )
    priced = portfolio or margin
    row = HoldingRow(
        instrument_token=name.token,
        tradingsymbol=name.symbol,
        exchange=name.exchange,
        isin=fields.text(demat.get("stock_ISIN")),
        settled_quantity=delivered,
        # Units in the portfolio beyond the demat account were bought and are not delivered yet.
        t1_quantity=max(_held(portfolio) - delivered, 0),
        margin_quantity=_held(margin),
        # Free, allocated and blocked units add up to all units but the pledged ones (inferred: pledged show as not
        # available).
        collateral_quantity=max(delivered - usable, 0),
        average_price=fields.price(portfolio.get("average_price")),
        margin_average_price=fields.price(margin.get("average_price")),
        last_price=fields.price(priced.get("current_market_price")),
    )
    return row if row.settled_quantity or row.t1_quantity or row.margin_quantity else None


def _held(row: Mapping[str, object]) -> int:
    """Return the units of a stock in one of the lists; 0 where the list does not have the stock."""
    return fields.quantity(row, "quantity") if row else 0


def _funds_segment(answer: Mapping[str, object], ending: str) -> FundsSegment:
    allocated = fields.number(answer.get(f"allocated_{ending}"))
    blocked = fields.number(answer.get(f"block_by_trade_{ending}"))
    free = None if allocated is None else fields.rupee_sum((allocated, -(blocked or 0.0)))
    return FundsSegment(available_balance=free, margin_utilized=blocked)
