"""5paisa's positions, holdings and funds.

Source: docs/brokers/fivepaisa.md, sections 4 and 7. The fields of the day's positions (`V4/NetPosition`) are not
documented, so both views are read from the net list, whose `BodQty` gives the carried quantity.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import read_rows, read_views
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.fivepaisa.books import token_of
from onebroker.brokers.records import FundsRow, HoldingRow, Listing, PositionRow, in_contracts
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.config.money import paise, rupees, value_paise


def position_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, wire.POSITIONS, {})


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return both views of the same list: the net view of every row, the day view of rows that traded today."""

    def views(row: Mapping[str, object]) -> list[PositionRow]:
        legs = _Legs(row, listings)
        return [legs.net(), legs.day()] if legs.traded_today else [legs.net()]

    return read_views(wire.listed(responses[0], "NetPositionDetail"), views)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, wire.HOLDINGS, {})


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    """Return the holdings. Their ISINs are not in the answer, and pledged units are not separate from free ones."""
    return read_rows(wire.listed(responses[0], "Data"), _holding_row)


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, wire.FUNDS, {})


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the single pool of funds; no segments, no pools.

    `TodaysLoss` shows neither its sign nor whether it is realised, so no result is reported.
    """
    rows = fields.rows_of(wire.answer(responses[0]).get("EquityMargin"))
    if not rows:
        raise BadAnswer("an answer without EquityMargin")
    row = rows[0]
    return FundsRow(
        available_balance=fields.number(row.get("NetAvailableMargin")),
        cash_balance=fields.number(row.get("Ledgerbalance")),
        collateral_value=_collateral(row),
        adhoc_credit=_first(row, "AdhocMargin", "Adhoc"),
        margin_utilized=fields.number(row.get("MarginUtilized")),
        # SPAN and exposure of all derivatives come as one figure.
        span_margin=fields.number(row.get("DerivativeMargin")),
        other_margin=fields.number(row.get("OptionsPremium")),
        pay_in_today=_first(row, "FundsPayln", "FundsPayIn"),  # spelled with a small L in place of the I
        pay_out_today=fields.number(row.get("FundsWithdrawal")),
        uncleared_funds=fields.number(row.get("Unsettled_Credits")),
    )


def _first(row: Mapping[str, object], *names: str) -> float | None:
    return next((figure for name in names if (figure := fields.number(row.get(name))) is not None), None)


def _collateral(row: Mapping[str, object]) -> float | None:
    """Return the value of pledged shares and funds after the haircut; the total value where these are not given."""
    after = fields.rupee_sum(row.get(name) for name in ("CollateralValueAfterHairCut", "MFCollateralValueAfterHaircut"))
    return fields.number(row.get("TotalCollateralValue")) if after is None else after


class _Legs:
    """One position: what was carried in and what was traded today, in units.

    The pages do not say whether the bought and sold quantities include the carried ones; the row's own sum decides it.
    """

    def __init__(self, row: Mapping[str, object], listings: Mapping[str, Listing]) -> None:
        self._row = row
        self._token = token_of(row)
        self._multiplier = fields.number(row.get("Multiplier")) or 1.0
        self._known = self._contract_units(listings)
        self._units = units = self._known or 1
        self._quantity = fields.quantity(row, "NetQty") * units
        self._carried = fields.quantity(row, "BodQty") * units
        self._bought, self._sold = (fields.quantity(row, name) * units for name in ("BuyQty", "SellQty"))
        self._with_carried = self._bought - self._sold == self._quantity

    def _contract_units(self, listings: Mapping[str, Listing]) -> int | None:
        """Return the units in one of the row's quantities; None when neither the row nor the listing gives them."""
        if values.segment_of(self._token) not in values.LOT_SEGMENTS:
            return 1
        units = fields.whole(self._multiplier) if self._multiplier > 1 else None
        return units or values.contract_units(self._token, listings)

    @property
    def traded_today(self) -> bool:
        bought, sold = self._today
        return bool(bought or sold)

    @property
    def _today(self) -> tuple[int, int]:
        """Return what was bought and sold today."""
        if not self._with_carried:
            return self._bought, self._sold
        return max(self._bought - max(self._carried, 0), 0), max(self._sold - max(-self._carried, 0), 0)

    def net(self) -> PositionRow:
        long, short = max(self._carried, 0), max(-self._carried, 0)
        bought, sold = self._bought, self._sold
        buy_value, sell_value = self._value("Buy", bought), self._value("Sell", sold)
        if not self._with_carried:
            bought, sold = bought + long, sold + short
            buy_value, sell_value = self._plus(buy_value, long), self._plus(sell_value, short)
        held = (buy_value, bought) if self._quantity > 0 else (sell_value, sold)
        return self._row_of(
            "net",
            quantity=self._quantity,
            overnight_quantity=self._carried,
            buy_quantity=bought,
            sell_quantity=sold,
            buy_value=buy_value,
            sell_value=sell_value,
            average_price=self._average(*held) if self._quantity else None,
            realized=fields.number(self._row.get("BookedPL")),
            unrealized=fields.number(self._row.get("MTOM")),
        )

    def day(self) -> PositionRow:
        """Return today's part. Its result is not reported separately, nor are its values where the row's values include
        the carried leg."""
        bought, sold = self._today
        apart = not self._with_carried or self._carried == 0
        quantity = bought - sold
        side = "BuyAvgRate" if quantity > 0 else "SellAvgRate"
        return self._row_of(
            "day",
            quantity=quantity,
            overnight_quantity=0,
            buy_quantity=bought,
            sell_quantity=sold,
            buy_value=self._value("Buy", bought) if apart else None,
            sell_value=self._value("Sell", sold) if apart else None,
            average_price=fields.price(self._row.get(side)) if apart and quantity else None,
        )

    def _row_of(self, view: str, **figures: int | float | None) -> PositionRow:
        where = values.segment_of(self._token)
        product = values.product(self._row.get("OrderFor"), where)
        row = PositionRow(
            position_key=f"{self._token}:{product}",
            view=view,
            product=product,
            instrument_token=self._token,
            tradingsymbol=fields.required(self._row, "ScripName", "ScripCode").strip(),
            exchange=where,
            last_price=fields.price(self._row.get("LTP")),
            close_price=fields.price(self._row.get("PreviousClose")),
            multiplier=self._multiplier,
            **figures,  # type: ignore[arg-type]  # the two methods above name fields of the row
        )
        return in_contracts(row) if self._known is None else row

    def _value(self, side: str, quantity: int) -> float | None:
        """Return a side's value in rupees.

        The pages do not say whether values of contracts include the contract's size. The row's own quantity and average
        decide it.
        """
        value, average = fields.number(self._row.get(f"{side}Value")), fields.price(self._row.get(f"{side}AvgRate"))
        if value is None or self._units == 1 or average is None:
            return value
        whole = quantity * average
        return value if abs(value - whole) <= abs(value - whole / self._units) else value * self._units

    def _plus(self, value: float | None, carried: int) -> float | None:
        """Add a carried leg at its carried price; None when that price, or the value of the rest, is not given."""
        if not carried:
            return value
        price = fields.price(self._row.get("BODPositionPrice"))
        if price is None or value is None:
            return None
        return rupees(paise(value) + value_paise(carried, price))

    def _average(self, value: float | None, quantity: int) -> float | None:
        """Return the cost of one unit: the row's own average where it covers the same quantity, else value over quantity."""
        own = fields.price(self._row.get("BuyAvgRate" if self._quantity > 0 else "SellAvgRate"))
        if self._with_carried or self._carried == 0:
            return own
        return None if value is None or not quantity else value / quantity


