"""The ten brokers' instrument files for a market of any size. The simulator's dialects, which know the real formats, write them.

    python -m bench.instrument_files FOLDER [--rows 150000]

Writes `FOLDER/<code>-<n>`: the bodies of a broker's files, unpacked from their transfer encoding, in the order in which the broker's codec asks for
them.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TypeVar, cast

from bench.listed_contracts import contracts
from onebroker.brokers.fyers.instruments import FILES as FYERS_FILES
from onebroker.brokers.simulator.dialects.angelone import naming as angelone
from onebroker.brokers.simulator.dialects.dhan import naming as dhan
from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.fivepaisa import naming as fivepaisa
from onebroker.brokers.simulator.dialects.fyers import naming as fyers
from onebroker.brokers.simulator.dialects.groww import naming as groww
from onebroker.brokers.simulator.dialects.icicidirect import naming as icicidirect
from onebroker.brokers.simulator.dialects.kotakneo import naming as kotakneo
from onebroker.brokers.simulator.dialects.shoonya import naming as shoonya
from onebroker.brokers.simulator.dialects.upstox import naming as upstox
from onebroker.brokers.simulator.dialects.zerodha import naming as zerodha
from onebroker.brokers.simulator.world.model import Contract, Market
from onebroker.config.clock import Clock

ROWS = 150_000

_Name = TypeVar("_Name")


class _Account:
    """The part of an account that ICICI's names need."""

    def __init__(self, listed: Sequence[Contract]) -> None:
        self._listed = listed

    def contracts(self) -> Sequence[Contract]:
        return self._listed


class Files:
    """The files of one day's market. Each broker lists the first `rows` contracts for which it has a name."""

    def __init__(self, rows: int, day: date) -> None:
        self._rows, self._day = rows, day
        # No broker leaves out as much as a tenth of the market.
        self._contracts = list(islice(contracts(rows, day), rows + rows // 10 + 1000))

    def _names(self, name_of: Callable[[Contract], _Name | None]) -> list[_Name]:
        named = (name for name in map(name_of, self._contracts) if name is not None)
        names = list(islice(named, self._rows))
        if len(names) < self._rows:
            raise ValueError(f"only {len(names)} of {self._rows} contracts have a name")
        return names

    def zerodha(self) -> Iterator[bytes]:
        yield zerodha.instrument_file(self._names(zerodha.name_of))

    def upstox(self) -> Iterator[bytes]:
        yield upstox.instrument_file(self._names(upstox.name_of))

    def dhan(self) -> Iterator[bytes]:
        names = self._names(dhan.name_of)
        yield dhan.compact_file(names)
        yield dhan.detailed_file((name, _market(name.contract)) for name in names)

    def angelone(self) -> Iterator[bytes]:
        yield angelone.instrument_file(self._names(angelone.name_of))

    def fyers(self) -> Iterator[bytes]:
        names = self._names(fyers.name_of)
        masters = [[name for name in names if fyers.master_of(name) == master] for master in fyers.MASTERS]
        ordered = [dict(zip(fyers.MASTERS, masters, strict=True))[file] for file in FYERS_FILES]
        yield from (fyers.csv_master(part, self._day) for part in ordered)
        yield from (fyers.json_master(part, self._day) for part in ordered)
        yield fyers.index_names(names)

    def kotakneo(self) -> Iterator[bytes]:
        names = self._names(kotakneo.name_of)
        yield from (kotakneo.scrip_file(segment, names) for segment in kotakneo.SEGMENTS)

    def fivepaisa(self) -> Iterator[bytes]:
        yield fivepaisa.instrument_file(self._names(fivepaisa.name_of))

    def groww(self) -> Iterator[bytes]:
        yield groww.instrument_file(self._names(groww.name_of))

    def icicidirect(self) -> Iterator[bytes]:
        names = icicidirect.IciciNames(cast(AccountView, _Account(self._contracts))).by_id.values()
        yield icicidirect.security_master(islice(names, self._rows))

    def shoonya(self) -> Iterator[bytes]:
        names = self._names(shoonya.name_of)
        for file in shoonya.FILES:
            yield shoonya.archive(file, [name for name in names if name.exchange == file])

    def write(self, folder: Path) -> None:
        """Write every broker's files."""
        folder.mkdir(parents=True, exist_ok=True)
        for code in CODES:
            for number, body in enumerate(getattr(self, code)()):
                (folder / f"{code}-{number:02d}").write_bytes(body)
            print(code, file=sys.stderr)


CODES = (
    "zerodha", "upstox", "dhan", "angelone", "fyers", "kotakneo", "fivepaisa", "groww", "icicidirect", "shoonya",
)  # fmt: skip


def _market(contract: Contract) -> Market:
    """A quiet market. A file contains nothing of it except the day's limits."""
    price = contract.base_price
    figures = ("last_quantity", "volume", "buy_quantity", "sell_quantity", "oi", "oi_day_high", "oi_day_low")
    return Market(
        last_price=price, last_trade_time=0.0, exchange_time=0.0, average_price=price, open=price, high=price, low=price,
        previous_close=price, upper_circuit=price * Decimal("1.2"), lower_circuit=price * Decimal("0.8"), buy=(), sell=(),
        **dict.fromkeys(figures, 0),
    )  # fmt: skip


def files_in(folder: Path) -> dict[str, list[Path]]:
    """Return each broker's files in the order of its requests."""
    return {code: sorted(folder.glob(f"{code}-*")) for code in CODES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of each broker's list")
    options = parser.parse_args()
    Files(options.rows, Clock().today()).write(options.folder)


if __name__ == "__main__":
    main()
