"""The screen's pages of trades, parents, the watchlist and the service; and a bracket placed with the keyboard alone.

Needs Chromium and the extra `browser` (tests/demo/screen.py).
"""

import pytest

from tests.demo.test_dashboard import choose
from tests.demo.test_halt import bracket, net, resting
from tests.support.alert_receiver import alert_receiver

pytestmark = pytest.mark.long

MOST_TABS = 80


@pytest.fixture(scope="module")
def receiver():
    with alert_receiver() as here:
        yield here


@pytest.fixture(scope="module")
def own(new_demo, tmp_path_factory, receiver):
    """A demo whose alerts go to two receivers, of which the second refuses."""
    receiver.status["/two"] = 500
    settings = tmp_path_factory.mktemp("alerts") / "onebroker.toml"
    settings.touch(mode=0o600)
    settings.write_text(
        f'[alerts]\nto = ["json://127.0.0.1:{receiver.port}/one", "json://127.0.0.1:{receiver.port}/two"]\nkinds = ["halt"]\n'
    )
    running = new_demo("--alerts", str(settings)).start()
    running.until_ready()
    return running


def test_trades_are_those_of_the_book_and_found_by_words(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(2)
    order_id = demo.place(**demo.limit_buy(share, 1, quantity=3)).json["order_id"]
    demo.until_status(order_id, "COMPLETE")
    screen.open("trades")
    demo.until(
        lambda: page.locator("#trades tbody tr").count() == len(demo.read("/api/orders/trades")["trades"]), "all trades"
    )
    page.fill("input[type=search]", order_id)
    row = page.locator("#trades tbody tr")
    demo.until(lambda: row.count() == len(trades_of(demo, order_id)), "the trades of the order alone")
    [trade, *_] = trades_of(demo, order_id)
    assert f"{trade['price']:.2f}" in row.first.inner_text().replace(",", "")
    with page.expect_download() as saved:
        page.click("text=Save as CSV")
    lines = saved.value.path().read_text().splitlines()
    assert len(lines) == 1 + len(trades_of(demo, order_id))
    assert all(order_id in line for line in lines[1:])


def trades_of(demo, order_id):
    return [trade for trade in demo.read("/api/orders/trades")["trades"] if trade["order_id"] == order_id]


def test_a_parent_shows_how_far_its_triggers_are_and_is_found_after_its_end(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(3)
    parent_id = bracket(demo, share)
    screen.open("parents")
    card = page.locator(f"#parent-{parent_id}")
    target = card.locator("[data-away]")
    target.wait_for()
    held = next(
        part for part in demo.read("/api/orders/parents", parent_id=parent_id)["parameters"]["parts"].values()
        if "trigger_level" in part
    )  # fmt: skip

    def away():
        text = target.first.inner_text()
        return None if text == "–" else float(text.split(" ")[0].replace(",", ""))

    price = demo.at_price(share, 2)
    demo.move(share["instrument_id"], price)
    demo.until(lambda: away() == round(abs(held["trigger_level"] - price), 2), "the distance from the moved price")
    assert card.locator("ul.tree ul.tree ul.tree").count() == 1, "the exits are under the fill, and it under the entry"
    card.locator("button:has-text('Cancel all of it')").click()
    page.click("dialog button.danger")  # a position stays open without its exits
    page.wait_for_selector(f"#parent-{parent_id} h2:has-text('cancelled')")
    page.reload()
    page.wait_for_selector("#ended-on")
    assert page.locator(f"#parent-{parent_id}").count() == 0
    page.select_option("#ended-on", index=1)
    page.wait_for_selector(f"#parent-{parent_id} h2:has-text('bracket: cancelled')")
    assert page.locator(f"#parent-{parent_id} button").count() == 0, "nothing of it can be cancelled any more"


def test_watched_instruments_stay_over_a_reload_with_live_prices_and_no_secret(screen):
    demo, page = screen.demo, screen.page
    shares = [demo.share(5), demo.share(6)]
    screen.open("market")
    for share in shares:
        choose(page, share["symbol"], "nse_equities")
    page.reload()
    rows = page.locator("#watchlist tbody tr")
    rows.first.wait_for()
    assert rows.count() == len(shares)
    price = demo.at_price(shares[0], -1)
    demo.move(shares[0]["instrument_id"], price)
    page.wait_for_selector(f"#watchlist tr[data-id='{shares[0]['instrument_id']}'] td[data-status=ok]")
    demo.until(
        lambda: (
            f"{price:.2f}" in page.locator(f"tr[data-id='{shares[0]['instrument_id']}']").inner_text().replace(",", "")
        ),
        "the moved price in the list",
    )
    kept = page.evaluate("JSON.stringify(localStorage)")
    assert demo.token not in kept
    page.click(f"tr[data-id='{shares[0]['instrument_id']}'] button:has-text('Remove')")
    demo.until(lambda: rows.count() == 1, "the row to go")


@pytest.mark.parametrize("written", ["{", "7", '[null, 1, {"instrument_id": 5}, "x"]'])
def test_a_list_that_somebody_else_wrote_does_not_stop_the_page(screen, written):
    screen.open("overview")
    screen.page.evaluate("text => localStorage.setItem('onebroker-watched', text)", written)
    screen.go("market")
    screen.page.wait_for_selector("text=Find an instrument")
    assert screen.complaints == []


def test_each_receiver_is_tried_and_what_failed_is_told(screen, receiver):
    page = screen.page
    screen.open("service")
    page.wait_for_selector("#receivers tbody tr")
    before = receiver.begun
    page.locator("button:has-text('Send a test message')").dblclick()
    page.wait_for_selector("#tried p.good:has-text('1 (json): taken')", timeout=40_000)
    page.wait_for_selector("#tried p.bad:has-text('2 (json)')")
    assert receiver.begun == before + 2, "pressed twice, asked once"
    assert str(receiver.port) not in page.inner_text("main"), "no part of a receiver's address is shown"


def test_what_happened_lately_is_told_newest_first(screen):
    demo = screen.demo
    answer = demo.place(**demo.limit_buy(demo.share(7), -5)).json
    screen.open("service")
    screen.page.wait_for_selector(f"#lately tr:has-text('order.sent'):has-text('{answer['parent_id']}')")
    times = screen.page.locator("#lately tbody tr td:first-child").all_inner_texts()
    assert times == sorted(times, reverse=True)
    demo.cancel(answer["order_id"])


def test_a_bracket_is_placed_with_the_keyboard_alone(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(8)
    page.goto(screen.address)
    page.wait_for_selector("input[name=key]:focus")
    page.keyboard.type("demo-key")
    page.keyboard.press("Tab")
    page.keyboard.type("demo-secret")
    page.keyboard.press("Enter")
    page.wait_for_selector("#connection.good")
    to(page, "Ticket")
    page.keyboard.press("Enter")
    page.wait_for_selector("#order-type")
    prices = {"stop_price": -4, "stop_limit_price": -6, "target_price": 4}
    to(page, "instrument")
    page.keyboard.type(share["symbol"])
    page.wait_for_selector(f".found button:has-text('{share['symbol']}'):has-text('nse_equities')")
    to(page, f"{share['symbol']} ", within="nse_equities")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#chosen:has-text('{share['symbol']}')")
    to(page, "order type of the engine")
    page.keyboard.type("bracket")
    page.wait_for_selector("[name='synthetic.stop_price']")
    for name, word in (("transaction_type", "BUY"), ("product", "MIS"), ("order_type", "LIMIT")):
        to(page, name)
        page.keyboard.type(word)
    for name, figure in {"quantity": 2, "price": demo.at_price(share, 1)}.items():
        to(page, name)
        page.keyboard.type(str(figure))
    for name, percent in prices.items():
        to(page, name)
        page.keyboard.type(str(demo.at_price(share, percent)))
    since = demo.ledger()["next"]
    to(page, "Show what would be done")
    page.keyboard.press("Enter")
    page.wait_for_selector("#plan")
    to(page, "Send")
    page.keyboard.press("Enter")
    page.wait_for_selector("#outcome.good")
    demo.until(lambda: net(demo, share) == 2, "the entry to fill")
    demo.until(lambda: resting(demo, share), "the stop to rest at the broker")
    assert len([each for each in demo.placed(since) if each["side"] == "BUY"]) == 1
    to(page, "Parents", backwards=True)
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('bracket: working')")


NAME = """() => {
  const held = document.activeElement;
  const label = held.labels?.[0]?.innerText ?? "";
  return [(label || held.innerText || "").trim(), held.innerText ?? ""];
}"""


def to(page, name, *, within="", backwards=False):
    """Press Tab until the focus is on what is called so."""
    for _ in range(MOST_TABS):
        called, text = page.evaluate(NAME)
        if called.removesuffix(" *").startswith(name) and within in text:
            return
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
    pytest.fail(f"the keyboard does not reach {name}")


def test_the_token_is_ended_for_every_client_after_a_second_question(screen):
    demo, page = screen.demo, screen.page
    screen.open("service")
    expires = demo.read("/api/session/status")["expires_at"]
    page.wait_for_selector(f"#expires:has-text('{expires}')")
    page.click("button:has-text('End the token')")
    assert demo.read("/api/session/status")["status"] == "connected"
    page.click("#end-token")
    page.wait_for_selector("form.login")
    assert demo.ask("GET", "/api/session/status").status == 401
    demo.token = demo.connect()


def test_a_page_that_cannot_be_shown_leaves_the_stops_and_the_other_pages(screen):
    """A service of another version may answer what this page does not know."""
    page = screen.page
    page.route("**/api/health", lambda route: route.fulfill(json={"time": "2026-11-27T10:00:00", "brokers": {"a": {}}}))
    page.goto(screen.address)
    page.fill("input[name=key]", "demo-key")
    page.fill("input[name=secret]", "demo-secret")
    page.click("button:has-text('Connect')")
    page.wait_for_selector("main .fault:has-text('This page cannot be shown')")
    page.click("header button:has-text('HALT')")
    page.wait_for_selector("#stop-word")
    page.click("dialog button:has-text('Leave')")
    screen.go("positions")
    page.wait_for_selector("#positions tbody tr")
    assert page.locator("main .fault").count() == 0
    page.unroute("**/api/health")
    screen.go("overview")
    page.wait_for_selector("#available")


def test_a_search_says_what_is_wrong_and_goes_on_when_the_list_is_there(screen):
    page, share = screen.page, screen.demo.share(9)
    screen.open("ticket")
    page.fill("#find", "zzzzzzzzzz")
    page.wait_for_selector("#find-told:has-text('No instrument has these words.')")
    refusal = {"error": "the instrument list is not there yet"}
    page.route("**/api/instruments/find?*", lambda route: route.fulfill(status=503, json=refusal))
    page.fill("#find", share["symbol"])
    page.wait_for_selector(f"#find-told:has-text('{refusal['error']}')")
    page.unroute("**/api/instruments/find?*")
    page.wait_for_selector(f".found button:has-text('{share['symbol']}')")
