"""What the ten brokers charge per order under their standing public plans (order-engine 4.2). Put your own plan into
the `[charges]` file (docs/charges.md).

The pages were read as stored copies. Each broker's source begins with a word that says how certain it is:

- *own*: the broker's own recent page;
- *told*: the broker's own older page, or other pages that report the broker's prices and agree;
- *one*: a single source.
"""

from datetime import date
from decimal import Decimal

from onebroker.config.charges.rows import BrokerageRow, DpRow, Group

_FUTURES = (Group.EQUITY_FUTURES, Group.CURRENCY_FUTURES, Group.COMMODITY_FUTURES)
_OPTIONS = (Group.EQUITY_OPTIONS, Group.CURRENCY_OPTIONS, Group.COMMODITY_OPTIONS)
_CASH = (Group.EQUITY_DELIVERY, Group.EQUITY_INTRADAY)
_CURRENCY_AND_COMMODITY = (*_FUTURES[1:], *_OPTIONS[1:])
_OF_SHARES = (Group.EQUITY_FUTURES, Group.EQUITY_OPTIONS)
_CONTRACTS = (*_FUTURES, *_OPTIONS)


def _rows(
    broker: str,
    groups: tuple[Group, ...],
    since: date,
    source: str,
    *,
    flat: str | None = None,
    percent: str | None = None,
    minimum: str | None = None,
    cap: str | None = None,
    per_lot: str | None = None,
) -> list[BrokerageRow]:
    return [
        BrokerageRow(
            broker=broker,
            group=group,
            flat=_amount(flat),
            percent=_amount(percent),
            minimum=_amount(minimum),
            cap=_amount(cap),
            per_lot=_amount(per_lot),
            valid_from=since,
            source=source,
        )
        for group in groups
    ]


