"""A drawing for each order type: `PYTHONPATH=. python tests/support/order_type_drawings.py` writes docs/order-types/drawings/<type>.svg.

A drawing shows what `tests/support/type_plays.py` plays: the market's price over time, where each order rests, what waits in the engine, what
fires, fills and is cancelled. Nothing in it is drawn by hand.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise

import attrs

from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.config.clock import IST
from tests.actors.engine.plan.world import MORNING
from tests.support.order_type_pages import DOCS
from tests.support.svg_drawing import LETTER, Anchor, Drawing, Point
from tests.support.type_courses import Course, at
from tests.support.type_plays import Played, Rested, Waited, play

FOLDER = DOCS / "order-types" / "drawings"
WIDTH = 640
LEFT, RIGHT, TOP = 16.0, 624.0, 26.0
CHART, STRIP = 190.0, 46.0
ROW = 15
SAMPLES = 200
MOST_PIECES = 6
LEGEND = (
    "line: rests at the broker · dashed: waits in the engine",
    "▲ fires or leaves the engine · ● fills · × ends without a fill",
)


@attrs.define
class _Labels:
    """Places words where no earlier words are."""

    drawing: Drawing
    taken: list[tuple[float, float, float, float]] = attrs.field(factory=list)
    said: set[tuple[str, int]] = attrs.field(factory=set)

    def put(self, x: float, y: float, text: str, kind: str) -> None:
        """Write `text` next to (x, y): above it, else below it, else farther away. The same words are not repeated at a height."""
        if (text, round(y / 6)) in self.said:
            return
        self.said.add((text, round(y / 6)))
        width = len(text) * 11 * LETTER
        x = min(max(x, LEFT), RIGHT - width)
        for aside, shift in (
            (aside, shift) for aside in (0, 8, 60, 130, -width - 14) for shift in (-5, 13, -18, 26, -31, 39)
        ):
            left = min(max(x + aside, LEFT), RIGHT - width)
            box = (left, y + shift - 11, left + width, y + shift + 2)
            inside = box[1] >= 2 and box[3] <= TOP + CHART + 8
            if inside and not any(_overlap(box, other) for other in self.taken):
                self.taken.append(box)
                self.drawing.words(left, y + shift, text, kind, size=11)
                return


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


class _Chart:
    """A played course on paper: minutes to the right, prices upwards."""

    def __init__(self, played: Played, drawing: Drawing) -> None:
        self.played, self.course, self.drawing = played, played.course, drawing
        values = [value for _, value in played.course.share]
        values += [level for rested in played.rested if rested.own for _, level in rested.levels]
        values += [waited.value for waited in played.waited if waited.what != "time"]
        low, high = min(values), max(values)
        pad = max(0.1 * (high - low), 0.3)
        self.low, self.high = low - pad, high + pad
        cut = self.course.cut
        self.length = self.course.end - self.course.begin - (cut[1] - cut[0] if cut else 0)

    def x(self, minute: float) -> float:
        cut, shown = self.course.cut, minute - self.course.begin
        if cut and minute > cut[0]:
            shown -= min(minute, cut[1]) - cut[0]
        return LEFT + (RIGHT - LEFT) * min(1.0, max(0.0, shown / self.length))

    def y(self, price: float) -> float:
        return TOP + CHART * (self.high - price) / (self.high - self.low)

    def minutes(self) -> Iterator[float]:
        corners = [minute for minute, _ in self.course.share]
        evenly = [
            self.course.begin + (self.course.end - self.course.begin) * step / SAMPLES for step in range(SAMPLES + 1)
        ]
        cut = self.course.cut
        for minute in sorted({*corners, *evenly} if cut else {*corners}):
            if not cut or not cut[0] < minute < cut[1]:
                yield minute

    def steps(self, rested: Rested) -> list[Point]:
        """The line of an order: level, and a step where it was moved."""
        last = rested.ended[0] if rested.ended else self.course.end
        points: list[Point] = []
        for number, (minute, level) in enumerate(rested.levels):
            until = rested.levels[number + 1][0] if number + 1 < len(rested.levels) else max(last, minute)
            points += [(self.x(minute), self.y(level)), (self.x(until), self.y(level))]
        if points[-1][0] - points[0][0] < 6:  # it filled at once: still to be seen
            points[-1] = (min(points[0][0] + 6, RIGHT), points[-1][1])
        return points

    def span(self, waited: Waited) -> list[Point]:
        """The line of what waits in the engine: a level, or a moment."""
        if waited.what == "time":
            x = self.x(waited.value)
            return [(x, TOP), (x, TOP + CHART)]
        begin = self.x(waited.begin)
        return [(begin, self.y(waited.value)), (min(max(self.x(waited.end), begin + 4), RIGHT), self.y(waited.value))]


def drawing_of(name: str) -> Drawing:
    """Return the drawing of an order type."""
    played = play(name)
    title = f"{name}: {PRESETS[name].title}"
    strip = STRIP + 22 if played.course.strip else 0.0
    lines = list(_captions(played.course))
    height = round(TOP + CHART + strip + 22 + ROW * len(lines) + 8)
    drawing = Drawing(WIDTH, height, title)
    chart = _Chart(played, drawing)
    labels = _Labels(drawing)
    _times(chart)
    price = [(chart.x(minute), chart.y(at(chart.course.share, minute))) for minute in chart.minutes()]
    drawing.line(price, "soft")
    lines_drawn = [
        price,
        [(LEFT, TOP + CHART), (RIGHT, TOP + CHART)],
        *(chart.steps(rested) for rested in played.rested if rested.own),
    ]
    lines_drawn += [chart.span(waited) for waited in played.waited]
    labels.taken += [(x - 1, y - 1, x + 1, y + 1) for points in lines_drawn for x, y in _dense(points)]
    for waited in played.waited:
        _waited(chart, labels, waited)
    for rested in played.rested:
        _rested(chart, rested)
    _rested_words(chart, labels)
    if played.course.strip:
        _strip(chart)
    for number, line in enumerate(lines):
        drawing.words(LEFT, TOP + CHART + strip + 22 + ROW * (number + 1), line, "soft", size=11)
    return drawing


def _captions(course: Course) -> Iterator[str]:
    yield from LEGEND
    given = [
        f"{key} {_value(value)}" for key, value in (*course.settings.items(), *course.body.items()) if value is not None
    ]
    said = [*([f"with {', '.join(given)}"] if given else []), *([course.said] if course.said else [])]
    if said:
        yield f"Drawn {'; '.join(said)}." if given else f"Drawn so: {said[0]}."


def _value(value: object) -> str:
    if isinstance(value, list):
        return "/".join(map(_value, value))
    return f"{value:g}" if isinstance(value, float | int) else str(value)


def _dense(points: list[Point]) -> Iterator[Point]:
    for (x, y), (to_x, to_y) in pairwise(points):
        count = max(1, round((abs(to_x - x) + abs(to_y - y)) / 4))
        for step in range(count):
            yield x + (to_x - x) * step / count, y + (to_y - y) * step / count


def _times(chart: _Chart) -> None:
    """The axis: its begin, its end, and a night that is left out."""
    bottom = TOP + CHART
    chart.drawing.line([(LEFT, bottom), (RIGHT, bottom)], "soft")
    ends: tuple[tuple[float, Anchor], ...] = ((chart.course.begin, "start"), (chart.course.end, "end"))
    for minute, anchor in ends:
        chart.drawing.words(chart.x(minute), bottom + 14, _clock(minute), "soft", anchor=anchor, size=11)
    chart.drawing.words(LEFT, 12, "price of the share" if chart.high > 50 else "price of the option", "soft", size=11)
    if chart.course.cut:
        x = chart.x(chart.course.cut[1])
        chart.drawing.line([(x, TOP), (x, bottom)], "soft dashed")
        chart.drawing.words(x, bottom + 14, "the next day", "soft", anchor="middle", size=11)


def _clock(minute: float) -> str:
    return datetime.fromtimestamp(MORNING + minute * 60, UTC).astimezone(IST).strftime("%H:%M")


def _waited(chart: _Chart, labels: _Labels, waited: Waited) -> None:
    if waited.what == "time":
        if chart.course.begin <= waited.value <= chart.course.end:
            chart.drawing.line(chart.span(waited), "dashed")
            labels.put(chart.x(waited.value) + 4, TOP + CHART - 4, _clock(waited.value), "")
        return
    (begin, y), (end, _) = line = chart.span(waited)
    kind = waited.side.lower() if waited.what == "held" else ""
    chart.drawing.line(line, f"dashed {kind}".strip())
    labels.put(begin + 2, y, f"{waited.words} {_price(waited.value)}", kind)
    if waited.fired:
        _triangle(chart, end, y, kind)


def _rested(chart: _Chart, rested: Rested) -> None:
    kind = rested.side.lower()
    if not rested.own:
        x, bottom = chart.x(rested.levels[0][0]), TOP + CHART
        chart.drawing.line([(x, bottom - 6), (x, bottom + 6)], kind)
        chart.drawing.dot(x, bottom, kind)
        return
    points = chart.steps(rested)
    chart.drawing.line(points, kind)
    if rested.fired:
        _triangle(chart, chart.x(rested.fired[0]), chart.y(rested.fired[1]), kind)
    if rested.ended is None:
        return
    x = min(max(chart.x(rested.ended[0]), points[0][0] + (6 if rested.end == "filled" else 0)), RIGHT - 5)
    y = chart.y(rested.ended[1])
    if rested.end == "filled":
        chart.drawing.dot(max(x, LEFT + 4), y, kind)
    else:
        chart.drawing.cross(x, y, kind)


def _rested_words(chart: _Chart, labels: _Labels) -> None:
    """Say of each order what it is; of many pieces at the market only of the first and the last, of orders that are alike once."""
    own = [rested for rested in chart.played.rested if rested.own]
    pieces = [rested for rested in own if rested.crossing]
    unsaid = pieces[1:-1] if len(pieces) > MOST_PIECES else []
    alike = Counter((_words(rested), rested.levels[0]) for rested in own)
    for rested in chart.played.rested:
        if rested in unsaid:
            continue
        kind, (minute, level) = rested.side.lower(), rested.levels[0]
        if not rested.own:
            labels.put(chart.x(minute) + 8, TOP + CHART - 2, f"{rested.side} {rested.quantity} of the other", kind)
            continue
        count = alike[_words(rested), rested.levels[0]]
        labels.put(chart.x(minute) + 2, chart.y(level), f"{f'{count} x ' if count > 1 else ''}{_words(rested)}", kind)


def _words(rested: Rested) -> str:
    first, last = rested.levels[0][1], rested.levels[-1][1]
    moved = f" to {_price(last)}" if len(rested.levels) > 1 else ""
    return f"{rested.side} {rested.quantity} {'stop' if rested.stop else 'limit'} {_price(first)}{moved}"


def _triangle(chart: _Chart, x: float, y: float, kind: str) -> None:
    x = min(x, RIGHT - 5)
    chart.drawing.line([(x - 5, y + 4), (x, y - 5), (x + 5, y + 4), (x - 5, y + 4)], kind)


def _price(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _strip(chart: _Chart) -> None:
    """The figure that the order watches, with the level at which it decides."""
    course, drawing = chart.course, chart.drawing
    top = TOP + CHART + 34
    values = [value for _, value in course.other] + ([course.level] if course.level is not None else [])
    low, high = min(values), max(values)

    def y(value: float) -> float:
        return top + (STRIP - 14) * (high - value) / ((high - low) or 1)

    drawing.words(RIGHT, top - 6, course.strip, "soft", anchor="end", size=11)
    drawing.line([(chart.x(minute), y(value)) for minute, value in course.other], "soft")
    if course.level is not None:
        drawing.line([(LEFT, y(course.level)), (RIGHT, y(course.level))], "dashed")
        drawing.words(LEFT, top - 6, f"decides at {course.level:,.0f}", anchor="start", size=11)


def drawings() -> Mapping[str, Drawing]:
    """Return the drawings of all types by name."""
    return {name: drawing_of(name) for name in PRESETS}


def write() -> None:
    """Bring the drawings in line with the code."""
    FOLDER.mkdir(exist_ok=True)
    for name, drawing in drawings().items():
        (FOLDER / f"{name}.svg").write_text(drawing.text())


if __name__ == "__main__":
    write()
