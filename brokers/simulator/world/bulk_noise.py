"""The noise of `walks.py` for many moments at once, computed by whole columns. The demo's past is made with it.

The results equal those of `walks.py` to the last bit, and a test checks this. Every sum has the same order, and every division is by a power of two.
"""

from collections.abc import Sequence

import polars as pl

from onebroker.brokers.simulator.world.walks import CELL_STRIDE, Layer, LayeredNoise

_FEW = 64
"""Below this number of steps, column arithmetic is not worth its cost."""
_STEP, _TOTAL = "step", "total"


class BulkNoise(LayeredNoise):
    """Implements `Noise`."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__(layers)
        self._made_of = tuple(layers)
        self._stages: list[list[pl.Expr]] = []
        """Built on first use, because most walks of a universe never need them."""

    def many(self, steps: Sequence[int]) -> list[float]:
        if len(steps) < _FEW:
            return super().many(steps)
        self._stages = self._stages or _stages(self._made_of)
        table = pl.DataFrame({_STEP: pl.Series(steps, dtype=pl.UInt64)})
        for stage in self._stages:
            table = table.with_columns(stage)
        return table[_TOTAL].to_list()


def _stages(layers: Sequence[Layer]) -> list[list[pl.Expr]]:
    """The stages to compute in turn: the bits of both corners of each layer's cell, their scrambling, and the sum of the layers.

    Each stage adds columns and is not one expression with the others, because each scramble uses the previous value twice.
    """
    corners = [(f"early{n}", f"late{n}", layer) for n, layer in enumerate(layers)]
    names = [name for early, late, _ in corners for name in (early, late)]
    bits = [
        ((pl.col(_STEP) // layer.period + further) * _unsigned(CELL_STRIDE) + _unsigned(layer.seed)).alias(name)
        for *pair, layer in corners
        for further, name in enumerate(pair)
    ]
    mixed = [
        [(_folded(name, shift) * _unsigned(factor)).alias(name) for name in names]
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
    ]
    values = [(_folded(name, 31).cast(pl.Float64) / float(1 << 63) - 1.0).alias(name) for name in names]
    total = pl.lit(0.0)
    for early, late, layer in corners:
        within = (pl.col(_STEP) % layer.period).cast(pl.Float64)
        between = (pl.col(late) - pl.col(early)) * within / float(layer.period)
        total = total + (pl.col(early) + between) * layer.size
    return [bits, *mixed, values, [total.alias(_TOTAL)]]


def _folded(name: str, shift: int) -> pl.Expr:
    return pl.col(name) ^ (pl.col(name) // (1 << shift))


def _unsigned(value: int) -> pl.Expr:
    """Unsigned columns wrap around, as the mask in `walks` does."""
    return pl.lit(value, pl.UInt64)
