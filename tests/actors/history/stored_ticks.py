"""A day, and all ticks of it."""

import polars as pl

from onebroker.actors.history.interface import TICK_VALUES

DAY = 86_400_000_000
ALL = (-(2**60), 2**60)


async def all_ticks(store, instrument_id, start, end):
    frames = [frame async for frame in store.ticks(instrument_id, start, end)]
    return pl.concat(frames) if frames else pl.DataFrame(schema=TICK_VALUES)
