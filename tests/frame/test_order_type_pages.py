"""docs/order-types.md and the pages beside it say of each type what the code has."""

from onebroker.actors.engine.presets.registry import PRESETS
from tests.support.every_case import every_case
from tests.support.order_type_drawings import FOLDER, drawing_of
from tests.support.order_type_pages import BEGIN, DOCS, END, page, table
from tests.support.type_courses import COURSES
from tests.support.type_plays import play

WRITE = "run `PYTHONPATH=. python tests/support/order_type_pages.py`"
DRAW = "run `PYTHONPATH=. python tests/support/order_type_drawings.py`"
UNFILLED = {"good_till_time"}
"""Types whose drawing shows an end without a fill."""


def test_the_table_of_order_types_is_the_registry_s():
    written = (DOCS / "order-types.md").read_text().partition(BEGIN)[2].partition(END)[0].strip()
    assert written == table(), WRITE


@every_case("preset", PRESETS.values(), ids=PRESETS)
def test_the_page_of_a_type_is_what_its_code_does(preset):
    assert (DOCS / "order-types" / f"{preset.name}.md").read_text() == page(preset), WRITE


def test_no_page_is_left_of_a_type_that_is_gone():
    assert {path.stem for path in (DOCS / "order-types").glob("*.md")} == set(PRESETS)


@every_case("name", PRESETS)
def test_the_drawing_of_a_type_is_what_its_code_does(name):
    assert (FOLDER / f"{name}.svg").read_text() == drawing_of(name).text(), DRAW


@every_case("name", PRESETS)
def test_a_drawing_shows_orders_and_how_they_end(name):
    rested = play(name).rested
    assert rested
    assert any(order.end == "filled" for order in rested) == (name not in UNFILLED)
    assert all(order.ended is not None for order in rested if order.end != "rests")


def test_a_bracket_is_drawn_with_its_held_entry_its_stop_and_its_target():
    played = play("bracket")
    assert [(order.side, order.stop, order.levels[0][1], order.end) for order in played.rested] == [
        ("BUY", False, 98.0, "filled"),
        ("SELL", True, 96.0, "cancelled"),
        ("SELL", False, 104.0, "filled"),
    ]
    assert [(wait.what, wait.value, wait.fired) for wait in played.waited] == [
        ("held", 98.0, True),
        ("held", 104.0, True),
    ]


def test_no_drawing_and_no_course_is_left_of_a_type_that_is_gone():
    assert {path.stem for path in FOLDER.iterdir()} == set(PRESETS) == set(COURSES)
