"""How prices move: a seeded random walk as a pure function of time, futures and options that follow it, and held prices.

The price at a moment does not depend on earlier reads. Noise in layers is evaluated for the moment that is asked for. Each layer is four times slower
and twice as large as the layer below it, as in a random walk. So two thousand contracts cost nothing while nobody reads them, the same seed gives the
same day, candles agree with quotes, and a restart continues the walk. Prices are whole ticks of the contract. `brokers/simulator/exchange/market_board.py`
applies the circuit band. Before the simulator's first day the walk also has slower layers and corporate actions (`past.py`). Both join the present
without a gap.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Protocol

import attrs

from onebroker.brokers.simulator.world.model import Contract
from onebroker.brokers.simulator.world.past import Past, midnight
from onebroker.brokers.simulator.world.universe import Universe, Walk
from onebroker.config.instruments import Shape

STEPS_PER_SECOND = 2
_PERIODS = tuple(4 * 4**n for n in range(10))
"""Steps over which a layer moves from one value to the next: 2 seconds to 6 days."""
_SLOW_PERIODS = tuple(4 * 4**n for n in range(10, 13))
"""Periods of the layers that only the past has: 24 days to a year."""
_DAY_LAYER = 7
"""The layer (about nine hours) whose size is that of a day's move."""
_DAYS_A_YEAR = 252
_MASK = (1 << 64) - 1
CELL_STRIDE = 0xD1B54A32D192ED03
_CARRY = 0.065
"""Annual cost of carry, part of the futures' premium."""
_YEAR_SECONDS = 365 * 86400
_EXPIRY_SECONDS = 15.5 * 3600


def scramble(value: int) -> int:
    """Return 64 well-mixed bits of an integer (the finalizer of splitmix64)."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def step_of(epoch: float) -> int:
    """Return the number of the half-second step that contains a moment."""
    return math.floor(epoch * STEPS_PER_SECOND)


@attrs.frozen
class Layer:
    """One layer of noise."""

    period: int
    """Steps."""
    seed: int
    size: float


def layers_of(seed: int, volatility: float) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """Return the layers that always move a price, and the slow layers of the past."""
    size = volatility / math.sqrt(_DAYS_A_YEAR) / 1.3
    layers = [
        Layer(period, seed + n * 0x9E3779B97F4A7C15 & _MASK, size * 2.0 ** (n - _DAY_LAYER))
        for n, period in enumerate((*_PERIODS, *_SLOW_PERIODS))
    ]
    return tuple(layers[: len(_PERIODS)]), tuple(layers[len(_PERIODS) :])


class Noise(Protocol):
    """The sum of layers at given steps."""

    def at(self, step: int) -> float: ...

    def many(self, steps: Sequence[int]) -> list[float]:
        """Return the result of `at` for each step."""


class LayeredNoise:
    """Remembers each layer's current cell, because prices are mostly read in order of time."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = [(layer.period, layer.seed, layer.size) for layer in layers]
        self._cells = [(-1, 0.0, 0.0)] * len(self._layers)

    def at(self, step: int) -> float:
        total = 0.0
        cells = self._cells
        for n, (period, seed, size) in enumerate(self._layers):
            cell, within = divmod(step, period)
            known = cells[n]
            if known[0] != cell:
                known = cells[n] = (cell, _value(seed, cell), _value(seed, cell + 1))
            total += size * (known[1] + (known[2] - known[1]) * within / period)
        return total

    def many(self, steps: Sequence[int]) -> list[float]:
        return [self.at(step) for step in steps]


def _value(seed: int, cell: int) -> float:
    return scramble(seed + cell * CELL_STRIDE & _MASK) / (1 << 63) - 1.0


@attrs.frozen
class Hold:
    """A price set by hand (POST /price). It is exact from `start` to `end`; after that the walk continues from it."""

    start: float
    end: float
    """Epoch seconds."""
    price: float


