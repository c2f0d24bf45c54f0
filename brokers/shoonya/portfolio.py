"""Shoonya's positions, holdings and funds.

Source: docs/brokers/shoonya.md, section 4 (README of the former SDK, not re-read by us). All values are texts; a zero
quantity is left out. So a missing leg of a position is zero where the other legs add up to the net quantity; otherwise it
is not known.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import read_rows, read_views
from onebroker.brokers.records import FundsRow, FundsSegment, HoldingRow, Listing, PositionRow, in_contracts
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.brokers.shoonya import values, wire
from onebroker.brokers.shoonya.books import token_of
from onebroker.config.money import exact

DELIVERY = "C"
"""Holdings are requested by product."""

TOTAL_PARTS = (
    "cash", "payin", "payout", "daycash", "unclearedcash", "brkcollamt", "collateral", "aux_brkcollamt",
)  # fmt: skip
"""The sum of these, less `marginused`, is the free amount: the documents' formula. The sign of `payout` is unchecked."""
COLLATERAL_PARTS = ("brkcollamt", "collateral", "aux_brkcollamt")
OTHER_MARGINS = (
    "cbu", "csc", "marprt", "premium", "varelm", "grexpo", "greexpo_d", "scripbskmar", "addscripbskmrg", "brokerage",
)  # fmt: skip
"""Lines of `marginused` other than span, expo and the two results."""
FUNDS_SEGMENTS = {"equity": "e", "derivatives": "d", "currency": "f", "commodity": "c"}
"""Our segment -> its letter in the names of the break-up, as in `span_d_m`."""


def position_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, wire.POSITIONS, {"actid": wire.account_id(access)})


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return both views of the same list: the net view of every row, the day view of rows that traded today."""

    def views(row: Mapping[str, object]) -> list[PositionRow]:
        legs = _Legs(row, listings)
        return [legs.net(), legs.day()] if legs.traded_today else [legs.net()]

    return read_views(wire.rows(responses[0]), views)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, wire.HOLDINGS, {"actid": wire.account_id(access), "prd": DELIVERY})


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    return read_rows(wire.rows(responses[0]), _holding_row)


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, wire.FUNDS, {"actid": wire.account_id(access)})


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the single pool of funds; segments have only their margins.

    The two results are parts of the margin used, so in them a loss is positive (read from the one recorded answer, whose
    `marginused` is the sum of `urmtom` and `grexpo`).
    """
    answer = wire.answer(responses[0])
    used = fields.number(answer.get("marginused"))
    total = fields.rupee_sum(answer.get(name) for name in TOTAL_PARTS)
    paid_out = fields.number(answer.get("payout"))
    return FundsRow(
        available_balance=None if total is None else fields.rupee_sum((total, -(used or 0.0))),
        cash_balance=fields.number(answer.get("cash")),
        collateral_value=fields.rupee_sum(answer.get(name) for name in COLLATERAL_PARTS),
        adhoc_credit=fields.number(answer.get("daycash")),
        margin_utilized=used,
        realized=_result(answer, "rpnl"),
        unrealized=_result(answer, "urmtom", "unmtom"),
        span_margin=fields.number(answer.get("span")),
        exposure_margin=fields.number(answer.get("expo")),
        other_margin=fields.rupee_sum(answer.get(name) for name in OTHER_MARGINS),
        pay_in_today=fields.number(answer.get("payin")),
        pay_out_today=None if paid_out is None else abs(paid_out),
        uncleared_funds=fields.number(answer.get("unclearedcash")),
        segments=_segments(answer),
    )


def _result(answer: Mapping[str, object], *names: str) -> float | None:
    """Return a result. A loss is positive on the wire; the documents and their sample spell the open result differently."""
    given = (fields.number(answer.get(name)) for name in names)
    loss = next((figure for figure in given if figure is not None), None)
    return None if loss is None else 0.0 - loss


