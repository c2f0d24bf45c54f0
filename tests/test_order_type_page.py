"""docs/order-types.md says of each type what the registry has."""

from pathlib import Path

from tests.support.order_type_page import BEGIN, END, table

PAGE = Path(__file__).parents[1] / "docs" / "order-types.md"


def test_the_table_of_order_types_is_the_registry_s():
    written = PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip()
    assert written == table(), "run tests/support/order_type_page.py and put its table between the marks"
