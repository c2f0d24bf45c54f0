"""The codec of a broker's instrument files, imported when files are asked for or read: the only part of a broker that needs polars."""

from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    import polars as pl

    from onebroker.brokers.broker import Access, InstrumentCodec, ReadFlow


@attrs.frozen
class LateInstruments:
    """Implements `InstrumentCodec` with the module `instruments.py` of a broker's folder."""

    code: str

    @property
    def codec(self) -> "InstrumentCodec":
        # mypy cannot know the module; tests/support/instrument_codecs.py lists all of them for it.
        codec: InstrumentCodec = import_module(f"onebroker.brokers.{self.code}.instruments")
        return codec

    def file_requests(self, access: "Access", now: datetime) -> "ReadFlow":
        return self.codec.file_requests(access, now)

    def read_files(self, bodies: Sequence[bytes]) -> "pl.DataFrame":
        return self.codec.read_files(bodies)
