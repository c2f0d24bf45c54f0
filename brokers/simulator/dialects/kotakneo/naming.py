"""How Kotak Neo names the exchange's contracts: segments, trading symbols, the seven scrip files."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.rest import csv_file
from onebroker.brokers.simulator.dialects.symbols import MONTHS, compact_symbol, expiry_of
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.clock import IST
from onebroker.config.instruments import Shape, strike_text

SEGMENTS = ("nse_cm", "bse_cm", "nse_fo", "bse_fo", "cde_fo", "mcx_fo", "nse_com")
EXCHANGE_IDS = {"nse_cm": 1, "nse_fo": 2, "cde_fo": 3, "nse_com": 4, "bse_cm": 5, "bse_fo": 6, "mcx_fo": 9}
ORDER_SEGMENTS = ("nse_cm", "bse_cm", "nse_fo", "bse_fo", "mcx_fo")

_CASH = {"nse": "nse_cm", "bse": "bse_cm"}
_DERIVATIVES = {
    ("nse", "equity"): "nse_fo",
    ("bse", "equity"): "bse_fo",
    ("nse", "currency"): "cde_fo",
    ("mcx", "commodity"): "mcx_fo",
    ("nse", "commodity"): "nse_com",
}
"""(exchange, calendar) -> segment."""

_FUTURE_TYPES = {"equity": "FUTSTK", "equity_index": "FUTIDX", "currency": "FUTCUR", "commodity": "FUTCOM"}
_OPTION_TYPES = {"equity": "OPTSTK", "equity_index": "OPTIDX", "currency": "OPTCUR", "commodity": "OPTFUT"}

_NSE_CLOSE, _LAST_SECOND = time(14, 30), time(23, 59, 59)
_SINCE_1980 = ("nse_fo", "cde_fo")
_NSE_EPOCH = datetime(1980, 1, 1, tzinfo=IST)
_PAISE = 100

_HEADER = (
    "pSymbol", "pGroup", "pExchSeg", "pInstType", "pSymbolName", "pTrdSymbol", "pOptionType", "pScripRefKey", "pISIN",
    "pDesc", "dTickSize ", "lLotSize", "lExpiryDate ", "lMultiplier ", "lPrecision", "dStrikePrice;", "pExchange",
    "pInstName", "pExpiryDate", "iPermittedToTrade", "iBoardLotQty ", "iMaxOrderSize ", "dHighPriceRange ",
    "dLowPriceRange ", "dPriceNum   ", "dGenDen", "dGenNum", "dPriceDen", "lFreezeQty", "CASEligible",
)  # fmt: skip
"""The columns that clients read, with the blanks and the semicolon of the real files. The real files have more columns."""


@attrs.frozen(kw_only=True)
class Name:
    """One contract under Kotak Neo's names."""

    contract: Contract
    segment: str
    tradingsymbol: str
    instrument_type: str

    @property
    def token(self) -> str:
        return str(self.contract.exchange_token)

    @property
    def key(self) -> str:
        return f"{self.segment}|{self.token}"

    @property
    def asked_as(self) -> str:
        """The name that quotes and the market stream take; for an index it contains the index's name."""
        return f"{self.segment}|{self.contract.name}" if self.contract.is_index else self.key

    @property
    def symbol(self) -> str:
        return str(self.contract.identity.symbol or self.contract.identity.underlying_symbol)

    @property
    def units(self) -> int:
        """Units in one of Kotak's quantities: a contract for currency, one unit elsewhere."""
        return self.contract.lot_size if self.segment == "cde_fo" else 1

    @property
    def lot(self) -> int:
        return self.contract.lot_size // self.units

    @property
    def is_cash(self) -> bool:
        return self.segment in _CASH.values()

    @property
    def is_option(self) -> bool:
        return self.contract.identity.shape is Shape.OPTION

    @property
    def tradable(self) -> bool:
        return not self.contract.is_index and self.segment in ORDER_SEGMENTS


