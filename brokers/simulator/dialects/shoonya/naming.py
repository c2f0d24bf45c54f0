"""How Shoonya names the exchange's contracts: exchange codes, trading symbols, tokens, price factors, the instrument files."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.rest import csv_file
from onebroker.brokers.simulator.dialects.symbols import MONTHS, compact_symbol, expiry_of
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Shape, strike_text
from onebroker.config.money import plain

_CASH = {"nse": "NSE", "bse": "BSE"}
_DERIVATIVES = {
    ("nse", "equity"): "NFO",
    ("bse", "equity"): "BFO",
    ("nse", "currency"): "CDS",
    ("mcx", "commodity"): "MCX",
    ("ncdex", "commodity"): "NCX",
}
FILES = ("NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCX")
"""Files, each named after its exchange."""

_FACTORS = {
    "GOLD": "100", "GOLDM": "0.1", "ZINC": "1000", "ALUMINIUM": "1000", "JEERAUNJHA": "10", "DHANIYA": "10",
    "GUARSEED10": "10", "TMCFGRNZM": "10",
}  # fmt: skip
"""Commodity -> units priced in one of Shoonya's quantities. Gold is counted by the kilogram or (mini) the gram and priced by ten grams. Metals and
crops are counted by the tonne and priced by the kilogram or quintal. Other commodities are counted in the priced unit."""

_CASH_HEADER = ("Exchange", "Token", "LotSize", "Symbol", "TradingSymbol", "Instrument", "TickSize")
_TAIL = ("Symbol", "TradingSymbol", "Expiry", "Instrument", "OptionType", "StrikePrice", "TickSize")
_HEADERS = {
    "NSE": _CASH_HEADER,
    "BSE": _CASH_HEADER,
    "NFO": ("Exchange", "Token", "LotSize", *_TAIL),
    "BFO": ("Exchange", "Token", "LotSize", *_TAIL),
    "CDS": ("Exchange", "Token", "LotSize", "Precision", "Multiplier", *_TAIL),
    "MCX": ("Exchange", "Token", "LotSize", "GNGD", *_TAIL),
    "NCX": ("Exchange", "Token", "LotSize", "GNGD", *_TAIL),  # assumed to be the same as MCX's
}
_PLACEHOLDERS = {
    "NFO": ("NFO,1,0,,,,,XX,0,0,",),
    "CDS": ("CDS,5,1,4,1000,DUMMY,DUMMY5,01-JAN-2030,FUTCUR,XX,0,0.0025,",),
}
"""Placeholder rows without an instrument, as in the real files."""


@attrs.frozen(kw_only=True)
class Name:
    """One contract under Shoonya's names."""

    contract: Contract
    exchange: str
    symbol: str
    tradingsymbol: str
    instrument: str
    """A share's series or group, a contract's kind."""
    factor: Decimal = Decimal(1)
    """Units priced in one of Shoonya's quantities."""

    @property
    def token(self) -> str:
        return str(self.contract.exchange_token)

    @property
    def scrip(self) -> str:
        return f"{self.exchange}|{self.token}"

    @property
    def places(self) -> int:
        return 4 if self.exchange == "CDS" else 2

    @property
    def lot(self) -> int:
        """The lot size in Shoonya's quantities."""
        return int(self.contract.lot_size / self.factor)

    def quantity(self, units: int) -> str:
        """Return units in Shoonya's count."""
        return str(int(units / self.factor))

    def price(self, value: Decimal | None) -> str:
        return f"{value or Decimal(0):.{self.places}f}"


def name_of(contract: Contract) -> Name | None:
    """Return Shoonya's name of a contract, or None for a contract that it does not list (BSE's indices)."""
    identity = contract.identity
    if identity.shape is Shape.SECURITY:
        return _security(contract)
    exchange = _DERIVATIVES.get((identity.exchange, contract.calendar))
    if exchange is None:
        return None
    underlying = str(identity.underlying_symbol)
    return Name(
        contract=contract,
        exchange=exchange,
        symbol=underlying,
        tradingsymbol=_derivative_symbol(contract, exchange),
        instrument=_instrument(contract),
        factor=_factor(contract, underlying),
    )