def _holding_row(row: Mapping[str, object]) -> HoldingRow:
    exchange, code = _listed_where(row)
    kind = fields.text(row.get("ExchType")) or "C"
    total, pool = fields.quantity(row, "Quantity"), fields.quantity(row, "PoolQty")
    token = values.broker_token(exchange, kind, code)
    return HoldingRow(
        instrument_token=token,
        tradingsymbol=fields.required(row, "Symbol", "FullName").strip(),
        exchange=values.segment_of(token),
        isin=None,
        # The quantity is the units in the demat account (DPQty) plus those in the pool, which have not arrived there yet.
        settled_quantity=max(total - pool, 0),
        t1_quantity=min(pool, total),
        margin_quantity=fields.quantity(row, "MTFQty"),
        average_price=fields.price(row.get("AvgRate")),
        last_price=fields.price(row.get("CurrentPrice")),
    )


def _listed_where(row: Mapping[str, object]) -> tuple[str, str]:
    """Return exchange and script code: those of the exchange that the row names, else NSE's, else BSE's."""
    codes = {"N": fields.whole(row.get("NseCode")), "B": fields.whole(row.get("BseCode"))}
    named = str(row.get("Exch") or "").strip("\x00 ")
    for exchange in (named, "N", "B"):
        if codes.get(exchange):
            return exchange, str(codes[exchange])
    raise BadAnswer("a holding without NseCode and BseCode")
