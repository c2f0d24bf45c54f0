"""The encoders of candles and ticks as they were first written: the plain twins of `actors.history.encode`.

Every price is rounded in all the ways an adjusted price can be, ticks are written line by line, and candles are joined as Python's texts.
"""

from io import BytesIO

import polars as pl

from onebroker.actors.history.adjust import ADJUSTED_PLACES, IST_MICROSECONDS, MOST_ADJUSTED_PLACES, rounded

PRICES = ("open", "high", "low", "close")


def plain_rounded_adjusted(price):
    shown = rounded(price, MOST_ADJUSTED_PLACES)
    for places in range(MOST_ADJUSTED_PLACES - 1, ADJUSTED_PLACES - 1, -1):
        shown = pl.when(price.abs() >= 10.0 ** (5 - places)).then(rounded(price, places)).otherwise(shown)
    return shown


def plain_ticks(frame, places):
    def shown(price):
        return plain_rounded_adjusted(price) if places is None else rounded(price, places)

    level = pl.element().struct
    levels = pl.struct(
        price=shown(level.field("price")), quantity=level.field("quantity"), orders=level.field("orders")
    )
    recorded = pl.col("buy").is_not_null() | pl.col("sell").is_not_null()
    depth = pl.struct(*(pl.col(name).fill_null([]).list.eval(levels) for name in ("buy", "sell")))
    objects = frame.select(
        pl.col("time").cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").alias("time"),
        "broker",
        shown(pl.col("last_price")),
        shown(pl.col("average_price")),
        pl.struct(*(shown(pl.col(name)) for name in PRICES)).alias("ohlc"),
        "last_quantity", "volume", "buy_quantity", "sell_quantity", "oi",
        pl.when(recorded).then(depth).alias("depth"),
    )  # fmt: skip
    lines = BytesIO()
    objects.write_ndjson(lines)
    return lines.getvalue().rstrip(b"\n").replace(b"\n", b",")


def plain_candles(frame, places):
    local = (pl.col("time") + IST_MICROSECONDS).cast(pl.Datetime("us"))
    factor = ["price_factor"] if "price_factor" in frame.columns else []

    def price(name):
        shown = rounded(pl.col(name), places)
        if factor:
            adjusted = plain_rounded_adjusted(pl.col(name))
            shown = pl.when(pl.col("price_factor") == 1).then(shown).otherwise(adjusted)
        return pl.when(shown.is_finite()).then(shown)

    numbers = (*map(price, PRICES), *map(pl.col, ("volume", "oi", *factor)))
    texts = [number.cast(pl.String).fill_null("null") for number in numbers]
    time = pl.lit('["') + local.dt.strftime("%Y-%m-%dT%H:%M:%S+05:30") + pl.lit('"')
    rows = frame.select(pl.concat_str([time, *texts], separator=",") + pl.lit("]")).to_series()
    return ",".join(rows.to_list()).encode()
