"""How Kite names the exchange's contracts: exchange codes, trading symbols, instrument tokens, the instrument file."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.rest import csv_file
from onebroker.brokers.simulator.dialects.symbols import compact_symbol, series_symbol, units_of
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Shape

HEADER = (
    "instrument_token", "exchange_token", "tradingsymbol", "name", "last_price", "expiry", "strike", "tick_size",
    "lot_size", "instrument_type", "segment", "exchange",
)  # fmt: skip

INDEX_SEGMENT_ID = 9
_CASH = {"nse": ("NSE", 1), "bse": ("BSE", 4)}
_DERIVATIVES = {
    ("nse", "equity"): ("NFO", 2),
    ("bse", "equity"): ("BFO", 5),
    ("nse", "currency"): ("CDS", 3),
    ("bse", "currency"): ("BCD", 6),
    ("mcx", "commodity"): ("MCX", 7),
    ("nse", "commodity"): ("NCO", 12),
}
"""(exchange, calendar) -> Kite's exchange code and segment id, the low byte of an instrument token."""


@attrs.frozen(kw_only=True)
class Name:
    """One contract under Kite's names."""

    contract: Contract
    exchange: str
    segment: str
    segment_id: int
    tradingsymbol: str
    instrument_type: str

    @property
    def token(self) -> int:
        return self.contract.exchange_token * 256 + self.segment_id

    @property
    def quote_name(self) -> str:
        return f"{self.exchange}:{self.tradingsymbol}"

    @property
    def units(self) -> int:
        """Units in one of Kite's quantities: a lot on the currency and commodity exchanges, one unit elsewhere."""
        return units_of(self.contract)

    @property
    def tradable(self) -> bool:
        return not self.contract.is_index


def name_of(contract: Contract) -> Name | None:
    """Return Kite's name of a contract, or None for a contract that it does not list (ncdex)."""
    identity = contract.identity
    if identity.shape is Shape.SECURITY:
        return _security(contract)
    place = _DERIVATIVES.get((identity.exchange, contract.calendar))
    if place is None:
        return None
    exchange, segment_id = place
    future = identity.shape is Shape.FUTURE
    return Name(
        contract=contract,
        exchange=exchange,
        segment=f"{exchange}-{'FUT' if future else 'OPT'}",
        segment_id=segment_id,
        # Only equity options expire weekly.
        tradingsymbol=compact_symbol(contract, has_weeklies=contract.calendar == "equity"),
        instrument_type="FUT" if future else str(identity.option_type),
    )


def instrument_file(names: Iterable[Name]) -> bytes:
    """Return the CSV of these instruments."""
    return csv_file(HEADER, (_file_row(name) for name in names))


def _security(contract: Contract) -> Name | None:
    place = _CASH.get(contract.identity.exchange)
    if place is None:
        return None
    exchange, segment_id = place
    return Name(
        contract=contract,
        exchange=exchange,
        segment="INDICES" if contract.is_index else exchange,
        segment_id=INDEX_SEGMENT_ID if contract.is_index else segment_id,
        tradingsymbol=series_symbol(contract) if exchange == "NSE" else str(contract.identity.symbol),
        instrument_type="EQ",
    )


def _file_row(name: Name) -> Sequence[object]:
    contract, identity = name.contract, name.contract.identity
    called = contract.name.upper() if identity.shape is Shape.SECURITY else identity.underlying_symbol
    return (
        name.token, contract.exchange_token, name.tradingsymbol, called, 0.0, identity.expiry_date or "",
        identity.strike_price or 0, float(contract.tick_size), contract.lot_size // name.units, name.instrument_type,
        name.segment, name.exchange,
    )  # fmt: skip


class KiteNames(Listed[Name]):
    """Kite's names for one account, also by instrument_token and by `EXCHANGE:TRADINGSYMBOL`."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_token(self) -> Mapping[int, Name]:
        self._refresh()
        return self._by_token

    @property
    def by_quote_name(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_quote_name

    def _index(self, names: Sequence[Name]) -> None:
        self._by_token = {name.token: name for name in names}
        self._by_quote_name = {name.quote_name: name for name in names}