def _segments(answer: Mapping[str, object]) -> dict[str, FundsSegment]:
    """Add up the break-up of SPAN and exposure over the products, for each segment that has any."""
    segments = {}
    for name, letter in FUNDS_SEGMENTS.items():
        span, exposure = (
            fields.rupee_sum(figure for field, figure in answer.items() if field.startswith(f"{part}_{letter}_"))
            for part in ("span", "expo")
        )
        if span is not None or exposure is not None:
            segments[name] = FundsSegment(span_margin=span, exposure_margin=exposure)
    return segments


_LEGS = {"daybuyqty": 1, "daysellqty": -1, "cfbuyqty": 1, "cfsellqty": -1}
"""The legs with their signs in the net quantity."""
_QUANTITIES = ("netqty", *_LEGS)


class _Legs:
    """One position: what was carried in (`cf`) and what was traded today (`day`), in units; None = not known."""

    def __init__(self, row: Mapping[str, object], listings: Mapping[str, Listing]) -> None:
        self._row = row
        self._exchange = fields.required(row, "exch")
        self._token = token_of(row)
        self._known = values.row_factor(row, _QUANTITIES, self._exchange, self._token, listings)
        self._units = Decimal(1) if self._known is None else self._known
        self._net = values.in_units(fields.quantity(row, "netqty"), self._units)
        legs = {name: values.in_units(row.get(name), self._units) for name in _LEGS}
        whole = sum(sign * legs[name] for name, sign in _LEGS.items()) == self._net
        told = {name: units if whole or fields.text(row.get(name)) else None for name, units in legs.items()}
        self._bought, self._sold = told["daybuyqty"], told["daysellqty"]
        self._carried_long, self._carried_short = told["cfbuyqty"], told["cfsellqty"]

    @property
    def traded_today(self) -> bool:
        """Whether the position has a part of today, or may have one."""
        return self._bought != 0 or self._sold != 0

    def net(self) -> PositionRow:
        row = self._row
        return self._row_of(
            "net",
            quantity=self._net,
            overnight_quantity=_less(self._carried_long, self._carried_short),
            buy_quantity=_plus(self._carried_long, self._bought),
            sell_quantity=_plus(self._carried_short, self._sold),
            buy_value=self._values(cfbuy=self._carried_long, daybuy=self._bought),
            sell_value=self._values(cfsell=self._carried_short, daysell=self._sold),
            average_price=self._average() if self._net else None,
            realized=fields.number(row.get("rpnl")),
            unrealized=fields.number(row.get("urmtom")),
        )

    def day(self) -> PositionRow:
        """Return today's part; its result is not reported separately."""
        quantity = _less(self._bought, self._sold)
        average = self._row.get("daybuyavgprc" if quantity and quantity > 0 else "daysellavgprc")
        return self._row_of(
            "day",
            quantity=quantity,
            overnight_quantity=0,
            buy_quantity=self._bought,
            sell_quantity=self._sold,
            buy_value=self._values(daybuy=self._bought),
            sell_value=self._values(daysell=self._sold),
            average_price=fields.price(average) if quantity else None,
        )

    def _average(self) -> float | None:
        """Return the cost of the open quantity. For a carried position `netavgprc` starts from the previous close, so it
        is not a cost."""
        row = self._row
        if self._carried_long == 0 and self._carried_short == 0:
            return fields.price(row.get("netavgprc"))
        cost = fields.price(row.get("netupldprc"))
        if cost is None and not self.traded_today:
            # Two spellings of one field, from two versions of the documents.
            cost = fields.price(row.get("cforgavgprc")) or fields.price(row.get("cforgavprc"))
        return cost

    def _values(self, **legs: int | None) -> float | None:
        """Return the rupees of legs together, each given with its units; None where a leg that is not empty has no amount."""
        told = [(units, self._value(leg)) for leg, units in legs.items()]
        if any(units is None or (units and value is None) for units, value in told):
            return None
        return fields.rupee_sum(value for _, value in told)

    def _value(self, leg: str) -> float | None:
        """Return the rupees of one leg.

        The documents do not say whether amounts include the price factor; the leg's own quantity and price decide it.
        """
        amount, each = fields.number(self._row.get(f"{leg}amt")), fields.price(self._row.get(f"{leg}avgprc"))
        if amount is None or self._units == 1 or each is None:
            return amount
        plain = fields.whole(self._row.get(f"{leg}qty")) * exact(each)
        written = exact(amount)
        has_factor = abs(written - plain * self._units) <= abs(written - plain)
        return amount if has_factor else float(written * self._units)

    def _row_of(
        self,
        view: str,
        *,
        quantity: int | None,
        overnight_quantity: int | None,
        buy_quantity: int | None,
        sell_quantity: int | None,
        buy_value: float | None,
        sell_value: float | None,
        average_price: float | None,
        realized: float | None = None,
        unrealized: float | None = None,
    ) -> PositionRow:
        row = self._row
        product = values.PRODUCTS.read(fields.required(row, "prd", "prarr"))  # prarr: in the README of its client
        multiplier = fields.number(row.get("mult"))
        position = PositionRow(
            position_key=f"{self._token}:{product}",
            view=view,
            product=product,
            instrument_token=self._token,
            tradingsymbol=fields.required(row, "tsym"),
            exchange=self._exchange,
            quantity=quantity,
            overnight_quantity=overnight_quantity,
            buy_quantity=buy_quantity,
            sell_quantity=sell_quantity,
            buy_value=buy_value,
            sell_value=sell_value,
            average_price=average_price,
            last_price=fields.price(row.get("lp")),
            multiplier=1.0 if multiplier is None else multiplier,
            realized=realized,
            unrealized=unrealized,
        )
        return in_contracts(position) if self._known is None else position


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _less(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


_HELD = ("holdqty", "npoadqty", "npoaqty", "dpqty", "brkcolqty", "unplgdqty", "benqty", "btstqty")
"""Fields that may hold a holding's units; rows leave out fields that are zero."""


def _holding_row(row: Mapping[str, object]) -> HoldingRow:
    named = _security(row)
    # The documents' valuation: free units, those pledged with the broker, unpledged and beneficiary units, and those in
    # the depository (given twice: with and without power of attorney), less the units sold today; T1 units are separate.
    if not any(fields.text(row.get(name)) for name in _HELD):
        raise BadAnswer("a holding without a quantity")
    in_depository = max(_either(row, "npoadqty", "npoaqty"), fields.whole(row.get("dpqty")))
    pledged = fields.whole(row.get("brkcolqty"))
    free = sum(fields.whole(row.get(name)) for name in ("holdqty", "unplgdqty", "benqty")) + in_depository
    left = free + pledged - fields.whole(row.get("usedqty"))
    unsettled = fields.whole(row.get("btstqty"))
    return HoldingRow(
        instrument_token=token_of(named),
        tradingsymbol=fields.required(named, "tsym"),
        exchange=fields.required(named, "exch"),
        isin=fields.text(named.get("isin")),
        settled_quantity=max(left, 0),
        t1_quantity=max(unsettled + min(left, 0), 0),
        collateral_quantity=min(pledged, max(left, 0)),
        average_price=fields.price(row.get("upldprc")),
    )


def _security(row: Mapping[str, object]) -> dict[str, object]:
    """Return the names of a holding: those on NSE where it is listed there, else the first."""
    names = fields.rows_of(row.get("exch_tsym"))
    if not names:
        raise BadAnswer("a holding without exch_tsym")
    isin = next((name["isin"] for name in names if fields.text(name.get("isin"))), None)
    chosen = next((name for name in names if name.get("exch") == "NSE"), names[0])
    return {**chosen, "isin": chosen.get("isin") or isin}


def _either(row: Mapping[str, object], *names: str) -> int:
    """Return a quantity with two spellings, from the first one that is given."""
    return next((fields.whole(row[name]) for name in names if row.get(name) is not None), 0)