def name_of(contract: Contract) -> Name | None:
    """Return Kotak's name of a contract, or None for a contract that it does not list (ncdex)."""
    identity = contract.identity
    if identity.shape is Shape.SECURITY:
        return _security(contract)
    segment = _DERIVATIVES.get((identity.exchange, contract.calendar))
    if segment is None:
        return None
    kinds = _FUTURE_TYPES if identity.shape is Shape.FUTURE else _OPTION_TYPES
    return Name(
        contract=contract,
        segment=segment,
        tradingsymbol=_derivative_symbol(contract, segment),
        instrument_type=kinds[contract.bare.rpartition("_")[0]],
    )


def _security(contract: Contract) -> Name | None:
    segment = _CASH.get(contract.identity.exchange)
    if segment is None:
        return None
    symbol = str(contract.identity.symbol)
    if contract.is_index:
        symbol = contract.name
    elif segment == "nse_cm":
        symbol = f"{symbol}-{contract.series}"
    return Name(contract=contract, segment=segment, tradingsymbol=symbol, instrument_type="")


def _derivative_symbol(contract: Contract, segment: str) -> str:
    """Return the trading symbol. Only MCX symbols have the day of every expiry."""
    if segment != "mcx_fo":
        return compact_symbol(contract, has_weeklies=True)
    identity, expiry = contract.identity, expiry_of(contract)
    future = identity.shape is Shape.FUTURE
    tail = "FUT" if future else f"{strike_text(identity.strike_price or 0.0)}{identity.option_type}"
    when = f"{expiry.day:02d}{MONTHS[expiry.month - 1]}{expiry.year % 100:02d}"
    return f"{identity.underlying_symbol}{when}{tail}"


def scrip_file(segment: str, names: Iterable[Name]) -> bytes:
    """Return the CSV of a segment. It may have no rows."""
    return csv_file(_HEADER, (_file_row(name) for name in names if name.segment == segment))


def _file_row(name: Name) -> Sequence[object]:
    contract, identity = name.contract, name.contract.identity
    derived = identity.shape is not Shape.SECURITY
    option_type = identity.option_type or ("" if not derived or name.segment == "mcx_fo" else "XX")
    expiry = _expiry(name) if derived else -1
    tick = _paise(contract.tick_size) if not contract.is_index else "0"
    strike = _paise(Decimal(repr(identity.strike_price))) if name.is_option else "-1"
    group = "" if contract.is_index else "XX" if derived else contract.series
    # For NSE's derivatives the file gives the smallest quantity that is refused.
    freeze = (contract.freeze_quantity or 0) // name.units + (1 if name.segment == "nse_fo" else 0)
    return (
        name.token, group, name.segment, name.instrument_type, name.symbol, name.tradingsymbol, option_type,
        name.tradingsymbol, contract.isin or "", contract.name.upper(), tick, name.lot, expiry,
        name.units if name.units > 1 else -1, 4 if name.segment == "cde_fo" else 2, strike,
        identity.exchange.upper(), name.instrument_type, expiry, 1, name.lot, freeze, "0", "0", 1, 1, 1, 1,
        freeze, "false",
    )  # fmt: skip


def _paise(rupees: Decimal) -> str:
    """Return paise. Large values are in scientific notation, as in the files."""
    paise = (rupees * _PAISE).normalize()
    return f"{paise:e}" if paise >= 1_000_000 else f"{paise:f}"


def _expiry(name: Name) -> int:
    """Return the file's expiry in seconds. NSE's count from 1980 in Indian time. The others are Unix time of the day's last second in UTC."""
    day = expiry_of(name.contract)
    if name.segment in _SINCE_1980:
        return int((datetime.combine(day, _NSE_CLOSE, IST) - _NSE_EPOCH).total_seconds())
    return int(datetime.combine(day, _LAST_SECOND, UTC).timestamp())


class NeoNames(Listed[Name]):
    """Kotak's names for one account, by the keys of quotes and streams, and by segment and trading symbol."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_key(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_key

    @property
    def by_symbol(self) -> Mapping[tuple[str, str], Name]:
        self._refresh()
        return self._by_symbol

    def _index(self, names: Sequence[Name]) -> None:
        self._by_key = {name.asked_as: name for name in names}
        self._by_symbol = {(name.segment, name.tradingsymbol): name for name in names}
