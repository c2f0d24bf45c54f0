"""How prices move: a seeded random walk as a pure function of time, futures and options that follow it, and held prices.

The price at a moment does not depend on who looked before: layered noise (each layer four times slower and twice as large
than the one below it, as a random walk's are) is evaluated where it is asked for. So two thousand contracts cost nothing
while nobody looks, the same seed gives the same day, candles agree with what was quoted, and a restart continues.
Prices are whole ticks of the contract; the circuit band is applied by `market.py`.
"""

import math
import random
from bisect import bisect_right
from datetime import date, timedelta
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.model import Contract
from onebroker.brokers.simulator.universe import Universe, Walk
from onebroker.config.clock import from_epoch
from onebroker.config.instruments import Shape

STEPS_PER_SECOND = 2
_PERIODS = tuple(4 * 4**n for n in range(10))
"""Steps over which a layer moves from one value to the next: 2 seconds to 6 days."""
_DAY_LAYER = 7
"""The layer (about nine hours) whose size is that of a day's move."""
_DAYS_A_YEAR = 252
_MASK = (1 << 64) - 1
_CARRY = 0.065
"""Cost of carry of a year, in the futures' premium."""
_YEAR_SECONDS = 365 * 86400
_EXPIRY_SECONDS = 15.5 * 3600


def scramble(value: int) -> int:
    """Return 64 well-mixed bits of an integer (the finalizer of splitmix64)."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def step_of(epoch: float) -> int:
    """Return the number of the half-second step a moment lies in."""
    return math.floor(epoch * STEPS_PER_SECOND)


class _Noise:
    """Layered noise of one walk; the value is the logarithm of price over base price."""

    def __init__(self, seed: int, volatility: float) -> None:
        self._seed = seed
        size = volatility / math.sqrt(_DAYS_A_YEAR) / 1.3
        self._layers = [
            (period, seed + n * 0x9E3779B97F4A7C15 & _MASK, size * 2.0 ** (n - _DAY_LAYER))
            for n, period in enumerate(_PERIODS)
        ]
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


def _value(seed: int, cell: int) -> float:
    return scramble(seed + cell * 0xD1B54A32D192ED03 & _MASK) / (1 << 63) - 1.0


@attrs.frozen
class Hold:
    """A price set by hand (POST /price): exact from `start` to `end`, and what the walk continues from."""

    start: float
    end: float
    """Epoch seconds."""
    price: float


class Prices:
    """Answers `ticks(contract, epoch)` for every contract of a universe."""

    def __init__(self, universe: Universe, seed: int) -> None:
        self._universe = universe
        self._seed = seed
        self._noises = {key: _Noise(_seed_of(seed, key), walk.volatility) for key, walk in universe.walks.items()}
        self._holds: dict[str, list[Hold]] = {}
        self._expiry_epochs: dict[str, float] = {}

    def hold(self, contract: Contract, hold: Hold) -> None:
        """Enter a price set by hand. A security's moves everything that follows the same walk; a derivative's itself."""
        self._holds.setdefault(self._owner(contract), []).append(hold)

    def ticks(self, contract: Contract, epoch: float) -> int:
        """Return the price in whole ticks, at least one; no circuit applied."""
        return max(1, round(self._price(contract, epoch) / float(contract.tick_size)))

    def intrinsic(self, contract: Contract, epoch: float) -> Decimal:
        """Return what an option is worth exercised, or a future settled, at a moment; in whole ticks."""
        walk = self._universe.walks[self._universe.walk_of[contract.instrument_id]]
        spot = self._spot(walk, epoch)
        identity = contract.identity
        if identity.shape is Shape.OPTION:
            sign = 1 if identity.option_type == "CE" else -1
            spot = max(0.0, sign * (spot - float(identity.strike_price or 0)))
        return round(spot / float(contract.tick_size)) * contract.tick_size

    def _owner(self, contract: Contract) -> str:
        key = self._universe.walk_of[contract.instrument_id]
        return key if contract.identity.shape is Shape.SECURITY else contract.instrument_id

    def _price(self, contract: Contract, epoch: float) -> float:
        walk = self._universe.walks[self._universe.walk_of[contract.instrument_id]]
        if contract.identity.shape is Shape.SECURITY:
            return self._spot(walk, epoch)
        raw = self._derived
        holds = self._holds.get(contract.instrument_id)
        if not holds:
            return raw(contract, walk, epoch)
        hold = _last(holds, epoch)
        if hold is None:
            return raw(contract, walk, epoch)
        if epoch < hold.end:
            return hold.price
        return raw(contract, walk, epoch) * hold.price / raw(contract, walk, hold.end)

    def _spot(self, walk: Walk, epoch: float) -> float:
        value = self._raw_spot(walk, epoch)
        hold = _last(self._holds.get(walk.key, []), epoch)
        if hold is None:
            return value
        return hold.price if epoch < hold.end else value * hold.price / self._raw_spot(walk, hold.end)

    def _raw_spot(self, walk: Walk, epoch: float) -> float:
        return float(walk.base_price) * math.exp(self._noises[walk.key].at(step_of(epoch)))

    def _derived(self, contract: Contract, walk: Walk, epoch: float) -> float:
        spot = self._spot(walk, epoch)
        years = max(0.0, self._expiry(contract) - epoch) / _YEAR_SECONDS
        forward = spot * (1.0 + _CARRY * years)
        if contract.identity.shape is Shape.FUTURE:
            return forward
        premium = option_premium(forward, float(contract.identity.strike_price or 0), walk.volatility, years)
        if contract.identity.option_type == "PE":  # put-call parity
            premium += float(contract.identity.strike_price or 0) - forward
        return max(float(contract.tick_size), premium)

    def _expiry(self, contract: Contract) -> float:
        text = str(contract.identity.expiry_date)
        if text not in self._expiry_epochs:
            self._expiry_epochs[text] = _midnight(date.fromisoformat(text)) + _EXPIRY_SECONDS
        return self._expiry_epochs[text]


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


def _midnight(day: date) -> float:
    epoch_day = from_epoch(0).replace(hour=0, minute=0)
    return (epoch_day + timedelta(days=(day - epoch_day.date()).days)).timestamp()
