"""Small drawings as SVG: lines, boxes and words in the colour of the reader's scheme, light or dark. Pure, and the same on each machine."""

from collections.abc import Iterable
from html import escape
from typing import Literal, TypeAlias

Point: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]

LETTER = 0.6
"""Width of a letter in parts of the font's size: no common font of a system is wider in the mean."""
STYLE = (
    ".drawing{color:#24292f;--buy:#0969da;--sell:#bc4c00;--soft:#6e7781;font:12px system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){.drawing{color:#e6edf3;--buy:#58a6ff;--sell:#f0883e;--soft:#9198a1}}"
    ".drawing text{fill:currentColor;stroke:none}"
    ".drawing text.soft{fill:var(--soft)}.drawing text.buy{fill:var(--buy)}.drawing text.sell{fill:var(--sell)}"
    ".drawing .line{fill:none;stroke:currentColor;stroke-width:1.5}"
    ".drawing .line.soft{stroke:var(--soft);stroke-width:1}.drawing .line.buy{stroke:var(--buy);stroke-width:2}"
    ".drawing .line.sell{stroke:var(--sell);stroke-width:2}.drawing .dashed{stroke-dasharray:5 4}"
    ".drawing .dot{fill:currentColor}.drawing .dot.buy{fill:var(--buy)}.drawing .dot.sell{fill:var(--sell)}"
)
"""The colours follow the reader's scheme: the drawing is an image of its own, on which the page's styles have no effect."""


class OutsideError(ValueError):
    """A piece of a drawing does not lie inside its frame."""


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """A drawing of `width` by `height`. Everything must lie inside it."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._pieces: list[str] = []

    def line(self, points: Iterable[Point], kind: str = "") -> None:
        """Draw a line through the points. `kind`: words of buy, sell, soft, dashed."""
        inside = [self._inside(point) for point in points]
        path = " ".join(f"{number(x)},{number(y)}" for x, y in inside)
        self._pieces.append(f'<polyline class="{f"line {kind}".strip()}" points="{path}"/>')

    def arrow(self, begin: Point, end: Point, kind: str = "") -> None:
        """Draw a straight line with a head at its end."""
        (x, y), (to_x, to_y) = begin, end
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        along, across = (to_x - x) / length, (to_y - y) / length
        self.line([begin, end], kind)
        left = (to_x - 7 * along - 4 * across, to_y - 7 * across + 4 * along)
        right = (to_x - 7 * along + 4 * across, to_y - 7 * across - 4 * along)
        self.line([left, end, right], kind.replace("dashed", "").strip())

    def box(self, x: float, y: float, width: float, height: float, kind: str = "") -> None:
        for corner in ((x, y), (x + width, y + height)):
            self._inside(corner)
        self._pieces.append(
            f'<rect class="{f"line {kind}".strip()}" x="{number(x)}" y="{number(y)}" width="{number(width)}"'
            f' height="{number(height)}" rx="6"/>'
        )

    def dot(self, x: float, y: float, kind: str = "", radius: float = 4) -> None:
        for corner in ((x - radius, y - radius), (x + radius, y + radius)):
            self._inside(corner)
        self._pieces.append(
            f'<circle class="{f"dot {kind}".strip()}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>'
        )

    def cross(self, x: float, y: float, kind: str = "") -> None:
        self.line([(x - 4, y - 4), (x + 4, y + 4)], kind)
        self.line([(x - 4, y + 4), (x + 4, y - 4)], kind)

    def words(self, x: float, y: float, text: str, kind: str = "", *, anchor: Anchor = "start", size: int = 12) -> None:
        """Write a line of text whose base line is at y."""
        width = len(text) * size * LETTER
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        for corner in ((left, y - size), (left + width, y + size / 4)):
            self._inside(corner, text)
        styled = f' class="{kind}"' if kind else ""
        sized = "" if size == 12 else f' font-size="{size}"'
        placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._pieces.append(f'<text{styled} x="{number(x)}" y="{number(y)}"{placed}{sized}>{escape(text)}</text>')

    def text(self) -> str:
        """Return the drawing as a file's text."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" viewBox="0 0 {self.width} {self.height}"'
            f' width="{self.width}" height="{self.height}">\n<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n'
            + "\n".join(self._pieces)
            + "\n</svg>\n"
        )

    def _inside(self, point: Point, what: str = "a piece") -> Point:
        if not (0 <= point[0] <= self.width and 0 <= point[1] <= self.height):
            raise OutsideError(f"{what} is outside the drawing, at {point}")
        return point
