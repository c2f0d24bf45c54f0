"""Draws candles: an SVG with prices above and volumes below, from an answer of `/api/instruments/prices`. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

import attrs

WIDTH, HEIGHT = 1200, 640
LEFT, RIGHT, TOP = 20, 90, 50
PRICES_END, VOLUMES_START, VOLUMES_END = 470, 500, 600
MOST_CANDLES = 2000
"""The most candles that are drawn; of more candles the newest are drawn. One pixel cannot show two candles."""
PRICE_LINES, DATE_LABELS = 5, 6
RISING, FALLING = "#1a7f4b", "#b3322c"


@attrs.frozen
class _Candle:
    time: str
    open: float
    high: float
    low: float
    close: float
    volume: float

    @property
    def colour(self) -> str:
        return RISING if self.close >= self.open else FALLING


@attrs.frozen
class _Scale:
    """Turns values into pixels."""

    lowest: float
    highest: float
    top: int
    bottom: int

    def at(self, value: float) -> float:
        span = self.highest - self.lowest
        share = 0.5 if span == 0 else (value - self.lowest) / span
        return round(self.bottom - share * (self.bottom - self.top), 1)


def chart(answer: Mapping[str, Any]) -> str:
    """Return the SVG of an answer with at least one candle."""
    candles = _candles(answer)
    prices = _Scale(min(candle.low for candle in candles), max(candle.high for candle in candles), TOP, PRICES_END)
    volumes = _Scale(0.0, max(candle.volume for candle in candles) or 1.0, VOLUMES_START, VOLUMES_END)
    step = (WIDTH - LEFT - RIGHT) / len(candles)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
        f"<title>{escape(_title(answer))}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 28, _title(answer), size=17),
        *_price_lines(prices),
        *_drawn(candles, prices, volumes, step),
        *_dates(candles, step, day_only=answer["interval"] == "day"),
        "</svg>",
    ]
    return "\n".join(parts)


def _candles(answer: Mapping[str, Any]) -> list[_Candle]:
    places = {name: place for place, name in enumerate(answer["columns"])}
    rows = answer["candles"][-MOST_CANDLES:]
    columns = {name: [row[place] for row in rows] for name, place in places.items()}
    volumes = [volume or 0 for volume in columns["volume"]]
    prices = (columns[name] for name in ("open", "high", "low", "close"))
    return [_Candle(*values) for values in zip(columns["time"], *prices, volumes, strict=True)]


def _title(answer: Mapping[str, Any]) -> str:
    names = ("symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type")
    words = [str(answer[name]) for name in names if answer.get(name) is not None]
    told = [answer["exchange"], answer["interval"], f"{answer['from']} to {answer['to']}", answer["price_basis"]]
    return f"{' '.join(words)} ({', '.join(told)})"


def _price_lines(prices: _Scale) -> Iterator[str]:
    for number in range(PRICE_LINES + 1):
        value = prices.lowest + (prices.highest - prices.lowest) * number / PRICE_LINES
        height = prices.at(value)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height}" y2="{height}" stroke="#e2e2e2"/>'
        yield _text(WIDTH - RIGHT + 8, height + 4, f"{value:,.2f}")


def _drawn(candles: Sequence[_Candle], prices: _Scale, volumes: _Scale, step: float) -> Iterator[str]:
    width = max(round(step * 0.7, 2), 0.5)
    for number, candle in enumerate(candles):
        middle = round(LEFT + (number + 0.5) * step, 2)
        top, bottom = prices.at(max(candle.open, candle.close)), prices.at(min(candle.open, candle.close))
        yield (
            f'<path d="M{middle} {prices.at(candle.high)}V{prices.at(candle.low)}" stroke="{candle.colour}"/>'
            f"{_bar(middle, width, top, max(bottom - top, 1.0), candle.colour)}"
        )
        height = volumes.at(candle.volume)
        yield _bar(middle, width, height, VOLUMES_END - height, candle.colour, opacity=0.5)


def _bar(middle: float, width: float, top: float, height: float, colour: str, opacity: float = 1.0) -> str:
    left = round(middle - width / 2, 2)
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{round(height, 1)}" fill="{colour}" '
        f'fill-opacity="{opacity}"/>'
    )


def _dates(candles: Sequence[_Candle], step: float, *, day_only: bool) -> Iterator[str]:
    count = min(DATE_LABELS, len(candles))
    for number in range(count):
        place = number * (len(candles) - 1) // max(count - 1, 1)
        time = candles[place].time
        yield _text(LEFT + place * step, VOLUMES_END + 22, time[:10] if day_only else time[:16].replace("T", " "))


def _text(x: float, y: float, text: str, size: int = 13) -> str:
    return f'<text x="{round(x, 1)}" y="{round(y, 1)}" font-size="{size}" fill="#333333">{escape(text)}</text>'
