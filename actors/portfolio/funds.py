"""The funds document: the figures of all brokers added up in paise (rules 1.2.5). Pure.

A figure that a broker does not report, or that is not a finite number, counts as zero.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from onebroker.actors.portfolio.assembler import Content, Steps
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import FundsRow, FundsSegment
from onebroker.config.money import paise, rupees
from onebroker.config.vocabulary import ReadStatus

SEGMENTS = ("equity", "derivatives", "currency", "commodity")


class FundsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Rupees, of all brokers that are `ok` or `stale` together."""

    total_balance: float
    """available_balance + margin_utilized."""
    available_balance: float
    cash_balance: float
    collateral_value: float
    adhoc_credit: float
    margin_utilized: float
    withdrawable_balance: float


class FundsPnl(msgspec.Struct, frozen=True, kw_only=True):
    """Rupees, as the brokers show them with their funds."""

    realized: float
    unrealized: float


class MarginBreakdown(msgspec.Struct, frozen=True, kw_only=True):
    """Rupees."""

    span_margin: float
    exposure_margin: float
    other_margin: float


class CashMovement(msgspec.Struct, frozen=True, kw_only=True):
    """Rupees."""

    pay_in_today: float
    pay_out_today: float
    uncleared_funds: float
    pending_withdrawal: float


class SegmentFunds(msgspec.Struct, frozen=True, kw_only=True):
    """Rupees of one segment."""

    available_balance: float
    """Of a broker that reports free cash by product: the smallest of these figures."""
    margin_utilized: float
    span_margin: float
    exposure_margin: float


class FundsView(msgspec.Struct, frozen=True, kw_only=True):
    """The document without `brokers` and `as_of`; rupees, exact to the paisa."""

    summary: FundsSummary
    pnl: FundsPnl
    margin_breakdown: MarginBreakdown
    cash_movement: CashMovement
    segments: dict[str, SegmentFunds]
    """Only segments that at least one broker reports, in the order of SEGMENTS."""


def merge_funds(rows: Sequence[FundsRow]) -> FundsView:
    """Add up the brokers' funds."""
    available = _total(row.available_balance for row in rows)
    utilized = _total(row.margin_utilized for row in rows)
    return FundsView(
        summary=FundsSummary(
            total_balance=rupees(available + utilized),
            available_balance=rupees(available),
            cash_balance=_sum(row.cash_balance for row in rows),
            collateral_value=_sum(row.collateral_value for row in rows),
            adhoc_credit=_sum(row.adhoc_credit for row in rows),
            margin_utilized=rupees(utilized),
            withdrawable_balance=_sum(row.withdrawable_balance for row in rows),
        ),
        pnl=FundsPnl(
            realized=_sum(row.realized for row in rows),
            unrealized=_sum(row.unrealized for row in rows),
        ),
        margin_breakdown=MarginBreakdown(
            span_margin=_sum(row.span_margin for row in rows),
            exposure_margin=_sum(row.exposure_margin for row in rows),
            other_margin=_sum(row.other_margin for row in rows),
        ),
        cash_movement=CashMovement(
            pay_in_today=_sum(row.pay_in_today for row in rows),
            pay_out_today=_sum(row.pay_out_today for row in rows),
            uncleared_funds=_sum(row.uncleared_funds for row in rows),
            pending_withdrawal=_sum(row.pending_withdrawal for row in rows),
        ),
        segments={
            name: _merge_segment([row.segments[name] for row in rows if name in row.segments])
            for name in SEGMENTS
            if any(name in row.segments for row in rows)
        },
    )


def _merge_segment(parts: Sequence[FundsSegment]) -> SegmentFunds:
    # If a broker reports free cash per product, its codec has already taken the smallest figure.
    return SegmentFunds(
        available_balance=_sum(part.available_balance for part in parts),
        margin_utilized=_sum(part.margin_utilized for part in parts),
        span_margin=_sum(part.span_margin for part in parts),
        exposure_margin=_sum(part.exposure_margin for part in parts),
    )


def _total(figures: Iterable[float | None]) -> int:
    return sum(paise(figure) for figure in figures if figure is not None and math.isfinite(figure))


def _sum(figures: Iterable[float | None]) -> float:
    return rupees(_total(figures))


class FundsAssembler:
    """Merges all rows at every beat: merging ten rows costs less than remembering which rows changed."""

    resource: Resource = "funds"

    async def prepare(self, slices: Mapping[str, Slice], store: Store) -> bool:
        return True

    def assemble(self, slices: Mapping[str, Slice]) -> Steps[Content]:
        yield
        view = merge_funds([held.rows for _, held in sorted(slices.items()) if isinstance(held.rows, FundsRow)])
        summary = msgspec.json.encode(view.summary)
        return Content(pieces=(msgspec.json.encode(view)[1:-1],), rows=(view,), summary=summary)

    def broker_entry(self, read: BrokerRead) -> dict[str, object]:
        """Add `available_balance` (ok or stale), `pools`, and `error` (unreadable)."""
        entry = read.entry()
        row = read.slice.rows if read.slice is not None else None
        pools: Mapping[str, float] = {}
        if read.usable and isinstance(row, FundsRow):
            entry["available_balance"] = _sum([row.available_balance])
            pools = row.pools
        entry["pools"] = {name: _sum([cash]) for name, cash in pools.items()}
        if read.status is ReadStatus.UNREADABLE and read.slice is not None:
            entry["error"] = read.slice.error or "the answer could not be read"
        return entry
