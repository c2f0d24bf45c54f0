"""Which instruments a chain is made of: the options of one expiry by strike, and the futures of the underlying. Pure."""

from collections.abc import Mapping, Sequence
from heapq import nsmallest

import attrs

from onebroker.actors.catalogue.contract_list import Contracts, Expiry
from onebroker.actors.catalogue.interface import Instrument, Snapshot
from onebroker.config.instruments import Shape
from onebroker.config.messages import instruments as sentences
from onebroker.config.refusal import Refusal


@attrs.frozen(kw_only=True)
class ChainName:
    """The chain that a caller asks for."""

    exchange: str
    underlying_symbol: str
    """Upper case."""
    expiry_date: str
    """YYYY-MM-DD."""
    segment: str | None = None
    """Stored form; None where only one segment has options of this expiry."""
    strikes: int = 20
    """The most strikes, those nearest to the money."""


@attrs.frozen(kw_only=True)
class ChainContracts:
    """The instruments of a chain in one mapping."""

    segment: str
    strikes: Sequence[float]
    """All listed strikes, rising."""
    rows: Mapping[float, Mapping[str, int]]
    """Strike -> CE and PE -> row of the catalogue."""
    future: Instrument | None
    """The future of this expiry."""
    near_future: Instrument | None
    """The future whose price is nearest to the forward: that of this expiry, else of the next one, else the last."""

    def nearest(self, price: float, most: int) -> list[float]:
        """Return the `most` strikes nearest to a price, rising."""
        return sorted(nsmallest(most, self.strikes, key=lambda strike: (abs(strike - price), strike)))


def find_contracts(name: ChainName, snapshot: Snapshot) -> ChainContracts:
    """Return the instruments of a chain. Raises Refusal 404 where nothing is listed, 400 where several segments have such options."""
    listed = snapshot.contracts.of(name.exchange, name.underlying_symbol)
    found = [
        (contracts, expiry)
        for contracts in listed
        if contracts.shape is Shape.OPTION and name.segment in (None, contracts.segment)
        for expiry in contracts.expiries
        if expiry.day == name.expiry_date
    ]
    if not found:
        raise Refusal(
            404,
            sentences.no_options(name.underlying_symbol, name.exchange, name.expiry_date, snapshot.mapping_date),
        )
    if len(found) > 1:
        raise Refusal(400, sentences.options_in_several_segments(sorted(contracts.segment for contracts, _ in found)))
    ((contracts, expiry),) = found
    rows = _rows(snapshot, expiry)
    same, near = _futures(listed, contracts.segment, name.expiry_date)
    return ChainContracts(
        segment=contracts.segment,
        strikes=sorted(rows),
        rows=rows,
        future=None if same is None else snapshot.at(same.start),
        near_future=None if near is None else snapshot.at(near.start),
    )


def _rows(snapshot: Snapshot, expiry: Expiry) -> dict[float, dict[str, int]]:
    listed = snapshot.contracts
    rows: dict[float, dict[str, int]] = {}
    for row in range(expiry.start, expiry.start + expiry.count):
        rows.setdefault(listed.strike(row), {})[listed.option_type(row)] = row
    return rows


def _futures(listed: Sequence[Contracts], segment: str, day: str) -> tuple[Expiry | None, Expiry | None]:
    """Return the future of the expiry day, and the future nearest to it in time."""
    wanted = segment.removesuffix("_options") + "_futures"
    expiries = [expiry for contracts in listed if contracts.segment == wanted for expiry in contracts.expiries]
    same = next((expiry for expiry in expiries if expiry.day == day), None)
    later = [expiry for expiry in expiries if expiry.day >= day]
    return same, next(iter(later or expiries[-1:]), None)
