"""What the screen shows is live, or says that it is not: figures beside the documents, a lost connection, a broker that cannot be read.

Needs Chromium and the extra `browser` (tests/demo/screen.py).
"""

import time

import pytest

from tests.demo.cable import Cable
from tests.demo.screen import Screen

pytestmark = pytest.mark.long

COMPARED_SECONDS = 60.0
CUT_SECONDS = 30.0
SAID_MILLISECONDS = 4_000
"""How long the page may take on a busy machine to say that the connection is lost; bench/bench_screen.py measures it."""
STALE_MILLISECONDS = 100_000
"""A part is stale when it is 60 s old."""


@pytest.fixture
def cable(own):
    with Cable(own.port) as cable:
        yield cable


@pytest.fixture
def far(browser, own, cable):
    """A screen at the other end of the cable."""
    held = Screen(browser, own, port=cable.port)
    yield held
    held.close()


READ = """() => {
  const table = document.querySelector("#positions");
  const rows = [...table.querySelectorAll("tbody tr")].map((row) => [...row.cells].slice(0, 6).map((cell) => cell.innerText));
  return [table.dataset.asOf, rows];
}"""


def written(value):
    """A figure as the page writes it, without the commas of India."""
    return "–" if value is None else f"{value:.2f}"


def expected(row):
    name = row["symbol"] or " ".join(
        f"{part:g}" if isinstance(part, float) else str(part)
        for part in (row["underlying_symbol"], row["expiry_date"], row["strike_price"], row["option_type"])
        if part is not None
    )
    money = [written(figure) for figure in (row["average_price"], row["last_price"], row["pnl"]["total"])]
    return [name, row["product"], str(row["quantity"]), *money]


def test_every_figure_is_that_of_the_document_of_its_moment(screen):
    screen.open("positions")
    demo = screen.demo
    screen.page.wait_for_selector("#positions tbody tr")
    documents, shown = {}, []
    until = time.monotonic() + COMPARED_SECONDS
    while time.monotonic() < until:
        document = demo.read("/api/portfolio/positions")
        rows = sorted(expected(row) for row in document["net"])
        documents.setdefault(document["as_of"], []).append(rows)
        as_of, rows = screen.page.evaluate(READ)
        shown.append((as_of, sorted([cell.replace(",", "") for cell in row] for row in rows)))
    judged = [(as_of, rows) for as_of, rows in shown if as_of in documents]
    assert len({as_of for as_of, _ in judged}) > COMPARED_SECONDS / 3, "most moments were read from both"
    assert [(as_of, rows) for as_of, rows in judged if rows not in documents[as_of]] == []


def test_a_connection_lost_for_half_a_minute_is_said_and_its_end_tells_what_was_missed(far, cable):
    demo, page, share = far.demo, far.page, far.demo.share(3)
    order_id = demo.place(**demo.limit_buy(share, -5, tag="Away")).json["order_id"]
    demo.until_status(order_id, "OPEN")
    far.open("orders")
    page.fill("input[type=search]", "away")
    page.wait_for_selector("#orders td:has-text('OPEN')")
    cable.cut()
    page.wait_for_selector("p.lost:has-text('The connection is lost')", timeout=SAID_MILLISECONDS)
    assert page.locator("#orders [data-status=ok]").count() == 0, "no figure looks live"
    cancelled_at = time.monotonic()
    demo.cancel(order_id)
    demo.until_status(order_id, "CANCELLED")
    other = demo.place(**demo.limit_buy(share, 1)).json["order_id"]
    demo.until_status(other, "COMPLETE")
    page.wait_for_timeout(max(0.0, CUT_SECONDS - (time.monotonic() - cancelled_at)) * 1000)
    assert page.locator("#orders td:has-text('CANCELLED')").count() == 0
    cable.join()
    page.wait_for_selector("#connection.good", timeout=20_000)
    page.wait_for_selector("#orders td:has-text('CANCELLED')")
    told = page.wait_for_selector("#away")
    page.wait_for_selector(f"#away li:has-text('order {order_id}'):has-text('OPEN, now CANCELLED')")
    page.wait_for_selector(f"#away li:has-text('order {other}'):has-text('COMPLETE, 1 of 1 filled')")
    assert "lost from" in told.inner_text()
    rows = {row["order_id"]: row["status"] for row in demo.orders()}
    page.fill("input[type=search]", "")
    demo.until(lambda: page.locator("#orders tbody tr").count() == len(rows), "the page to show the whole book")
    page.click("#away button:has-text('Seen')")
    page.wait_for_selector("#away", state="detached")


def test_a_broker_that_cannot_be_read_is_marked_and_so_is_every_figure_of_it(screen):
    demo, page = screen.demo, screen.page
    held = demo.read("/api/portfolio/positions")["net"]
    broker = next(part["broker"] for row in held for part in row["by_broker"])
    screen.open("positions")
    page.wait_for_selector("#positions tbody tr")
    assert page.locator("#positions [data-status=stale]").count() == 0
    demo.fault(broker, "refuse_connections")
    try:
        page.wait_for_selector("#positions [data-status=stale]", timeout=STALE_MILLISECONDS)
        document = demo.read("/api/portfolio/positions")
        of_broker = [row for row in document["net"] if broker in [part["broker"] for part in row["by_broker"]]]
        marked = page.locator("#positions tr:has([data-status=stale])")
        demo.until(lambda: marked.count() == len(of_broker), "the rows of the broker, and no other, to be marked")
        assert page.locator("#result.old").count() == 1
        assert "old" in marked.first.inner_text(), "its age is told"
        screen.go("overview")
        page.wait_for_selector(f"#funds tr:has-text('{broker}') [data-status=stale]", timeout=STALE_MILLISECONDS)
        page.wait_for_selector("#available.old")
    finally:
        demo.heal()
    page.wait_for_selector("#available[data-status=ok]", timeout=60_000)