def _amount(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


_ZERODHA = (
    date(2024, 10, 1),
    "own: zerodha.com/charges and its calculator; currency options as tradesee.in repeats it",
)
_DHAN = (date(2024, 10, 1), "told: dhan.co/pricing as two pages of 2024 and 2025 repeat it")
_UPSTOX = (date(2024, 10, 1), "own: upstox.com/brokerage-charges; ₹10 for API orders was an offer until 2026-09-30")
_UPSTOX_OTHER = (date(2024, 10, 1), "told: currency and commodity taken to be as its equity contracts")
_ANGELONE = (date(2024, 11, 1), "told: its page of November 2024; the least of ₹5 is told since 2025")
_FYERS = (date(2024, 10, 1), "own: support.fyers.in, brokerage and statutory charges; currency told")
_KOTAKNEO = (date(2025, 11, 1), "own: kotakneo.com, Trade API: no brokerage on API orders from 1 November 2025")
_FIVEPAISA = (date(2024, 10, 1), "own: 5paisa.com/pricing, ₹20 an order in every segment")
_GROWW = (date(2025, 6, 1), "own: groww.in help, delivery; intraday and contracts told")
_ICICIDIRECT = (date(2025, 1, 1), "own: icicidirect.com, MoneySaver, the plan of an account without another")
_SHOONYA = (date(2025, 1, 1), "one: a page of February 2026 tells of ₹5 an order; delivery free")

BROKERAGE = (
    *_rows("zerodha", (Group.EQUITY_DELIVERY,), *_ZERODHA, flat="0"),
    *_rows("zerodha", (Group.EQUITY_INTRADAY, *_FUTURES), *_ZERODHA, percent="0.03", cap="20"),
    *_rows("zerodha", _OPTIONS, *_ZERODHA, flat="20"),
    *_rows("dhan", (Group.EQUITY_DELIVERY,), *_DHAN, flat="0"),
    *_rows("dhan", (Group.EQUITY_INTRADAY, *_FUTURES), *_DHAN, percent="0.03", cap="20"),
    *_rows("dhan", _OPTIONS, *_DHAN, flat="20"),
    *_rows("upstox", (Group.EQUITY_DELIVERY,), *_UPSTOX, percent="2.5", cap="20"),
    *_rows("upstox", (Group.EQUITY_INTRADAY,), *_UPSTOX, percent="0.1", cap="20"),
    *_rows("upstox", (Group.EQUITY_FUTURES,), *_UPSTOX, percent="0.05", cap="20"),
    *_rows("upstox", (Group.EQUITY_OPTIONS,), *_UPSTOX, flat="20"),
    *_rows("upstox", _FUTURES[1:], *_UPSTOX_OTHER, percent="0.05", cap="20"),
    *_rows("upstox", _OPTIONS[1:], *_UPSTOX_OTHER, flat="20"),
    *_rows("angelone", (Group.EQUITY_DELIVERY,), *_ANGELONE, percent="0.1", minimum="5", cap="20"),
    *_rows("angelone", (Group.EQUITY_INTRADAY,), *_ANGELONE, percent="0.03", minimum="5", cap="20"),
    *_rows("angelone", _CONTRACTS, *_ANGELONE, flat="20"),
    *_rows("fyers", (Group.EQUITY_DELIVERY,), *_FYERS, percent="0.3", cap="20"),
    *_rows("fyers", (Group.EQUITY_INTRADAY, *_FUTURES), *_FYERS, percent="0.03", cap="20"),
    *_rows("fyers", _OPTIONS, *_FYERS, flat="20"),
    *_rows("kotakneo", (*_CASH, *_CONTRACTS, Group.OTHER), *_KOTAKNEO, flat="0"),
    *_rows("fivepaisa", (*_CASH, *_CONTRACTS, Group.OTHER), *_FIVEPAISA, flat="20"),
    *_rows("groww", _CASH, *_GROWW, percent="0.1", minimum="5", cap="20"),
    *_rows("groww", (*_OF_SHARES, Group.COMMODITY_FUTURES, Group.COMMODITY_OPTIONS), *_GROWW, flat="20"),
    *_rows("icicidirect", (Group.EQUITY_DELIVERY,), *_ICICIDIRECT, percent="0.29"),
    *_rows("icicidirect", (Group.EQUITY_INTRADAY, Group.EQUITY_FUTURES), *_ICICIDIRECT, percent="0.029"),
    *_rows("icicidirect", (Group.EQUITY_OPTIONS,), *_ICICIDIRECT, per_lot="45"),
    *_rows("icicidirect", _CURRENCY_AND_COMMODITY, *_ICICIDIRECT, flat="20"),
    *_rows("shoonya", (Group.EQUITY_DELIVERY,), *_SHOONYA, flat="0"),
    *_rows("shoonya", (Group.EQUITY_INTRADAY, *_CONTRACTS), *_SHOONYA, flat="5"),
)

DP = (
    DpRow(
        broker="zerodha",
        valid_from=date(2024, 10, 1),
        amount=Decimal("15.34"),
        source="own: support.zerodha.com, ₹13 and tax",
    ),
    DpRow(
        broker="upstox",
        valid_from=date(2024, 10, 1),
        amount=Decimal("21.83"),
        source="own: its API's `dp_plan` sample, ₹18.50 and tax",
    ),
    DpRow(broker="dhan", valid_from=date(2024, 10, 1), amount=Decimal("14.75"), source="told: ₹12.50 and tax"),
    DpRow(broker="angelone", valid_from=date(2024, 11, 1), amount=Decimal("23.60"), source="told: ₹20 and tax"),
    DpRow(
        broker="fyers",
        valid_from=date(2025, 6, 24),
        amount=Decimal("14.75"),
        source="own: support.fyers.in, 24 June 2025, ₹12.50 and tax",
    ),
    DpRow(
        broker="kotakneo",
        valid_from=date(2025, 11, 1),
        amount=Decimal("23.60"),
        percent=Decimal("0.0472"),
        source="own: kotakneo.com, 0.04 %, at least ₹20, and tax",
    ),
    DpRow(
        broker="fivepaisa",
        valid_from=date(2024, 10, 1),
        amount=Decimal("14.75"),
        source="own: 5paisa.com/brokerage-charges, ₹12.50 and tax",
    ),
    DpRow(
        broker="groww", valid_from=date(2025, 6, 1), amount=Decimal("23.60"), source="own: groww.in help, ₹20 and tax"
    ),
    DpRow(
        broker="icicidirect",
        valid_from=date(2025, 1, 1),
        amount=Decimal("23.60"),
        source="own: icicidirect.com, ₹20 and tax",
    ),
    DpRow(
        broker="shoonya",
        valid_from=date(2025, 1, 1),
        amount=Decimal("10.62"),
        source="one: ₹9 and tax, general knowledge, unchecked",
    ),
)
"""With 18 % tax. A row is valid from the day that its source names, or else from the day of the broker's brokerage
rows. Some brokers charge less to women or for small sales; the tables hold the full amount."""
