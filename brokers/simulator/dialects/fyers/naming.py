"""How Fyers names the exchange's contracts: numbers of segments, tickers, fyTokens, topics, the symbol masters."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time

import attrs
import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.rest import csv_file
from onebroker.brokers.simulator.dialects.symbols import compact_symbol, expiry_of, units_of
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.clock import IST
from onebroker.config.instruments import Shape, strike_text

_EXCHANGES = {"nse": ("NSE", 10), "bse": ("BSE", 12), "mcx": ("MCX", 11)}
_CASH = 10
_SEGMENTS = {"equity": 11, "currency": 12, "commodity": 20}
"""A derivative's calendar -> the number of its segment."""
_STREAM_SEGMENTS = {
    (10, 10): "nse_cm",
    (10, 11): "nse_fo",
    (10, 12): "cde_fo",
    (10, 20): "nse_com",
    (12, 10): "bse_cm",
    (12, 11): "bse_fo",
    (12, 12): "bcs_fo",
    (11, 20): "mcx_fo",
}
_MASTERS = {
    (10, 10): "NSE_CM",
    (10, 11): "NSE_FO",
    (10, 12): "NSE_CD",
    (10, 20): "NSE_COM",
    (12, 10): "BSE_CM",
    (12, 11): "BSE_FO",
    (11, 20): "MCX_COM",
}
MASTERS = tuple(_MASTERS.values())

_CASH_TYPES = {"fixed_income": 2, "mutual_funds": 8, "exchange_traded_funds": 9, "equity_indices": 10}
_DERIVATIVE_TYPES = {
    "equity_index_futures": 11,
    "equity_futures": 13,
    "equity_index_options": 14,
    "equity_options": 15,
    "currency_futures": 16,
    "currency_options": 19,
    "commodity_index_futures": 11,
    "commodity_futures": 30,
    "commodity_options": 31,
}
_CLOSES = {"equity": time(15, 30), "currency": time(12, 30), "commodity": time(23, 30)}
_SITTINGS = {"equity": "0915-1530|1815-1915:", "currency": "0900-1700|1815-1915:", "commodity": "0900-2330|1815-1915:"}


@attrs.frozen(kw_only=True)
class Name:
    """One contract under Fyers' names."""

    contract: Contract
    exchange: int
    segment: int
    ticker: str

    @property
    def fy_token(self) -> str:
        day = "000000" if self.contract.identity.expiry_date is None else f"{expiry_of(self.contract):%y%m%d}"
        return f"{self.exchange}{self.segment}{day}{self.contract.exchange_token}"

    @property
    def stream_segment(self) -> str:
        return _STREAM_SEGMENTS[self.exchange, self.segment]

    @property
    def topics(self) -> tuple[str, ...]:
        """The trades topic (for an index: the index topic), then the depth topic."""
        if self.contract.is_index:
            return (f"if|{self.stream_segment}|{self.contract.name}",)
        tail = f"{self.stream_segment}|{self.contract.exchange_token}"
        return (f"sf|{tail}", f"dp|{tail}")

    @property
    def units(self) -> int:
        """Units in one of Fyers' quantities: a lot for currency and commodity contracts, one unit elsewhere."""
        return units_of(self.contract)

    @property
    def precision(self) -> int:
        """Number of decimals of a price on the data socket."""
        return 4 if self.contract.calendar == "currency" else 2

    @property
    def exchange_type(self) -> int:
        return (
            _CASH_TYPES.get(self.contract.bare, 0) if self.segment == _CASH else _DERIVATIVE_TYPES[self.contract.bare]
        )

    @property
    def tradable(self) -> bool:
        return not self.contract.is_index


def name_of(contract: Contract) -> Name | None:
    """Return Fyers' name of a contract, or None for a contract that it does not list (ncdex)."""
    identity = contract.identity
    if identity.exchange not in _EXCHANGES:
        return None
    word, number = _EXCHANGES[identity.exchange]
    if identity.shape is Shape.SECURITY:
        symbol = str(identity.symbol)
        tail = f"{symbol.replace(' ', '')}-INDEX" if contract.is_index else f"{symbol}-{contract.series}"
        return Name(contract=contract, exchange=number, segment=_CASH, ticker=f"{word}:{tail}")
    segment = _SEGMENTS[contract.calendar]
    if (number, segment) not in _MASTERS:
        return None
    # Equity and currency options may expire weekly.
    symbol = compact_symbol(contract, has_weeklies=contract.calendar != "commodity")
    return Name(contract=contract, exchange=number, segment=segment, ticker=f"{word}:{symbol}")


