"""The four pictures of docs/concepts.md: `PYTHONPATH=. python tests/support/concept_pictures.py` writes them to docs/pictures/concepts/."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.svg_drawing import Drawing

FOLDER = Path(__file__).parents[2] / "docs" / "pictures" / "concepts"


def one_account() -> Drawing:
    drawing = Drawing(640, 250, "Ten brokers, one process, one account")
    for number, name in enumerate(("Zerodha", "Upstox", "Dhan", "... ten brokers")):
        y = 30 + 54 * number
        drawing.box(10, y, 120, 36)
        drawing.words(70, y + 22, name, anchor="middle")
        drawing.arrow((130, y + 18), (228, 80 + 30 * number))
    drawing.words(180, 20, "each in its own format", "soft", anchor="middle")
    drawing.box(230, 60, 170, 130)
    drawing.words(315, 90, "onebroker", anchor="middle", size=15)
    for row, text in enumerate(("one list of instruments", "one order engine", "five documents")):
        drawing.words(315, 118 + 22 * row, text, "soft", anchor="middle")
    for number, text in enumerate(("funds", "holdings", "positions", "orders", "trades")):
        y = 24 + 42 * number
        drawing.arrow((400, 85 + 20 * number), (498, y + 14))
        drawing.box(500, y, 130, 28)
        drawing.words(565, y + 18, text, anchor="middle")
    return drawing


def ages() -> Drawing:
    drawing = Drawing(640, 220, "How old a broker's part of a document may be")
    drawing.words(10, 24, "A broker's part of the positions, by its age")
    drawing.line([(30, 90), (610, 90)])
    for seconds, text in ((0, "0 s"), (60, "60 s")):
        x = 30 + 5 * seconds
        drawing.line([(x, 82), (x, 98)])
        drawing.words(x, 116, text, anchor="middle" if seconds else "start")
    drawing.arrow((580, 90), (612, 90))
    drawing.words(180, 76, "ok: read recently", anchor="middle")
    drawing.words(470, 76, "stale: its rows still count, marked", "sell", anchor="middle")
    drawing.words(30, 152, "missing: never read. It adds nothing, and the document says so.", "soft")
    drawing.words(30, 174, "unreadable: its answer cannot be read. It adds nothing, and the document says so.", "soft")
    drawing.words(30, 196, "The document is written twice a second. Older than 30 s it is not served: 503.", "soft")
    return drawing


def outcomes() -> Drawing:
    drawing = Drawing(640, 260, "The three outcomes of an order")
    for x, first, second in (
        (10, "your order", ""),
        (140, "on disk", "written first"),
        (270, "broker", "it leaves once"),
    ):
        drawing.box(x, 100, 100, 50)
        drawing.words(x + 50, 122 if second else 129, first, anchor="middle")
        if second:
            drawing.words(x + 50, 140, second, "soft", anchor="middle", size=11)
    drawing.arrow((110, 125), (138, 125))
    drawing.arrow((240, 125), (268, 125))
    for y, first, second, kind in (
        (16, "accepted (200)", "the broker has it", "buy"),
        (100, "rejected (422)", "nobody has it", "sell"),
        (184, "unknown (504)", "the answer was lost", ""),
    ):
        drawing.arrow((370, 125), (448, y + 25), kind)
        drawing.box(450, y, 180, 50, kind)
        drawing.words(540, y + 21, first, kind, anchor="middle")
        drawing.words(540, y + 39, second, "soft", anchor="middle")
    drawing.words(440, 236, "It is never sent again. The engine reads the", "soft", anchor="end")
    drawing.words(440, 253, "broker's book until it is accepted or not sent.", "soft", anchor="end")
    return drawing


def parents() -> Drawing:
    drawing = Drawing(640, 240, "A bracket: one parent, three parts, three legs")
    drawing.words(10, 20, "your order", "soft")
    drawing.box(10, 90, 130, 60)
    drawing.words(75, 115, "parent", anchor="middle")
    drawing.words(75, 134, "bracket", "soft", anchor="middle")
    drawing.words(200, 20, "parts: what is to be done", "soft")
    drawing.words(450, 20, "legs: orders at brokers", "soft")
    for y, part, leg, kind in (
        (36, "entry: BUY 10 at 98", "BUY 10 LIMIT 98", "buy"),
        (100, "stop: 10 at 96", "SELL 10 SL 96/95", "sell"),
        (164, "target: 10 at 104", "held until it is near", "sell"),
    ):
        drawing.arrow((140, 120), (198, y + 22))
        drawing.box(200, y, 170, 44)
        drawing.words(285, y + 26, part, kind, anchor="middle")
        held = "dashed" if leg.startswith("held") else ""
        drawing.arrow((370, y + 22), (448, y + 22), held)
        drawing.box(450, y, 180, 44, held)
        drawing.words(540, y + 26, leg, kind, anchor="middle")
    drawing.words(10, 230, "Stop and target begin when the entry fills. One ends the other.", "soft")
    return drawing


PICTURES: Mapping[str, Callable[[], Drawing]] = {
    "one-account": one_account,
    "ages": ages,
    "outcomes": outcomes,
    "parents": parents,
}


def write() -> None:
    """Bring the pictures in line with the code."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(picture().text())


if __name__ == "__main__":
    write()
