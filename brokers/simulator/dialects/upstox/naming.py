"""How Upstox names the exchange's contracts: segments, instrument keys, trading symbols, the instrument file."""

import gzip
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time

import attrs
import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.symbols import expiry_of, units_of
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.clock import IST
from onebroker.config.instruments import Shape, strike_text

_CASH = {"nse": "NSE_EQ", "bse": "BSE_EQ"}
_INDICES = {"nse": "NSE_INDEX", "bse": "BSE_INDEX", "mcx": "MCX_INDEX"}
_DERIVATIVES = {
    ("nse", "equity"): "NSE_FO",
    ("bse", "equity"): "BSE_FO",
    ("nse", "currency"): "NCD_FO",
    ("bse", "currency"): "BCD_FO",
    ("mcx", "commodity"): "MCX_FO",
    ("nse", "commodity"): "NSE_COM",
}
"""(exchange, calendar) -> segment."""

_ORDER_EXCHANGES = {
    "NSE_EQ": "NSE", "BSE_EQ": "BSE", "NSE_FO": "NFO", "BSE_FO": "BFO", "NCD_FO": "CDS", "BCD_FO": "BCD",
    "MCX_FO": "MCX", "NSE_COM": "NSE",
}  # fmt: skip
"""Segment -> the exchange's name in order, trade and position rows."""

_UNDERLYING_TYPES = {"equity": "EQUITY", "equity_index": "INDEX", "currency": "CUR", "commodity": "COM"}
_LAST_SECOND = time(23, 59, 59)


@attrs.frozen(kw_only=True)
class Name:
    """One contract under Upstox' names."""

    contract: Contract
    segment: str
    key: str
    tradingsymbol: str
    instrument_type: str

    @property
    def quote_name(self) -> str:
        return f"{self.segment}:{self.tradingsymbol}"

    @property
    def exchange(self) -> str:
        return _ORDER_EXCHANGES.get(self.segment, self.segment)

    @property
    def units(self) -> int:
        """Units in one of Upstox' quantities: a contract for currency and commodity, one unit elsewhere."""
        return units_of(self.contract)

    @property
    def is_cash(self) -> bool:
        return self.segment in _CASH.values()

    @property
    def tradable(self) -> bool:
        return not self.contract.is_index


def name_of(contract: Contract) -> Name | None:
    """Return Upstox' name of a contract, or None for a contract that it does not list (ncdex)."""
    identity = contract.identity
    if identity.shape is Shape.SECURITY:
        return _security(contract)
    segment = _DERIVATIVES.get((identity.exchange, contract.calendar))
    if segment is None:
        return None
    expiry = f"{expiry_of(contract):%d %b %y}".upper()
    future = identity.shape is Shape.FUTURE
    kind = "FUT" if future else f"{strike_text(identity.strike_price or 0.0)} {identity.option_type}"
    return Name(
        contract=contract,
        segment=segment,
        key=f"{segment}|{contract.exchange_token}",
        tradingsymbol=f"{identity.underlying_symbol} {kind} {expiry}",
        instrument_type="FUT" if future else str(identity.option_type),
    )


def instrument_file(names: Iterable[Name]) -> bytes:
    """Return the gzipped JSON list of these instruments."""
    return gzip.compress(msgspec.json.encode([_file_row(name) for name in names]), compresslevel=1, mtime=0)


def _security(contract: Contract) -> Name | None:
    exchange, symbol = contract.identity.exchange, str(contract.identity.symbol)
    segment = (_INDICES if contract.is_index else _CASH).get(exchange)
    if segment is None:
        return None
    return Name(
        contract=contract,
        segment=segment,
        key=f"{segment}|{contract.name if contract.is_index else contract.isin}",
        tradingsymbol=symbol,
        instrument_type="INDEX" if contract.is_index else contract.series,
    )


def _file_row(name: Name) -> dict[str, object]:
    contract, identity = name.contract, name.contract.identity
    row: dict[str, object] = {
        "segment": name.segment,
        "name": contract.name.upper(),
        "exchange": identity.exchange.upper(),
        "instrument_type": name.instrument_type,
        "instrument_key": name.key,
        "exchange_token": str(contract.exchange_token),
        "trading_symbol": name.tradingsymbol,
    }
    if contract.is_index:
        return {**row, "name": contract.name}
    # Currency rows count contracts (lot_size 1), commodity rows count units. Both also give the contract's size.
    counted = name.units if contract.calendar == "currency" else 1
    freeze = None if contract.freeze_quantity is None else float(contract.freeze_quantity // counted)
    row |= {
        "lot_size": contract.lot_size // counted,
        "freeze_quantity": freeze,
        "tick_size": float(contract.tick_size * 100),  # paise
        "qty_multiplier": float(name.units),
    }
    if name.is_cash:
        return {**row, "isin": contract.isin, "short_name": contract.name, "security_type": "NORMAL"}
    return row | _derivative_fields(name)


def _derivative_fields(name: Name) -> dict[str, object]:
    contract, identity = name.contract, name.contract.identity
    last_second = datetime.combine(expiry_of(contract), _LAST_SECOND, IST)
    kind = _UNDERLYING_TYPES[contract.bare.rpartition("_")[0]]
    return {
        "weekly": False,
        "name": identity.underlying_symbol,
        "expiry": int(last_second.timestamp()) * 1000,
        "asset_symbol": identity.underlying_symbol,
        "underlying_symbol": identity.underlying_symbol,
        "asset_type": kind,
        "underlying_type": kind,
        "strike_price": identity.strike_price or 0.0,
        "minimum_lot": contract.lot_size // (name.units if contract.calendar == "currency" else 1),
    }


class UpstoxNames(Listed[Name]):
    """Upstox' names for one account, also by instrument key."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_key(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_key

    def _index(self, names: Sequence[Name]) -> None:
        self._by_key = {name.key: name for name in names}
