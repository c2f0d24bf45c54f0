"""The pictures of the docs, made from the demo. They are written into a folder when PICTURES names one:

    PICTURES=docs/pictures .venv/bin/pytest --further tests/demo/test_pictures.py

Needs Chromium and the extra `browser` (tests/demo/screen.py).
"""

import os
from pathlib import Path

import pytest

from tests.demo.screen import Screen
from tests.demo.test_dashboard import choose
from tests.demo.test_halt import bracket
from tests.frame.test_readme import ROOT

pytestmark = pytest.mark.long

PICTURES = ROOT / "docs" / "pictures"
NAMES = ("overview", "positions", "parents", "ticket", "market")
MOST_BYTES = 200_000
VIEW = {"width": 1100, "height": 760}


@pytest.fixture(scope="module")
def own(new_demo):
    running = new_demo(past=True).start()
    running.until_ready()
    return running


def prepared(screen, name):
    """Bring a page into the state that is worth a picture."""
    demo, page = screen.demo, screen.page
    screen.open(name)
    if name == "overview":
        page.wait_for_selector("#available")
    elif name == "positions":
        page.wait_for_selector("#positions tbody tr")
    elif name == "parents":
        parent = bracket(demo, demo.share(1))
        page.wait_for_selector(f"#parent-{parent} [data-away]:not(:has-text('–'))")
    elif name == "ticket":
        choose(page, demo.share(2)["symbol"], "nse_equities")
        page.select_option("#order-type", "bracket")
        page.wait_for_selector("#ticket-quote #last")
    else:
        index = demo.read("/api/instruments/find", q="desh 50", limit=1)["instruments"][0]
        where = {"instrument_id": index["instrument_id"], "interval": "day", "days": 365}
        demo.until(lambda: demo.read("/api/instruments/prices", **where)["candles"], "the demo's past", 120)
        for number in (3, 4, 5):
            choose(page, demo.share(number)["symbol"], "nse_equities")
        choose(page, index["symbol"], index["segment"])
        page.wait_for_selector("#candles:has-text(' candles, from ')")
        page.wait_for_selector("#watchlist:not(:has(td:not([data-status=ok])[data-status]))")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_makes_a_picture(browser, own, tmp_path, name):
    screen = Screen(browser, own, viewport=VIEW, color_scheme="light")
    prepared(screen, name)
    path = Path(os.environ.get("PICTURES", tmp_path)).resolve() / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    screen.page.screenshot(path=path)
    screen.close()
    assert 10_000 < path.stat().st_size < MOST_BYTES, "more than an empty page"


def test_every_picture_of_the_docs_is_one_that_this_file_makes():
    assert {path.stem for path in PICTURES.glob("*.png")} == set(NAMES)