def csv_master(names: Iterable[Name], day: date) -> bytes:
    """Return the CSV of these instruments. It has no header."""
    return csv_file(None, (_csv_row(name, day) for name in names))


def json_master(names: Iterable[Name], day: date) -> bytes:
    """Return the same master as JSON: one object, keyed by ticker."""
    return msgspec.json.encode({name.ticker: _json_row(name, day) for name in names})


def index_names(names: Iterable[Name]) -> bytes:
    """Return the data socket's name of each index."""
    return msgspec.json.encode({name.ticker: name.contract.name for name in names if name.contract.is_index})


def master_of(name: Name) -> str:
    return _MASTERS[name.exchange, name.segment]


def _details(name: Name) -> str:
    """The readable name: the company's name, or `NIFTY 29 Sep 26 FUT`."""
    contract, identity = name.contract, name.contract.identity
    if identity.shape is Shape.SECURITY:
        return name.ticker.partition(":")[2] if contract.is_index else contract.name.upper()
    strike = strike_text(identity.strike_price or 0.0)
    kind = "FUT" if identity.shape is Shape.FUTURE else f"{strike} {identity.option_type}"
    return f"{identity.underlying_symbol} {expiry_of(contract):%d %b %y} {kind}"


def _expiry(name: Name) -> int | None:
    """The expiry day's closing time, in epoch seconds; None for a contract without an expiry."""
    contract = name.contract
    if contract.identity.expiry_date is None:
        return None
    return int(datetime.combine(expiry_of(contract), _CLOSES[contract.calendar], IST).timestamp())


def _csv_row(name: Name, day: date) -> Sequence[object]:
    contract, identity = name.contract, name.contract.identity
    derived = identity.shape is not Shape.SECURITY
    own = ("-1", "-1") if derived else (contract.exchange_token, name.fy_token)
    return (
        name.fy_token, _details(name), name.exchange_type, 0 if contract.is_index else contract.lot_size // name.units,
        float(contract.tick_size), contract.isin or "", _SITTINGS[contract.calendar], day.isoformat(),
        _expiry(name) or "", name.ticker, name.exchange, name.segment, contract.exchange_token,
        identity.underlying_symbol or str(identity.symbol).replace(" ", ""), own[0], identity.strike_price or -1.0,
        identity.option_type or "XX", own[1], "None", 0, 0.0,
    )  # fmt: skip


def _json_row(name: Name, day: date) -> dict[str, object]:
    contract, identity = name.contract, name.contract.identity
    freeze = 0 if contract.freeze_quantity is None else contract.freeze_quantity // name.units
    return {
        "fyToken": name.fy_token,
        "symTicker": name.ticker,
        "symDetails": _details(name),
        "symbolDesc": _details(name),
        "exSymbol": identity.underlying_symbol or identity.symbol,
        "exToken": contract.exchange_token,
        "exSeries": contract.series,
        "exchange": name.exchange,
        "segment": name.segment,
        "exInstType": name.exchange_type,
        "optType": identity.option_type or "XX",
        "strikePrice": identity.strike_price or -1.0,
        "expiryDate": str(_expiry(name) or ""),
        "minLotSize": 0 if contract.is_index else contract.lot_size // name.units,
        "tickSize": float(contract.tick_size),
        "qtyFreeze": str(freeze),
        "qtyMultiplier": float(name.units),
        "isin": contract.isin or "",
        "underSym": identity.underlying_symbol or identity.symbol,
        "tradingSession": _SITTINGS[contract.calendar],
        "tradeStatus": 1,
        "lastUpdate": day.isoformat(),
        "is_mtf_tradable": 0,
        "leverage": 0.0,
        "faceValue": 0.0,
        "upperPrice": 0.0,
        "lowerPrice": 0.0,
        "currencyCode": "INR",
    }


class FyersNames(Listed[Name]):
    """Fyers' names for one account, also by ticker and by topic of the data socket."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_ticker(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_ticker

    @property
    def by_topic(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_topic

    def _index(self, names: Sequence[Name]) -> None:
        self._by_ticker = {name.ticker: name for name in names}
        self._by_topic = {topic: name for name in names for topic in name.topics}