def _factor(contract: Contract, underlying: str) -> Decimal:
    """Currency is counted in lots, goods as the table says, all others in units."""
    if contract.calendar == "currency":
        return Decimal(contract.lot_size)
    return Decimal(_FACTORS.get(underlying, "1") if contract.calendar == "commodity" else "1")


def _security(contract: Contract) -> Name | None:
    exchange = _CASH.get(contract.identity.exchange)
    if exchange is None or (contract.is_index and exchange == "BSE"):
        return None
    symbol = str(contract.identity.symbol)
    if contract.is_index:
        return Name(
            contract=contract,
            exchange=exchange,
            symbol=symbol.title(),
            tradingsymbol=f"{symbol} INDEX",
            instrument="INDEX",
        )
    return Name(
        contract=contract,
        exchange=exchange,
        symbol=symbol,
        tradingsymbol=f"{symbol}-{contract.series}" if exchange == "NSE" else symbol,
        instrument=contract.series,
    )


def _instrument(contract: Contract) -> str:
    future = contract.identity.shape is Shape.FUTURE
    if contract.calendar == "commodity":
        return "FUTCOM" if future else "OPTFUT"
    ending = "CUR" if contract.calendar == "currency" else "IDX" if "_index_" in contract.bare else "STK"
    return f"{'FUT' if future else 'OPT'}{ending}"


def _derivative_symbol(contract: Contract, exchange: str) -> str:
    if exchange == "BFO":
        return compact_symbol(contract, has_weeklies=True)
    identity, expiry = contract.identity, expiry_of(contract)
    head = f"{identity.underlying_symbol}{expiry.day:02d}{MONTHS[expiry.month - 1]}{expiry.year % 100:02d}"
    if identity.shape is Shape.FUTURE:
        return head if contract.calendar == "commodity" else f"{head}F"
    return f"{head}{str(identity.option_type)[0]}{strike_text(identity.strike_price or 0.0)}"


def archive(exchange: str, names: Sequence[Name]) -> bytes:
    """Return the zipped file of an exchange. Every line ends with a comma, so with an empty column."""
    header = _HEADERS[exchange]
    rows = [text.split(",") for text in _PLACEHOLDERS.get(exchange, ())]
    rows += [[*(cells[column] for column in header), ""] for cells in map(_cells, names)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{exchange}_symbols.txt", csv_file((*header, ""), rows))
    return packed.getvalue()


def _cells(name: Name) -> Mapping[str, str]:
    identity = name.contract.identity
    return {
        "Exchange": name.exchange,
        "Token": name.token,
        "LotSize": str(name.lot),
        "Precision": str(name.places),
        "Multiplier": plain(name.factor),
        "GNGD": plain(name.factor),
        "Symbol": name.symbol,
        "TradingSymbol": name.tradingsymbol,
        "Expiry": _expiry_text(name.contract),
        "Instrument": name.instrument,
        "OptionType": identity.option_type or "XX",
        "StrikePrice": strike_text(identity.strike_price or 0.0),
        "TickSize": "0" if name.contract.is_index else plain(name.contract.tick_size),
    }


def _expiry_text(contract: Contract) -> str:
    if contract.identity.expiry_date is None:
        return ""
    expiry = expiry_of(contract)
    return f"{expiry.day:02d}-{MONTHS[expiry.month - 1]}-{expiry.year}"


class ShoonyaNames(Listed[Name]):
    """Shoonya's names for one account, also by `EXCHANGE|TOKEN` and by exchange and trading symbol."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_scrip(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_scrip

    @property
    def by_symbol(self) -> Mapping[tuple[str, str], Name]:
        self._refresh()
        return self._by_symbol

    def _index(self, names: Sequence[Name]) -> None:
        self._by_scrip = {name.scrip: name for name in names}
        self._by_symbol = {(name.exchange, name.tradingsymbol): name for name in names}
