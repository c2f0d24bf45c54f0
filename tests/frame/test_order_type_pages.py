"""docs/order-types.md and the pages beside it say of each type what the code has."""

from onebroker.actors.engine.presets.registry import PRESETS
from tests.support.every_case import every_case
from tests.support.order_type_pages import BEGIN, DOCS, END, page, table

WRITE = "run `PYTHONPATH=. python tests/support/order_type_pages.py`"


def test_the_table_of_order_types_is_the_registry_s():
    written = (DOCS / "order-types.md").read_text().partition(BEGIN)[2].partition(END)[0].strip()
    assert written == table(), WRITE


@every_case("preset", PRESETS.values(), ids=PRESETS)
def test_the_page_of_a_type_is_what_its_code_does(preset):
    assert (DOCS / "order-types" / f"{preset.name}.md").read_text() == page(preset), WRITE


def test_no_page_is_left_of_a_type_that_is_gone():
    assert {path.stem for path in (DOCS / "order-types").glob("*.md")} == set(PRESETS)
