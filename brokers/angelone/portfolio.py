"""SmartAPI's positions, holdings and funds.

Source: SmartAPI documentation, portfolio, orders (positions) and user (RMS), not re-read by us; the meaning of the RMS
figures is from answers that other projects recorded.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from onebroker.brokers.angelone import values, wire
from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import read_rows, read_views
from onebroker.brokers.records import FundsRow, HoldingRow, Listing, PositionRow, in_contracts
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.config.vocabulary import Product


def position_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.POSITIONS)


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return both views of the same list: the net view of every row, the day view of rows that traded today."""
    rows = fields.rows_of(wire.data(responses[0]))
    found = values.find_names(rows, listings)

    def views(row: Mapping[str, object]) -> list[PositionRow]:
        held = _position(row, listings, found)
        return [held.net(), held.day()] if held.bought or held.sold else [held.net()]

    return read_views(rows, views)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.HOLDINGS)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    """Return the holdings; the totals in the answer are ignored."""
    answer = wire.data(responses[0])
    if isinstance(answer, dict) and answer.get("holdings") is None:
        raise BadAnswer("holdings without their list")
    rows = answer["holdings"] if isinstance(answer, dict) else answer
    return read_rows(fields.rows_of(rows), _holding_row)


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.FUNDS)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the single pool of funds; no segments, no pools.

    `availablecash` is the net margin (cash and collateral less what is used). `collateral` may stay zero; the pledged
    part then shows as `availablecash` above `utilisedpayout`, the cash that could be paid out: as seen on live accounts.
    """
    rms = fields.row_of(wire.data(responses[0]))
    free = fields.number(rms.get("net"))
    free = fields.number(rms.get("availablecash")) if free is None else free
    used = fields.number(rms.get("utiliseddebits"))
    parts = [rms.get(name) for name in ("utilisedspan", "utilisedexposure", *_OTHER_MARGINS)]
    used = fields.rupee_sum(parts) if used is None else used
    collateral = _collateral(rms)
    return FundsRow(
        available_balance=free,
        # Cash before margins: what is left of it plus what the margins took.
        cash_balance=None
        if free is None
        else fields.rupee_sum((free, used, None if collateral is None else -collateral)),
        collateral_value=collateral,
        adhoc_credit=fields.number(rms.get("availablelimitmargin")),
        margin_utilized=used,
        withdrawable_balance=fields.number(rms.get("utilisedpayout")),
        realized=fields.number(rms.get("m2mrealized")),
        unrealized=fields.number(rms.get("m2munrealized")),
        span_margin=fields.number(rms.get("utilisedspan")),
        exposure_margin=fields.number(rms.get("utilisedexposure")),
        other_margin=fields.rupee_sum(rms.get(name) for name in _OTHER_MARGINS),
        pay_in_today=fields.number(rms.get("availableintradaypayin")),
    )


_OTHER_MARGINS = ("utilisedoptionpremium", "utilisedholdingsales", "utilisedturnover")


def _collateral(rms: Mapping[str, object]) -> float | None:
    said = fields.number(rms.get("collateral"))
    cash, payable = fields.number(rms.get("availablecash")), fields.number(rms.get("utilisedpayout"))
    if said or cash is None or payable is None or payable <= 0:
        return said
    pledged = fields.rupee_sum((cash, -payable)) or 0.0
    return pledged if pledged > 0 else said


@attrs.frozen(kw_only=True)
class _Position:
    """The legs of a row in units and rupees: carried, and today's."""

    row: Mapping[str, object]
    token: str
    symbol: str
    exchange: str
    units: int | None
    """Units in one of the row's quantities; None when not known: then the quantities here are the broker's own."""
    quantity: int
    """Signed."""
    bought: int
    sold: int
    carried_buy: int
    carried_sell: int
    value_scale: int
    """Factor that turns the row's values into rupees."""

    def net(self) -> PositionRow:
        """Return the row of the net view: carried and today's legs together."""
        row = self.row
        bought, sold = self.bought + self.carried_buy, self.sold + self.carried_sell
        return self._sized(PositionRow(
            position_key=self.key,
            view="net",
            product=self.product,
            instrument_token=self.token,
            tradingsymbol=self.symbol,
            exchange=self.exchange,
            quantity=self.quantity,
            overnight_quantity=self.carried_buy - self.carried_sell,
            buy_quantity=bought,
            sell_quantity=sold,
            buy_value=self._value("totalbuyvalue"),
            sell_value=self._value("totalsellvalue"),
            average_price=self._average(bought, sold),
            last_price=fields.price(row.get("ltp")),
            close_price=fields.price(row.get("close")),
            multiplier=float(self.units or 1),
            realized=_signed(row.get("realised")),
            unrealized=_signed(row.get("unrealised")),
        ))  # fmt: skip

    def day(self) -> PositionRow:
        """Return the row of the day view: what was traded today; its result is not reported separately."""
        row = self.row
        carried = self.carried_buy or self.carried_sell
        # With a carried leg buyavgprice may include that leg: then there is no average of today.
        average = None if carried else row.get("buyavgprice" if self.bought > self.sold else "sellavgprice")
        return self._sized(PositionRow(
            position_key=self.key,
            view="day",
            product=self.product,
            instrument_token=self.token,
            tradingsymbol=self.symbol,
            exchange=self.exchange,
            quantity=self.bought - self.sold,
            overnight_quantity=0,
            buy_quantity=self.bought,
            sell_quantity=self.sold,
            buy_value=self._today("buy", self.bought, self.carried_buy),
            sell_value=self._today("sell", self.sold, self.carried_sell),
            average_price=fields.price(average) if self.bought != self.sold else None,
            last_price=fields.price(row.get("ltp")),
            close_price=fields.price(row.get("close")),
            multiplier=float(self.units or 1),
        ))  # fmt: skip

    def _sized(self, row: PositionRow) -> PositionRow:
        return in_contracts(row) if self.units is None else row

    @property
    def product(self) -> str:
        return values.PRODUCTS.read(self.row.get("producttype"))

    @property
    def key(self) -> str:
        return f"{self.token}:{self.product}"

    def _average(self, bought: int, sold: int) -> float | None:
        """Return the cost of one open unit. avgnetprice gives it only while nothing was closed, because it includes the
        result of a close."""
        if self.quantity == 0:
            return None
        side = "totalbuyavgprice" if self.quantity > 0 else "totalsellavgprice"
        average = fields.price(self.row.get(side))
        if average is None and not min(bought, sold):
            average = _signed(self.row.get("avgnetprice")) or None
        return None if average is None else abs(average)

    def _value(self, name: str) -> float | None:
        value = _signed(self.row.get(name))
        return None if value is None else abs(value) * self.value_scale

    def _today(self, side: str, units: int, carried_units: int) -> float | None:
        """Return today's value of a side: the whole less what was carried in.

        Whether `buyamount` is the whole is not known, as for the quantities (`_position`); `totalbuyvalue` always is.
        """
        whole, carried = self._value(f"total{side}value"), self._value(f"cf{side}amount")
        if whole is None:
            return self._value(f"{side}amount")
        if not units:
            return 0.0
        if carried is None:
            return None if carried_units else whole
        return fields.rupee_sum((whole, -carried))


