"""The simulator's past as files that `onebroker history load` and `factors load` take. The demo begins with them.

The files hold two years of day candles for a few hundred instruments of every segment, a month of minutes for twenty, and two days of ticks for five.
They also hold an expired future, a delisted share, and the factors of five shares. The series are exactly those that the history routes of the
simulated brokers serve. The same code makes them, by columns where it takes long. This module needs polars, which the simulator itself does not.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from itertools import accumulate, pairwise
from pathlib import Path

import attrs
import polars as pl

from onebroker.brokers.simulator.world.broker_traits import BROKERS
from onebroker.brokers.simulator.world.bulk_noise import BulkNoise
from onebroker.brokers.simulator.world.candles import CandleRow, Candles, minutes_of
from onebroker.brokers.simulator.world.model import Contract
from onebroker.brokers.simulator.world.past import Gone, Past, past_of, with_gone
from onebroker.brokers.simulator.world.universe import Universe, build_universe
from onebroker.brokers.simulator.world.walks import Prices, scramble
from onebroker.config.calendars import Calendar
from onebroker.config.instruments import Shape, price_places

MOST_OF_SEGMENT = {"nse_equities": 100, "bse_equities": 25}
MOST_OF_OTHERS = 10
"""The most instruments that one segment gives."""
SOURCE = "invented with the demo's past"

_TICK_SECONDS = 2.5
_BEFORE_CLOSE = 0.001
"""Seconds. The last tick of a day has the closing price and must still lie in the last minute."""
_FIRST = (
    "nse_equities", "nse_equity_indices", "nse_equity_index_futures", "nse_equity_index_options", "mcx_commodity_futures",
)  # fmt: skip
_IDENTITY = ("exchange", "segment", "symbol", "underlying_symbol", "expiry_date")
_MOST_BACK = 15


@attrs.frozen(kw_only=True)
class Extent:
    """How far back the past reaches before the first day."""

    day_candles: int = 730
    """Calendar days."""
    minutes: int = 31
    """Calendar days."""
    ticks: int = 2
    """Trading days."""
    minute_instruments: int = 20
    tick_instruments: int = 5


@attrs.frozen(kw_only=True)
class Recipe:
    """The inputs that determine the past."""

    number: int
    seed: int
    first_day: date
    calendar: Calendar
    """Knows the days before the first day, and those from then on, as the simulator's calendar does."""
    extent: Extent = Extent()


@attrs.frozen(kw_only=True)
class PastFiles:
    """The files, in the order in which they must be loaded."""

    factors: Path
    listed: Path
    """Day candles, by instrument_id."""
    gone: Path
    """Day candles of instruments that are no longer listed, by identity. Load them with `--create`."""
    minutes: Path
    ticks: Path


def write_past(recipe: Recipe, folder: Path, tell: Callable[[str], object] = lambda name: None) -> PastFiles:
    """Write the files, with the same bytes each time. `tell` is called with the name of each finished file. Raises OSError."""
    files = PastFiles(**{
        name: folder / f"{name}.{'csv' if name == 'factors' else 'parquet'}" for name in attrs.fields_dict(PastFiles)
    })  # fmt: skip
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    maker = _Maker(recipe)
    maker.factors().write_csv(files.factors)
    tell("factors")
    for name, make in (
        ("listed", maker.listed),
        ("gone", maker.gone),
        ("minutes", maker.minutes),
        ("ticks", maker.ticks),
    ):
        make().write_parquet(getattr(files, name))
        tell(name)
    return files


