"""Kotak Neo's positions, holdings and funds.

Source: docs/brokers/kotakneo.md, section 4 (documentation's formulas, official SDK's positions arithmetic). A position
row has only quantities and amounts: we compute net quantity, averages and results. A carried quantity is valued at the
previous close, which for shares is not their cost. Their cost is in the holdings, so positions take two calls on days
with carried shares.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction

import attrs

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import OddRows, read_rows, read_some, read_views
from onebroker.brokers.kotakneo import values, wire
from onebroker.brokers.kotakneo.login import ALL_LIMITS
from onebroker.brokers.records import FundsRow, FundsSegment, HoldingRow, Listing, PositionRow, in_contracts
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from onebroker.config.money import exact, round_half_up

Row = Mapping[str, object]

_ABOUT_THE_MOMENT = (RefusalKind.SESSION_DEAD, RefusalKind.RATE_LIMITED)
_PRECISION = 2
_PAISE = 2


def position_requests(access: Access, now: datetime) -> ReadFlow:
    """Ask for the positions, and also for the holdings when shares were carried in."""
    answer = yield wire.session_request(access, CallKind.READ, wire.POSITIONS)
    if _needs_costs(answer):
        yield wire.session_request(access, CallKind.READ, wire.HOLDINGS)


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return both views of the same list: the net view of every row, the day view of rows that traded today.

    Without the cost of carried shares their average stays None; it is never the last price (lesson 11).
    """
    costs = _costs(responses[1]) if len(responses) > 1 else {}

    def views(row: Row) -> list[PositionRow]:
        legs = _Legs.of(row, costs, listings)
        return [_net_row(legs), _day_row(legs)] if legs.traded else [_net_row(legs)]

    return read_views(wire.rows(responses[0]), views)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.session_request(access, CallKind.READ, wire.HOLDINGS)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    """Return the holdings. The broker does not separate T1, pledged or margin-trading units."""
    return read_rows(wire.rows(responses[0]), _holding_row)


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.session_request(access, CallKind.READ, wire.LIMITS, ALL_LIMITS)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the single pool of cash. Margins are also given by segment; free cash is not."""
    row = wire.answer(responses[0])
    if fields.number(row.get("Net")) is None:
        raise BadAnswer("limits without Net")
    return FundsRow(
        available_balance=fields.number(row.get("Net")),
        # In the recorded answers Net is CollateralValue less MarginUsed, on an account with only cash.
        cash_balance=fields.number(row.get("CollateralValue")),
        collateral_value=fields.number(row.get("Collateral")),
        adhoc_credit=fields.number(row.get("AdhocMargin")),
        margin_utilized=fields.number(row.get("MarginUsed")),
        realized=_result(row, "RlsMtomPrsnt", "RealizedMtomPrsnt"),
        unrealized=_result(row, "UnRlsMtomPrsnt", "UnrealizedMtomPrsnt"),
        span_margin=fields.number(row.get("SpanMarginPrsnt")),
        exposure_margin=fields.number(row.get("ExposureMarginPrsnt")),
        other_margin=fields.rupee_sum(row.get(name) for name in _OTHER_MARGINS),
        pay_in_today=fields.number(row.get("RmsPayInAmt")),
        pay_out_today=fields.number(row.get("RmsPayOutAmt")),
        segments={
            name: _segment(row, span, exposure)
            for name, (span, exposure) in _SEGMENT_MARGINS.items()
            if any(line in row for line in (*span, *exposure))
        },
    )


_OTHER_MARGINS = (
    "PremiumPrsnt", "MarginVarPrsnt", "MarginScripBasketPrsnt", "SpecialMarginPrsnt", "DeliveryMarginPresent",
)  # fmt: skip
"""Lines of margin used other than span and exposure."""

_RESULT_HEADS = ("Cash", "Fo", "Com", "Cur")

_SEGMENT_MARGINS = {
    "derivatives": (("FoSpanrgnNrmlPrsnt", "FoSpanrgnMisPrsnt"), ("FoExpMrgnNrmlPrsnt", "FoExpMrgnMisPrsnt")),
    "currency": (("CurSpanMrgnNrmlPrsnt", "CurSpanMrgnMisPrsnt"), ("CurExpMrgnNrmlPrsnt", "CurExpMrgnMisPrsnt")),
    "commodity": (("ComSpanMrgnNrmlPrsnt", "ComSpanMrgnMisPrsnt"), ("ComExpsrMrgnNrmlPrsnt", "ComExpsrMrgnMisPrsnt")),
}
"""Our segment -> its lines of span and of exposure, by product (`FoSpanrgn` is the broker's own spelling)."""


def _result(row: Row, tail: str, whole: str) -> float | None:
    """Add up a result of the day by segment: recorded answers have it there, and zero in the line for the whole."""
    parts = fields.rupee_sum(row.get(f"{head}{tail}") for head in _RESULT_HEADS)
    return fields.number(row.get(whole)) if parts is None else parts


def _segment(row: Row, span: Sequence[str], exposure: Sequence[str]) -> FundsSegment:
    return FundsSegment(
        margin_utilized=fields.rupee_sum(row.get(name) for name in (*span, *exposure)),
        span_margin=fields.rupee_sum(row.get(name) for name in span),
        exposure_margin=fields.rupee_sum(row.get(name) for name in exposure),
    )


def _needs_costs(answer: WireResponse) -> bool:
    """Tell whether a row carries shares; an unreadable answer is left to the parser."""
    try:
        return any(
            fields.text(row.get("exSeg")) in values.CASH_SEGMENTS
            and (fields.number(row.get("cfBuyQty")) or fields.number(row.get("cfSellQty")))
            for row in fields.readable_rows(wire.rows(answer))
        )
    except (BrokerRefusal, BadAnswer):
        return False


def _costs(response: WireResponse) -> dict[str, Fraction]:
    """Return the cost of a unit of each holding, by broker token. Holdings that cannot be read now are left out; that may be all."""
    try:
        return dict(read_some(wire.rows(response), _cost_of))
    except OddRows as odd:
        return dict(odd.readable)
    except BadAnswer:
        return {}
    except BrokerRefusal as refusal:
        if refusal.kind in _ABOUT_THE_MOMENT:
            raise
        return {}


def _cost_of(row: Row) -> tuple[str, Fraction] | None:
    average = fields.price(row.get("averagePrice"))
    return None if average is None else (_holding_token(row), Fraction(exact(average)))


@attrs.frozen(kw_only=True)
class _Legs:
    """A parsed position row: the broker's quantities (without sign) and amounts, carried and of today. Rupees."""

    token: str
    symbol: str
    segment: str
    product: str
    known_units: int | None
    """Units in one of the broker's quantities; None when neither the row nor its listing gives them."""
    factor: Fraction
    """NF: the change in rupees of one of its quantities when the price changes by one rupee."""
    precision: int
    carried_buy: int
    carried_sell: int
    carried_buy_cost: Fraction | None
    """None = not known."""
    carried_sell_cost: Fraction | None
    close: Fraction | None
    """Previous close, from the carried amounts, which are valued at it."""
    bought: int
    sold: int
    buy_amount: Fraction | None
    """None = not given, as below."""
    sell_amount: Fraction | None
    last: Fraction | None

    @classmethod
    def of(cls, row: Row, costs: Mapping[str, Fraction], listings: Mapping[str, Listing]) -> "_Legs":
        segment = fields.required(row, "exSeg")
        token = values.token_of(segment, fields.required(row, "tok"))
        carried_buy, carried_sell = (
            fields.unsigned(row, "cfBuyQty"),
            fields.unsigned(row, "cfSellQty"),
        )
        buy_at_close, sell_at_close = _amount(row, "cfBuyAmt", carried_buy), _amount(row, "cfSellAmt", carried_sell)
        bought, sold = fields.unsigned(row, "flBuyQty"), fields.unsigned(row, "flSellQty")
        factor = _factor(row)
        if segment in values.CASH_SEGMENTS:
            cost = costs.get(token)
            buy_cost, sell_cost = _cost(cost, carried_buy), _cost(cost, carried_sell)
        else:
            buy_cost, sell_cost = buy_at_close, sell_at_close
        carried, at_close = carried_buy + carried_sell, _plus(buy_at_close, sell_at_close)
        last = fields.price(row.get("ltp"))  # zero now and then, which means none
        return cls(
            token=token,
            symbol=fields.required(row, "trdSym", "sym"),
            segment=segment,
            product=values.PRODUCTS.read(row.get("prod")),
            known_units=values.row_units(row, token, listings),
            factor=factor,
            precision=fields.whole(row.get("precision")) or _PRECISION,
            carried_buy=carried_buy,
            carried_sell=carried_sell,
            carried_buy_cost=buy_cost,
            carried_sell_cost=sell_cost,
            close=at_close / (carried * factor) if carried and at_close else None,
            bought=bought,
            sold=sold,
            buy_amount=_amount(row, "buyAmt", bought),
            sell_amount=_amount(row, "sellAmt", sold),
            last=None if last is None else Fraction(exact(last)),
        )

    @property
    def units(self) -> int:
        return self.known_units or 1

    def sized(self, row: PositionRow) -> PositionRow:
        """Return a row made with `units`; in contracts where the units are not known."""
        return in_contracts(row) if self.known_units is None else row

    @property
    def traded(self) -> bool:
        return bool(self.bought or self.sold)

    def average(self, amount: Fraction | None, quantity: int) -> float | None:
        """Return the average price at which `quantity` (the broker's) gave `amount`."""
        return None if amount is None or not quantity else _number(amount / (quantity * self.factor), self.precision)

    def held_average(
        self, net: int, buys: int, bought: Fraction | None, sells: int, sold: Fraction | None
    ) -> float | None:
        """Return the average of the open quantity: the buys' when long, the sells' when short, none when flat."""
        return self.average(bought, buys) if net > 0 else self.average(sold, sells) if net < 0 else None


def _net_row(legs: _Legs) -> PositionRow:
    buys, sells = legs.carried_buy + legs.bought, legs.carried_sell + legs.sold
    bought, sold = _plus(legs.carried_buy_cost, legs.buy_amount), _plus(legs.carried_sell_cost, legs.sell_amount)
    net = buys - sells
    realized, unrealized = _results(legs, net, (buys, bought), (sells, sold))
    return legs.sized(PositionRow(
        position_key=f"{legs.token}:{legs.product}",
        view="net",
        product=legs.product,
        instrument_token=legs.token,
        tradingsymbol=legs.symbol,
        exchange=legs.segment,
        quantity=net * legs.units,
        overnight_quantity=(legs.carried_buy - legs.carried_sell) * legs.units,
        buy_quantity=buys * legs.units,
        sell_quantity=sells * legs.units,
        buy_value=_rupees(bought),
        sell_value=_rupees(sold),
        average_price=legs.held_average(net, buys, bought, sells, sold),
        last_price=None if legs.last is None else float(legs.last),
        close_price=None if legs.close is None else _number(legs.close, legs.precision),
        multiplier=float(legs.factor),
        realized=realized,
        unrealized=unrealized,
    ))  # fmt: skip


def _day_row(legs: _Legs) -> PositionRow:
    net = legs.bought - legs.sold
    bought, sold = legs.buy_amount, legs.sell_amount
    realized, unrealized = _results(legs, net, (legs.bought, bought), (legs.sold, sold))
    return legs.sized(PositionRow(
        position_key=f"{legs.token}:{legs.product}",
        view="day",
        product=legs.product,
        instrument_token=legs.token,
        tradingsymbol=legs.symbol,
        exchange=legs.segment,
        quantity=net * legs.units,
        overnight_quantity=0,
        buy_quantity=legs.bought * legs.units,
        sell_quantity=legs.sold * legs.units,
        buy_value=_rupees(bought),
        sell_value=_rupees(sold),
        average_price=legs.held_average(net, legs.bought, bought, legs.sold, sold),
        last_price=None if legs.last is None else float(legs.last),
        multiplier=float(legs.factor),
        realized=realized,
        unrealized=unrealized,
    ))  # fmt: skip


def _results(
    legs: _Legs, net: int, buy: tuple[int, Fraction | None], sell: tuple[int, Fraction | None]
) -> tuple[float | None, float | None]:
    """Return (realized, unrealized) in rupees; their sum is the documents' result, sells - buys + net x ltp x NF.

    A quantity that was both bought and sold is realized at the two averages. None where a cost or the last price is not
    known.
    """
    (buys, bought), (sells, sold) = buy, sell
    if bought is None or sold is None:
        return None, None
    closed = min(buys, sells)
    realized = closed * (sold / sells - bought / buys) if closed else Fraction(0)
    if net == 0:
        return _rupees(realized), 0.0
    if legs.last is None:
        return _rupees(realized), None
    return _rupees(realized), _rupees(sold - bought + net * legs.last * legs.factor - realized)


def _holding_row(row: Row) -> HoldingRow:
    quantity = fields.quantity(row, "quantity")
    value = fields.price(row.get("mktValue"))
    return HoldingRow(
        instrument_token=_holding_token(row),
        tradingsymbol=fields.required(row, "displaySymbol", "symbol"),
        exchange=fields.required(row, "exchangeSegment"),
        isin=None,
        settled_quantity=quantity,
        average_price=fields.price(row.get("averagePrice")),
        # The price at which the broker itself values the holding; recorded rows call the same figure closingPrice.
        last_price=_number(Fraction(exact(value)) / quantity, _PAISE)
        if value is not None and quantity > 0
        else fields.price(row.get("closingPrice")),
        close_price=fields.price(row.get("prevDayLtp")),
    )


def _holding_token(row: Row) -> str:
    """Return the token of a holding: `exchangeIdentifier` is the exchange's token; `instrumentToken` is a number of Kotak's own."""
    return values.token_of(fields.required(row, "exchangeSegment"), fields.required(row, "exchangeIdentifier"))


def _factor(row: Row) -> Fraction:
    """Return NF = multiplier x genNum / genDen x prcNum / prcDen; a part that is missing or not above zero counts as 1."""
    multiplier, general, general_of, price, price_of = (
        _positive(row.get(name)) for name in ("multiplier", "genNum", "genDen", "prcNum", "prcDen")
    )
    return multiplier * general / general_of * price / price_of


def _positive(value: object) -> Fraction:
    figure = fields.number(value)
    return Fraction(exact(figure)) if figure is not None and figure > 0 else Fraction(1)


def _amount(row: Row, name: str, quantity: int) -> Fraction | None:
    """Return the amount of a leg of `quantity`; None where the row does not give it. A leg of zero has the amount zero."""
    figure = fields.number(row.get(name)) if quantity else 0.0
    return None if figure is None else Fraction(exact(figure))


def _cost(average: Fraction | None, quantity: int) -> Fraction | None:
    """Return the cost of a carried quantity; a quantity of zero cost nothing."""
    if not quantity:
        return Fraction(0)
    return None if average is None else average * quantity


def _plus(cost: Fraction | None, amount: Fraction | None) -> Fraction | None:
    return None if cost is None or amount is None else cost + amount


def _rupees(amount: Fraction | None) -> float | None:
    return None if amount is None else _number(amount, _PAISE)


def _number(value: Fraction, places: int) -> float:
    """Return a computed figure rounded half away from zero, as the documents' formula requires (`precision`)."""
    return round_half_up(float(value), places)
