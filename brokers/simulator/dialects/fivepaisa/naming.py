"""How 5paisa names the exchange's contracts: exchange, kind of market, script code; and its instrument file."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import attrs

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.rest import csv_file
from onebroker.brokers.simulator.dialects.symbols import expiry_of, units_of
from onebroker.brokers.simulator.world.conventions import INDEX_SYMBOLS
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Shape, strike_text
from onebroker.config.money import plain

_EXCHANGES = {"nse": "N", "bse": "B", "mcx": "M"}
_KINDS = {"equity": "D", "commodity": "D", "currency": "U"}
"""A derivative's calendar -> kind of market."""
_FIRST_INDEX = 999_900_000
_SHORT_INDEX_NAMES = {symbol: short for short, symbol in INDEX_SYMBOLS.items()}
_NO_EXPIRY = "1980-01-01 00:00:00"
_FIRST_DAY = date(1980, 1, 1)
_DAY_SECONDS = 86_400

HEADER = (
    "Exch", "ExchType", "ScripCode", "Name", "Expiry", "ScripType", "StrikeRate", "FullName", "TickSize", "LotSize",
    "QtyLimit", "Multiplier", "SymbolRoot", "BOCOAllowed", "ISIN", "ScripData", "Series",
)  # fmt: skip
SEGMENTS = {
    "all": None, "nse_eq": ("N", "C"), "bse_eq": ("B", "C"), "nse_fo": ("N", "D"), "bse_fo": ("B", "D"),
    "ncd_fo": ("N", "U"), "mcx_fo": ("M", "D"),
}  # fmt: skip
"""Word in the file's address -> exchange and kind of market; None for all."""

Key = tuple[str, str, str]
"""Exchange, kind of market, script code."""


@attrs.frozen(kw_only=True)
class Name:
    """One contract under 5paisa's names."""

    contract: Contract
    exchange: str
    kind: str
    code: int
    name: str
    scrip_data: str

    @property
    def key(self) -> Key:
        return self.exchange, self.kind, str(self.code)

    @property
    def units(self) -> int:
        """Units in one of 5paisa's quantities: a contract for currency and commodity, one unit elsewhere."""
        return units_of(self.contract)

    @property
    def is_cash(self) -> bool:
        return self.kind == "C"

    @property
    def symbol(self) -> str:
        """The contract's symbol in the stream's order messages."""
        identity = self.contract.identity
        return str(identity.symbol if self.is_cash else self.name)


def name_of(contract: Contract) -> Name | None:
    """Return 5paisa's name of a contract, or None for a contract that it does not list (ncdex)."""
    identity = contract.identity
    exchange = _EXCHANGES.get(identity.exchange)
    if exchange is None:
        return None
    if identity.shape is Shape.SECURITY:
        symbol = str(identity.symbol)
        if contract.is_index:
            short = _SHORT_INDEX_NAMES.get(symbol, symbol)
            code = _FIRST_INDEX + contract.exchange_token
            return Name(contract=contract, exchange=exchange, kind="C", code=code, name=short, scrip_data=short)
        return Name(
            contract=contract, exchange=exchange, kind="C", code=contract.exchange_token, name=symbol,
            scrip_data=f"{symbol}_{contract.series}",
        )  # fmt: skip
    name, data = _derivative_names(contract)
    kind = _KINDS[contract.calendar]
    return Name(
        contract=contract, exchange=exchange, kind=kind, code=contract.exchange_token, name=name, scrip_data=data
    )


def _derivative_names(contract: Contract) -> tuple[str, str]:
    identity, expiry = contract.identity, expiry_of(contract)
    name = f"{identity.underlying_symbol} {expiry:%d %b %Y}"
    # MCX counts seconds since 1980; the other exchanges write the day.
    stamp = (expiry - _FIRST_DAY).days * _DAY_SECONDS if identity.exchange == "mcx" else f"{expiry:%Y%m%d}"
    if identity.shape is Shape.FUTURE:
        return name, f"{name}_{stamp}"
    strike = identity.strike_price or 0.0
    name = f"{name} {identity.option_type} {strike:.2f}"
    return name, f"{name}_{stamp}_{identity.option_type}_{strike_text(strike)}"


def instrument_file(names: Iterable[Name]) -> bytes:
    """Return the CSV of these instruments."""
    return csv_file(HEADER, (_file_row(name) for name in names))


def _file_row(name: Name) -> list[object]:
    contract, identity = name.contract, name.contract.identity
    if name.is_cash:
        expiry, kind, strike, root = _NO_EXPIRY, "EQ", "0", str(identity.symbol)
        full_name = root if contract.is_index else contract.name.upper()
    else:
        expiry, root = f"{identity.expiry_date} 14:30:00", str(identity.underlying_symbol)
        kind = identity.option_type or "XX"
        strike, full_name = strike_text(identity.strike_price or 0.0), root
    series = ("EQ" if contract.is_index else contract.series) if name.is_cash else "XX"
    return [
        name.exchange, name.kind, name.code, name.name, expiry, kind, strike, full_name, plain(contract.tick_size),
        contract.lot_size // name.units, (contract.freeze_quantity or 0) // name.units, name.units, root,
        "Y" if name.is_cash and not contract.is_index else "N", contract.isin or "", name.scrip_data, series,
    ]  # fmt: skip


class FivepaisaNames(Listed[Name]):
    """5paisa's names for one account, also by exchange, kind of market and code, and by script data."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_key(self) -> Mapping[Key, Name]:
        self._refresh()
        return self._by_key

    @property
    def by_data(self) -> Mapping[Key, Name]:
        """By exchange, kind of market and script data."""
        self._refresh()
        return self._by_data

    def find(self, exchange: object, kind: object, code: object, data: object = None) -> Name | None:
        """Return the contract that a call names. The code takes precedence over the script data."""
        where = str(exchange).strip(), str(kind).strip()
        if str(code or "0").strip() not in ("", "0"):
            return self.by_key.get((*where, str(code).strip()))
        return self.by_data.get((*where, str(data or "").strip()))

    def named(self, fields: Mapping[str, object], exchange: str, kind: str) -> Name | None:
        """Return the contract that the fields of a call name; `exchange` and `kind` are the first two fields' names."""
        return self.find(fields.get(exchange), fields.get(kind), fields.get("ScripCode"), fields.get("ScripData"))

    def _index(self, names: Sequence[Name]) -> None:
        self._by_key = {name.key: name for name in names}
        self._by_data = {(name.exchange, name.kind, name.scrip_data): name for name in names}
