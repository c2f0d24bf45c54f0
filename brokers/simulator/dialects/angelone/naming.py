"""How SmartAPI names the exchange's contracts: exchange segments, tokens, trading symbols, the instrument file."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import attrs
import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.symbols import MONTHS, expiry_of, units_of
from onebroker.brokers.simulator.world.conventions import INDEX_SYMBOLS
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Shape, strike_text

_CASH = {"nse": "NSE", "bse": "BSE"}
_DERIVATIVES = {
    ("nse", "equity"): "NFO",
    ("bse", "equity"): "BFO",
    ("nse", "currency"): "CDS",
    ("mcx", "commodity"): "MCX",
    ("ncdex", "commodity"): "NCDEX",
    ("nse", "commodity"): "NCO",
}
"""(exchange, calendar) -> exchange segment."""
EXCHANGE_TYPES = {"NSE": 1, "NFO": 2, "BSE": 3, "BFO": 4, "MCX": 5, "NCDEX": 7, "CDS": 13}
"""Exchange segment -> its number on the market socket."""
TRADING_UNITS = {"GOLD": 1, "GOLDM": 100, "ZINC": 5, "ALUMINIUM": 5}
"""MCX underlyings that are traded in another unit than they are quoted in: kilograms, grams, tonnes."""
_KINDS = {
    "equity_index_futures": "FUTIDX", "equity_index_options": "OPTIDX", "equity_futures": "FUTSTK",
    "equity_options": "OPTSTK", "currency_futures": "FUTCUR", "currency_options": "OPTCUR",
    "commodity_futures": "FUTCOM", "commodity_options": "OPTFUT",
}  # fmt: skip
_FIRST_INDEX_TOKEN = 99_900_000
_SHORT_NAMES = {symbol: short for short, symbol in INDEX_SYMBOLS.items()}


@attrs.frozen(kw_only=True)
class Name:
    """One contract under SmartAPI's names."""

    contract: Contract
    exchange: str
    token: str
    tradingsymbol: str
    instrument_type: str

    @property
    def key(self) -> tuple[str, str]:
        """Exchange segment and token: a token is unique only within its exchange segment."""
        return (self.exchange, self.token)

    @property
    def units(self) -> int:
        """Units in one of SmartAPI's quantities: a lot for currency and commodity, one unit elsewhere."""
        return units_of(self.contract)

    @property
    def short_name(self) -> str:
        identity = self.contract.identity
        if identity.shape is not Shape.SECURITY:
            return str(identity.underlying_symbol)
        symbol = str(identity.symbol)
        return _SHORT_NAMES.get(symbol, symbol.replace(" ", ""))

    @property
    def expiry(self) -> str:
        """`30OCT2025`; blank for a contract without an expiry."""
        if self.contract.identity.expiry_date is None:
            return ""
        day = expiry_of(self.contract)
        return f"{day.day:02d}{MONTHS[day.month - 1]}{day.year}"

    @property
    def is_cash(self) -> bool:
        return self.exchange in _CASH.values()

    @property
    def tradable(self) -> bool:
        return not self.contract.is_index

    @property
    def price_scale(self) -> int:
        """The number of parts of a rupee in which the market socket counts prices."""
        return 10_000_000 if self.exchange == "CDS" else 100


def name_of(contract: Contract) -> Name | None:
    """Return SmartAPI's name of a contract, or None for a contract that it does not list (BSE currency)."""
    identity = contract.identity
    if identity.shape is Shape.SECURITY:
        return _security(contract)
    exchange = _DERIVATIVES.get((identity.exchange, contract.calendar))
    if exchange is None:
        return None
    return Name(
        contract=contract,
        exchange=exchange,
        token=str(contract.exchange_token),
        tradingsymbol=_derivative_symbol(contract),
        instrument_type=_KINDS[contract.bare],
    )


def instrument_file(names: Iterable[Name]) -> bytes:
    """Return the JSON list of these instruments. All values are texts."""
    return msgspec.json.encode([_file_row(name) for name in names])


def _security(contract: Contract) -> Name | None:
    exchange = _CASH.get(contract.identity.exchange)
    if exchange is None:
        return None
    symbol = str(contract.identity.symbol)
    if contract.is_index:
        return Name(
            contract=contract,
            exchange=exchange,
            token=str(_FIRST_INDEX_TOKEN + contract.exchange_token),
            tradingsymbol=contract.name,
            instrument_type="AMXIDX",
        )
    # NSE's symbols carry their series, BSE's symbols do not.
    tail = f"-{contract.series}" if exchange == "NSE" and contract.series else ""
    return Name(
        contract=contract,
        exchange=exchange,
        token=str(contract.exchange_token),
        tradingsymbol=f"{symbol}{tail}",
        instrument_type="",
    )


def _derivative_symbol(contract: Contract) -> str:
    identity, expiry = contract.identity, expiry_of(contract)
    month = MONTHS[expiry.month - 1]
    goods = contract.calendar in ("commodity", "currency")
    # Goods and currencies name the month, `CRUDEOIL25NOV5000CE`. All others name the day, `NIFTY30OCT2525000CE`.
    when = f"{expiry.year % 100:02d}{month}" if goods else f"{expiry.day:02d}{month}{expiry.year % 100:02d}"
    if identity.shape is Shape.FUTURE:
        return f"{identity.underlying_symbol}{when}FUT"
    strike = strike_text(identity.strike_price or 0.0).replace(".", "")
    return f"{identity.underlying_symbol}{when}{strike}{identity.option_type}"


def _file_lot(name: Name) -> str:
    """Return the file's lot: 1 for contracts of the currency exchange, the exchange's trading unit for MCX, units for other goods."""
    if name.exchange == "CDS":
        return "1"
    lot = name.contract.lot_size
    traded_in = TRADING_UNITS.get(name.contract.identity.underlying_symbol or "", lot)
    return str(traded_in if name.exchange == "MCX" else lot)


def _file_row(name: Name) -> dict[str, str]:
    contract = name.contract
    return {
        "token": name.token,
        "symbol": name.tradingsymbol,
        "name": name.short_name,
        "expiry": name.expiry,
        "strike": _strike(name),
        "lotsize": _file_lot(name),
        "instrumenttype": name.instrument_type,
        "exch_seg": name.exchange,
        "tick_size": "0.000000" if contract.is_index else f"{contract.tick_size * 100:.6f}",
    }


def _strike(name: Name) -> str:
    strike = name.contract.identity.strike_price
    if strike is None:
        return "0.000000" if name.contract.is_index else "-1.000000"
    return f"{Decimal(repr(strike)) * (10_000_000 if name.exchange == 'CDS' else 100):.6f}"


class SmartNames(Listed[Name]):
    """SmartAPI's names for one account, also by exchange segment and token, and by exchange type and token."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_key(self) -> Mapping[tuple[str, str], Name]:
        self._refresh()
        return self._by_key

    @property
    def by_type(self) -> Mapping[tuple[int, str], Name]:
        self._refresh()
        return self._by_type

    def _index(self, names: Sequence[Name]) -> None:
        self._by_key = {name.key: name for name in names}
        self._by_type = {
            (EXCHANGE_TYPES[name.exchange], name.token): name for name in names if name.exchange in EXCHANGE_TYPES
        }
