"""How Groww names the exchange's contracts: exchanges, segments, trading and Groww symbols, tokens, the instrument file."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.rest import csv_file
from onebroker.brokers.simulator.dialects.symbols import compact_symbol, expiry_of, series_symbol
from onebroker.brokers.simulator.world.conventions import INDEX_SYMBOLS
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Shape, strike_text

HEADER = (
    "exchange", "exchange_token", "trading_symbol", "groww_symbol", "name", "instrument_type", "segment", "series", "isin",
    "underlying_symbol", "underlying_exchange_token", "expiry_date", "strike_price", "lot_size", "tick_size", "freeze_quantity",
    "is_reserved", "buy_allowed", "sell_allowed", "internal_trading_symbol", "is_intraday",
)  # fmt: skip

_SEGMENTS = {
    ("nse", "equity"): "FNO",
    ("bse", "equity"): "FNO",
    ("mcx", "commodity"): "COMMODITY",
}
"""(exchange, calendar) -> segment, for the derivatives that Groww lists."""
_SHORT_INDICES = {listed: short for short, listed in INDEX_SYMBOLS.items()}


@attrs.frozen(kw_only=True)
class Name:
    """One contract under Groww's names."""

    contract: Contract
    exchange: str
    segment: str
    token: str
    """Digits; for an NSE index its trading symbol."""
    trading_symbol: str
    groww_symbol: str
    instrument_type: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.exchange, self.segment, self.trading_symbol

    @property
    def quote_name(self) -> str:
        return f"{self.exchange}_{self.trading_symbol}"

    @property
    def tradable(self) -> bool:
        return not self.contract.is_index

    @property
    def contract_id(self) -> str:
        """The contract's name in order updates."""
        return self.contract.isin or self.trading_symbol if self.segment == "CASH" else self.trading_symbol


def name_of(contract: Contract) -> Name | None:
    """Return Groww's name of a contract, or None for a contract that it does not list (ncdex, currency)."""
    identity = contract.identity
    if identity.shape is Shape.SECURITY:
        return _security(contract)
    segment = _SEGMENTS.get((identity.exchange, contract.calendar))
    if segment is None:
        return None
    exchange = identity.exchange.upper()
    future = identity.shape is Shape.FUTURE
    expiry = expiry_of(contract)
    kind = "FUT" if future else str(identity.option_type)
    tail = "FUT" if future else f"{strike_text(identity.strike_price or 0.0)}-{kind}"
    return Name(
        contract=contract,
        exchange=exchange,
        segment=segment,
        token=str(contract.exchange_token),
        trading_symbol=compact_symbol(contract, has_weeklies=contract.calendar == "equity"),
        groww_symbol=f"{exchange}-{identity.underlying_symbol}-{expiry.day}{expiry:%b%y}-{tail}",
        instrument_type=kind,
    )


def _security(contract: Contract) -> Name | None:
    exchange = contract.identity.exchange.upper()
    if exchange not in ("NSE", "BSE"):
        return None
    symbol = str(contract.identity.symbol)
    if contract.is_index:
        symbol = _SHORT_INDICES.get(symbol, symbol.replace(" ", ""))
    elif exchange == "NSE":
        symbol = series_symbol(contract)
    return Name(
        contract=contract,
        exchange=exchange,
        segment="CASH",
        token=symbol if contract.is_index and exchange == "NSE" else str(contract.exchange_token),
        trading_symbol=symbol,
        groww_symbol=f"{exchange}-{symbol}",
        instrument_type="IDX" if contract.is_index else "EQ",
    )


def instrument_file(names: Iterable[Name]) -> bytes:
    """Return the CSV of these instruments."""
    listed = list(names)
    tokens = {(name.exchange, name.trading_symbol): name.token for name in listed if name.segment == "CASH"}
    return csv_file(HEADER, (_file_row(name, tokens) for name in listed))


def _file_row(name: Name, tokens: Mapping[tuple[str, str], str]) -> Sequence[object]:
    contract, identity = name.contract, name.contract.identity
    head = (name.exchange, name.token, name.trading_symbol, name.groww_symbol)
    if contract.is_index:
        # The ISIN column holds the symbol, and there is nothing to trade.
        return (*head, contract.name, "IDX", "CASH", "", name.trading_symbol, *[""] * 7, 0, 0, 0, "", 0)
    lot, tick = contract.lot_size, float(contract.tick_size)
    freeze = "" if contract.freeze_quantity is None else contract.freeze_quantity + 1
    if name.segment == "CASH":
        inside = f"{identity.symbol}-{contract.series}" if name.exchange == "NSE" else name.trading_symbol
        return (
            *head, contract.name, "EQ", "CASH", contract.series, contract.isin, "", "", "", "", lot, tick, "", 1, 1, 1, inside, 1,
        )  # fmt: skip
    under = str(identity.underlying_symbol)
    return (
        *head, "", name.instrument_type, name.segment, "", "", under, tokens.get((name.exchange, under), ""),
        identity.expiry_date, "" if identity.strike_price is None else strike_text(identity.strike_price), lot, tick, freeze,
        1, 1, 1, name.trading_symbol, 0,
    )  # fmt: skip


class GrowwNames(Listed[Name]):
    """Groww's names for one account, also by (exchange, segment, trading symbol), by Groww symbol and by stream place."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_key(self) -> Mapping[tuple[str, str, str], Name]:
        self._refresh()
        return self._by_key

    @property
    def by_groww_symbol(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_groww_symbol

    @property
    def by_place(self) -> Mapping[str, Name]:
        """By the part of a stream subject that names the instrument: `eq/nse/2885`."""
        self._refresh()
        return self._by_place

    def _index(self, names: Sequence[Name]) -> None:
        self._by_key = {name.key: name for name in names}
        self._by_groww_symbol = {name.groww_symbol: name for name in names}
        self._by_place = {place: name for name in names if (place := stream_place(name)) is not None}


def stream_place(name: Name) -> str | None:
    """Return an instrument's place in the stream's subjects; None for MCX, which has no place there."""
    folder = "indices" if name.contract.is_index else {"CASH": "eq", "FNO": "fo"}.get(name.segment)
    return None if folder is None else f"{folder}/{name.exchange.lower()}/{name.token}"