class _Maker:
    def __init__(self, recipe: Recipe) -> None:
        self._first_day, self._is_session = recipe.first_day, recipe.calendar.is_session_day
        self._extent = recipe.extent
        self._yesterday = recipe.first_day - timedelta(days=1)
        self._universe = build_universe(recipe.number, recipe.seed, recipe.first_day, self._is_session)
        self._past = past_of(self._universe, recipe.first_day, self._is_session)
        self._gone: Gone = with_gone(self._universe, recipe.first_day, self._is_session)
        self._prices = Prices(self._gone.universe, recipe.seed, self._past, BulkNoise)
        self._candles = Candles(self._prices, recipe.calendar, self._past)
        self._chosen = choose(self._universe, self._past)

    # Files

    def factors(self) -> pl.DataFrame:
        rows = [
            (contract.instrument_id, action.ex_date.isoformat(), action.kind, str(action.price_factor),
             str(action.volume_factor), SOURCE)
            for contract in self._universe.contracts
            for action in self._past.actions.get(self._universe.walk_of[contract.instrument_id], ())
        ]  # fmt: skip
        names = ("instrument_id", "ex_date", "kind", "price_factor", "volume_factor", "source")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")

    def listed(self) -> pl.DataFrame:
        since = self._first_day - timedelta(days=self._extent.day_candles)
        return _table((contract, self._rows(contract, "day", since)) for contract in self._chosen)

    def gone(self) -> pl.DataFrame:
        since = self._first_day - timedelta(days=self._extent.day_candles)
        last_days = self._gone.last_days
        found = [
            (contract, self._rows(contract, "day", since, last_days[contract.instrument_id]))
            for contract in self._gone.contracts
        ]
        return pl.concat(_by_identity(contract, rows) for contract, rows in found if rows)

    def minutes(self) -> pl.DataFrame:
        since = self._first_day - timedelta(days=self._extent.minutes)
        return _table(
            (
                (contract, self._rows(contract, "1minute", since))
                for contract in self._chosen[: self._extent.minute_instruments]
            ),
            "1minute",
        )

    def ticks(self) -> pl.DataFrame:
        return pl.concat(self._ticks_of(contract) for contract in self._chosen[: self._extent.tick_instruments])

    # Rows

    def _rows(self, contract: Contract, interval: str, since: date, last: date | None = None) -> Sequence[CandleRow]:
        return self._candles.candles(contract, interval, since, last or self._yesterday, self._past.ends - 1.0)

    def _ticks_of(self, contract: Contract) -> pl.DataFrame:
        days = self._candles.days(
            contract, self._first_day - timedelta(days=_MOST_BACK), self._yesterday, self._past.ends - 1.0
        )
        return pl.concat(self._day_of_ticks(contract, *pair) for pair in pairwise(days[-self._extent.ticks - 1 :]))

    def _day_of_ticks(self, contract: Contract, before: date, day: date) -> pl.DataFrame:
        """The ticks that make up the day's minutes exactly: the minutes' own prices, and more between them that stay inside each minute's range."""
        moments: list[float] = []
        prices: list[int] = []
        within = self._candles.range_of(contract, day)
        for stretch in self._candles.stretches(contract, day):
            for minute in minutes_of(stretch, stretch.closes):
                last = minute.moments[-1]
                count = math.ceil((last - minute.begins) / _TICK_SECONDS)
                moments.extend([*(minute.begins + n * _TICK_SECONDS for n in range(count)), last])
        bars = self._candles.candles(contract, "1minute", day, day, self._past.ends - 1.0)
        bar = 0
        for moment, ticks in zip(moments, self._prices.many_ticks(contract, moments), strict=True):
            while bar + 1 < len(bars) and bars[bar + 1][0] <= moment:
                bar += 1
            low, high = (round(bars[bar][place] / float(contract.tick_size)) for place in (3, 2))
            prices.append(min(max(ticks, low), high))
        volumes = [self._candles.volume(contract, day, moment) for moment in moments]
        return _tick_table(
            contract, moments, prices, volumes, self._candles.range_of(contract, before).close, within.open
        )


