"""The encoders against their plain twins, byte for byte, over rows of every kind."""

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from onebroker.actors.history.encode import encode_candles, encode_ticks
from onebroker.actors.history.interface import CANDLE_VALUES, TICK_VALUES
from tests.actors.history.plain_encode import plain_candles, plain_ticks

TICK_SIZES = (0.0001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
ON_GRID = st.builds(lambda size, steps: steps * size, st.sampled_from(TICK_SIZES), st.integers(-100, 10**8))
PRICES = st.one_of(
    ON_GRID, st.floats(-1e9, 1e9), st.sampled_from([0.0, -0.0, 1e-12, 9.99995, 10.0, 1e15, 1e300, -1e300])
)
UNITS = st.none() | st.sampled_from([0, 1, 10**15, 2**63 - 1, -(2**63)]) | st.integers(0, 10**9)
TIMES = st.one_of(st.integers(0, 4_102_444_800_000_000), st.sampled_from([0, 1, 999_999, 1_700_000_000_000_000, -1]))
LEVELS = st.none() | st.lists(
    st.fixed_dictionaries({"price": st.none() | PRICES, "quantity": UNITS, "orders": UNITS}), max_size=6
)
BROKERS = st.sampled_from(["zerodha", "a\nb", '"\\', "é\u2028", "\x00\x1f"])
TICKS = st.lists(
    st.fixed_dictionaries(
        {"time": TIMES, "broker": BROKERS, "last_price": PRICES}
        | dict.fromkeys(("average_price", "open", "high", "low", "close"), st.none() | PRICES)
        | dict.fromkeys(("last_quantity", "volume", "buy_quantity", "sell_quantity", "oi"), UNITS)
        | {"buy": LEVELS, "sell": LEVELS}
    ),
    min_size=1,
    max_size=8,
)
CANDLES = st.lists(
    st.fixed_dictionaries(
        {"time": TIMES, "volume": UNITS, "oi": UNITS, "price_factor": st.sampled_from([1.0, 0.2, 1e-9, 0.9999])}
        | dict.fromkeys(("open", "high", "low", "close"), PRICES)
    ),
    max_size=8,
)
UNPRICED = dict.fromkeys(TICK_VALUES) | {"time": 0, "broker": "zerodha", "last_price": 0.0}


@given(ticks=TICKS, places=st.sampled_from([2, 4, None]))
@example(ticks=[UNPRICED], places=None)
@example(ticks=[UNPRICED | {"last_price": float("inf"), "open": float("nan")}], places=2)
@example(
    ticks=[UNPRICED | {"last_price": 4.123456789, "buy": [{"price": 40.0, "quantity": 1, "orders": 1}]}], places=None
)
@example(ticks=[UNPRICED | {"last_price": 12.5, "sell": [{"price": 1e-7, "quantity": 1, "orders": None}]}], places=None)
def test_ticks_are_the_same_bytes_as_those_of_the_plain_twin(ticks, places):
    frame = pl.DataFrame(ticks, schema=TICK_VALUES, orient="row")
    assert b",".join(encode_ticks(frame, places)) == plain_ticks(frame, places)


@given(candles=CANDLES, places=st.sampled_from([2, 4]), adjusted=st.booleans())
def test_candles_are_the_same_bytes_as_those_of_the_plain_twin(candles, places, adjusted):
    schema = dict(CANDLE_VALUES) | ({"price_factor": pl.Float64()} if adjusted else {})
    rows = [{name: candle[name] for name in schema} for candle in sorted(candles, key=lambda candle: candle["time"])]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    assert encode_candles(frame, places).body == plain_candles(frame, places)