class Prices:
    """Answers `ticks(contract, epoch)` for every contract of a universe."""

    def __init__(
        self,
        universe: Universe,
        seed: int,
        past: Past,
        noise: Callable[[Sequence[Layer]], Noise] = LayeredNoise,
    ) -> None:
        self._universe = universe
        self._past, self._past_ends = past, past.ends
        self._noises: dict[str, Noise] = {}
        self._slow: dict[str, Noise] = {}
        for key, walk in universe.walks.items():
            layers, slow = layers_of(_seed_of(seed, key), walk.volatility)
            self._noises[key], self._slow[key] = noise(layers), noise(slow)
        self._holds: dict[str, list[Hold]] = {}
        self._expiry_epochs: dict[str, float] = {}
        self._scales: dict[str, list[tuple[float, float]]] = {}
        """Walk key -> (moment, factor) of the corporate actions since the first day."""
        self._latest: dict[str, tuple[float, int]] = {}
        """Instrument id -> (moment, ticks). Quotes, books and feeds ask for the same moment's price several times."""

    def walk_key(self, contract: Contract) -> str:
        """Return the key of the walk that moves the contract."""
        return self._universe.walk_of[contract.instrument_id]

    def hold(self, contract: Contract, hold: Hold) -> None:
        """Enter a price set by hand. A security's price moves everything that follows the same walk; a derivative's price moves only itself."""
        self._holds.setdefault(self._owner(contract), []).append(hold)
        self._latest.clear()

    def scale(self, contract: Contract, ex_at: float, factor: float) -> None:
        """Multiply the prices of everything that follows the contract's walk by `factor` from a moment on, as a corporate action does."""
        self._scales.setdefault(self.walk_key(contract), []).append((ex_at, factor))
        self._latest.clear()

    def scaled_between(self, contract: Contract, after: float, until: float) -> float:
        """Return the factor of the corporate actions after one moment and not after another."""
        return self._factor(self.walk_key(contract), after, until)

    def last_action(self, contract: Contract, epoch: float) -> float:
        """Return the moment of the latest corporate action up to `epoch`; minus infinity if there is none."""
        moments = [ex_at for ex_at, _ in self._scales.get(self.walk_key(contract), ()) if ex_at <= epoch]
        return max(moments, default=-math.inf)

    def ticks(self, contract: Contract, epoch: float) -> int:
        """Return the price in whole ticks, at least one. The circuit band is not applied."""
        known = self._latest.get(contract.instrument_id)
        if known is None or known[0] != epoch:
            known = epoch, max(1, round(self._price(contract, epoch) / float(contract.tick_size)))
            self._latest[contract.instrument_id] = known
        return known[1]

    def many_ticks(self, contract: Contract, epochs: Sequence[float]) -> list[int]:
        """Return the result of `ticks` for each moment. `epochs` must not be empty and must ascend."""
        walk = self._universe.walks[self.walk_key(contract)]
        holds = (*self._holds.get(walk.key, ()), *self._holds.get(contract.instrument_id, ()))
        if any(hold.start <= epochs[-1] for hold in holds):
            return [self.ticks(contract, epoch) for epoch in epochs]
        prices = self._raw_spots(walk, epochs)
        if contract.identity.shape is Shape.FUTURE:
            expiry = self._expiry(contract)
            prices = [_forward(price, expiry - epoch) for price, epoch in zip(prices, epochs, strict=True)]
        elif contract.identity.shape is Shape.OPTION:
            prices = [
                self._derived(contract, walk, *price_and_epoch) for price_and_epoch in zip(prices, epochs, strict=True)
            ]
        tick = float(contract.tick_size)
        return [max(1, round(price / tick)) for price in prices]

    def intrinsic(self, contract: Contract, epoch: float) -> Decimal:
        """Return an option's exercise value, or a future's settlement price, at a moment. A multiple of the tick size."""
        walk = self._universe.walks[self.walk_key(contract)]
        spot = self._spot(walk, epoch)
        identity = contract.identity
        if identity.shape is Shape.OPTION:
            sign = 1 if identity.option_type == "CE" else -1
            spot = max(0.0, sign * (spot - float(identity.strike_price or 0)))
        return round(spot / float(contract.tick_size)) * contract.tick_size

    def _owner(self, contract: Contract) -> str:
        key = self.walk_key(contract)
        return key if contract.identity.shape is Shape.SECURITY else contract.instrument_id

    def _price(self, contract: Contract, epoch: float) -> float:
        walk = self._universe.walks[self.walk_key(contract)]
        if contract.identity.shape is Shape.SECURITY:
            return self._spot(walk, epoch)
        holds = self._holds.get(contract.instrument_id)
        if not holds:
            return self._raw_derived(contract, walk, epoch)
        hold = _last(holds, epoch)
        if hold is None:
            return self._raw_derived(contract, walk, epoch)
        if epoch < hold.end:
            return hold.price
        return self._raw_derived(contract, walk, epoch) * hold.price / self._raw_derived(contract, walk, hold.end)

    def _spot(self, walk: Walk, epoch: float) -> float:
        value = self._raw_spot(walk, epoch)
        hold = _last(self._holds.get(walk.key, []), epoch)
        if hold is None:
            return value
        price = hold.price * self._factor(walk.key, hold.start, min(epoch, hold.end))
        return price if epoch < hold.end else value * price / self._raw_spot(walk, hold.end)

    def _raw_spot(self, walk: Walk, epoch: float) -> float:
        if epoch < self._past_ends:
            return self._raw_spots(walk, (epoch,))[0]
        price = float(walk.base_price) * math.exp(self._noises[walk.key].at(step_of(epoch)))
        return price * self._factor(walk.key, -math.inf, epoch)

    def _factor(self, key: str, after: float, until: float) -> float:
        scales = self._scales.get(key)
        return 1.0 if scales is None else math.prod(factor for ex_at, factor in scales if after < ex_at <= until)

    def _raw_spots(self, walk: Walk, epochs: Sequence[float]) -> list[float]:
        steps = [math.floor(epoch * STEPS_PER_SECOND) for epoch in epochs]
        logs = self._noises[walk.key].many(steps)
        base = float(walk.base_price)
        if walk.key in self._scales:
            logs = [
                log + math.log(self._factor(walk.key, -math.inf, epoch))
                for log, epoch in zip(logs, epochs, strict=True)
            ]
        if epochs[0] >= self._past_ends:
            return [base * math.exp(log) for log in logs]
        slow = self._slow[walk.key]
        until = slow.at(step_of(self._past_ends))
        logs = [
            log + (far - until) if epoch < self._past_ends else log
            for log, far, epoch in zip(logs, slow.many(steps), epochs, strict=True)
        ]
        jumps = [
            (midnight(action.ex_date), float(action.price_factor)) for action in self._past.actions.get(walk.key, ())
        ]
        if not jumps:
            return [base * math.exp(log) for log in logs]
        return [
            base * math.exp(log) / math.prod(factor for ex_date, factor in jumps if epoch < ex_date)
            for log, epoch in zip(logs, epochs, strict=True)
        ]

    def _raw_derived(self, contract: Contract, walk: Walk, epoch: float) -> float:
        return self._derived(contract, walk, self._spot(walk, epoch), epoch)

    def _derived(self, contract: Contract, walk: Walk, spot: float, epoch: float) -> float:
        """Return the value of a future or option while its underlying is at `spot`."""
        left = self._expiry(contract) - epoch
        forward = _forward(spot, left)
        if contract.identity.shape is Shape.FUTURE:
            return forward
        years = max(0.0, left) / _YEAR_SECONDS
        premium = option_premium(forward, float(contract.identity.strike_price or 0), walk.volatility, years)
        if contract.identity.option_type == "PE":  # put-call parity
            premium += float(contract.identity.strike_price or 0) - forward
        return max(float(contract.tick_size), premium)

    def _expiry(self, contract: Contract) -> float:
        text = str(contract.identity.expiry_date)
        if text not in self._expiry_epochs:
            self._expiry_epochs[text] = midnight(date.fromisoformat(text)) + _EXPIRY_SECONDS
        return self._expiry_epochs[text]


def _forward(spot: float, seconds: float) -> float:
    """Return a future's price this many seconds before it expires."""
    return spot * (1.0 + _CARRY * (max(0.0, seconds) / _YEAR_SECONDS))


def option_premium(forward: float, strike: float, volatility: float, years: float) -> float:
    """Return a call's value on a forward (Black 1976, without interest)."""
    spread = volatility * math.sqrt(years)
    if spread <= 0.0:
        return max(0.0, forward - strike)
    d1 = math.log(forward / strike) / spread + spread / 2
    return forward * _normal(d1) - strike * _normal(d1 - spread)


def _normal(value: float) -> float:
    return 0.5 * (1.0 + math.erf(value / math.sqrt(2.0)))


def _last(holds: list[Hold], epoch: float) -> Hold | None:
    place = bisect_right(holds, epoch, key=lambda hold: hold.start)
    return holds[place - 1] if place else None


def _seed_of(seed: int, key: str) -> int:
    return random.Random(f"{seed}|{key}").getrandbits(64)