def _position(
    row: Mapping[str, object], listings: Mapping[str, Listing], found: Mapping[tuple[str, str], str]
) -> _Position:
    """Read a row's legs.

    The documents do not say whether buyqty includes cfbuyqty; the net quantity decides, row by row. Where both readings
    fit (nothing was carried, or as much bought as sold), buyqty is taken to include it.
    """
    exchange, symbol = fields.required(row, "exchange"), fields.required(row, "tradingsymbol")
    token = values.name_of(row, exchange, symbol, found)
    known = _units(row, token, listings)
    units = known or 1
    buy, sell = fields.quantity(row, "buyqty"), fields.quantity(row, "sellqty")
    carried_buy, carried_sell = fields.quantity(row, "cfbuyqty"), fields.quantity(row, "cfsellqty")
    quantity = fields.counted(fields.required(row, "netqty").replace(" ", ""))  # the sign may be separated by a blank
    if buy - sell == quantity and buy >= carried_buy and sell >= carried_sell:
        buy, sell = buy - carried_buy, sell - carried_sell
    return _Position(
        row=row,
        token=token,
        symbol=symbol,
        exchange=exchange,
        units=known,
        quantity=quantity * units,
        bought=buy * units,
        sold=sell * units,
        carried_buy=carried_buy * units,
        carried_sell=carried_sell * units,
        value_scale=_value_scale(row, {"buy": buy + carried_buy, "sell": sell + carried_sell}, units),
    )


def _units(row: Mapping[str, object], token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the row's quantities; None where they are not known.

    The catalogue may not be ready yet, so the row itself is the second source: its lot size (1 for currency, which says
    nothing) and the kind of contract.
    """
    units = values.contract_units(token, listings)
    lot, exchange = fields.whole(row.get("lotsize")), token.partition("|")[0]
    if units is None and lot > 1 and exchange not in values.UNSETTLED:
        units = lot
    if units is None and str(row.get("instrumenttype")).upper() in values.CURRENCY_KINDS:
        units = values.CURRENCY_UNITS
    return units


def _value_scale(row: Mapping[str, object], lots: Mapping[str, int], units: int) -> int:
    """Return 1 where the row's values are already rupees, `units` where they are price x lots.

    The documents do not say which; the row's own quantity, price and value decide it.
    """
    for side, quantity in lots.items():
        value, price = fields.price(row.get(f"total{side}value")), fields.price(row.get(f"total{side}avgprice"))
        if value is not None and price is not None and quantity:
            plain = quantity * price
            return 1 if abs(value - plain * units) <= abs(value - plain) else units
    return 1


def _signed(value: object) -> float | None:
    """Return a number whose sign may be separated from it, as in `- 2235.80`."""
    return fields.number(value.replace(" ", "") if isinstance(value, str) else value)


def _holding_row(row: Mapping[str, object]) -> HoldingRow:
    t1 = fields.quantity(row, "t1quantity")
    # Of the row's three quantities `quantity` is the whole: realised, T1 and (it is assumed) pledged units.
    whole = fields.counted(row.get("quantity")) if fields.text(row.get("quantity")) else None
    settled = fields.quantity(row, "realisedquantity") if whole is None else max(whole - t1, 0)
    collateral = fields.whole(row.get("collateralquantity"))  # null in the documents' sample
    exchange, symbol = fields.required(row, "exchange"), fields.required(row, "tradingsymbol")
    average = fields.price(row.get("averageprice"))
    on_margin = values.PRODUCTS.read(row.get("product")) == Product.MTF
    return HoldingRow(
        instrument_token=values.name_of(row, exchange, symbol, {}),
        tradingsymbol=symbol,
        exchange=exchange,
        isin=fields.text(row.get("isin")),
        settled_quantity=0 if on_margin else max(settled, collateral),
        t1_quantity=0 if on_margin else t1,
        margin_quantity=settled + t1 if on_margin else 0,
        collateral_quantity=0 if on_margin else collateral,
        average_price=None if on_margin else average,
        margin_average_price=average if on_margin else None,
        last_price=fields.price(row.get("ltp")),
        close_price=fields.price(row.get("close")),
    )