def choose(universe: Universe, past: Past) -> list[Contract]:
    """Return the contracts whose past is kept: the first of every segment, then the second of every segment, and so on.

    A segment gives no more contracts than its limit. So the first twenty, which have minutes, and the first five, which have ticks, come from many
    segments. Shares with corporate actions come before all other shares, the most recent action first.
    """
    groups: dict[str, list[Contract]] = {}
    for contract in universe.contracts:
        groups.setdefault(contract.identity.segment, []).append(contract)

    def last_action(contract: Contract) -> date:
        actions = past.actions.get(universe.walk_of[contract.instrument_id], ())
        return max((action.ex_date for action in actions), default=date.min)

    for segment, contracts in groups.items():
        contracts.sort(key=last_action, reverse=True)
        del contracts[MOST_OF_SEGMENT.get(segment, MOST_OF_OTHERS) :]
    order = [
        *(segment for segment in _FIRST if segment in groups),
        *(segment for segment in groups if segment not in _FIRST),
    ]
    chosen: list[Contract] = []
    while any(groups.values()):
        chosen.extend(groups[segment].pop(0) for segment in order if groups[segment])
    return chosen


def _by_identity(contract: Contract, rows: Sequence[CandleRow]) -> pl.DataFrame:
    fields = contract.identity.fields()
    named = {name: None if (value := fields.get(name)) is None else str(value) for name in _IDENTITY}
    table = _table([(contract, rows)]).drop("instrument_id")
    return table.with_columns(pl.lit(value, pl.String).alias(name) for name, value in named.items())


def _table(series: Iterable[tuple[Contract, Sequence[CandleRow]]], interval: str = "day") -> pl.DataFrame:
    names = ("open", "high", "low", "close", "volume", "oi")
    return pl.concat(
        _moments(pl.DataFrame(rows, schema=["time", *names], orient="row", infer_schema_length=None)).select(
            pl.lit(contract.instrument_id).alias("instrument_id"),
            pl.lit(interval).alias("interval"),
            "time",
            *(pl.col(name).cast(pl.Float64) for name in names[:4]),
            *_figures_there_are(contract),
        )
        for contract, rows in series
        if rows
    )


def _figures_there_are(contract: Contract) -> Iterable[pl.Expr]:
    """An index has no volume and a security has no open interest. They get null, not 0, as in brokers' candles."""
    absent = {"volume": contract.is_index, "oi": contract.identity.shape is Shape.SECURITY}
    return (pl.when(not gone).then(pl.col(name)).cast(pl.Int64).alias(name) for name, gone in absent.items())


def _moments(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.from_epoch((pl.col("time") * 1_000_000).cast(pl.Int64), "us").dt.replace_time_zone("UTC")
    )


def _tick_table(
    contract: Contract,
    moments: Sequence[float],
    ticks: Sequence[int],
    volumes: Sequence[int],
    previous: int,
    opened: int,
) -> pl.DataFrame:
    tick, places = float(contract.tick_size), price_places(contract.identity.segment)
    brokers = tuple(BROKERS)
    traded = [late - early for early, late in pairwise((0, *volumes))]
    chances = [scramble(contract.exchange_token * 0x9E3779B9 + int(moment * 2)) for moment in moments]
    spent = list(accumulate(price * units for price, units in zip(ticks, traded, strict=True)))
    return _moments(
        pl.DataFrame({
            "instrument_id": [contract.instrument_id] * len(moments),
            "time": [*moments[:-1], moments[-1] - _BEFORE_CLOSE],
            "broker": [brokers[chance % len(brokers)] for chance in chances],
            "last_price": [round(price * tick, places) for price in ticks],
            "average_price": [
                round(value / units * tick, places) if units else None for value, units in zip(spent, volumes, strict=True)
            ],
            "open": [round(opened * tick, places)] * len(moments),
            "high": [round(price * tick, places) for price in accumulate(ticks, max)],
            "low": [round(price * tick, places) for price in accumulate(ticks, min)],
            "close": [round(previous * tick, places)] * len(moments),
            "last_quantity": [contract.lot_size * (1 + chance % 40) for chance in chances],
            "volume": list(volumes),
            "buy_quantity": [contract.lot_size * (500 + chance // 40 % 4000) for chance in chances],
            "sell_quantity": [contract.lot_size * (500 + chance // 160_000 % 4000) for chance in chances],
        }, schema_overrides={"average_price": pl.Float64})
    )  # fmt: skip
