"""The screen in a real browser, over a demo; the exchange's ledger is the judge of what it sent.

Needs Chromium and the extra `browser` (tests/demo/screen.py).
"""

from collections import Counter

import pytest

from tests.demo.screen import Screen
from tests.demo.test_halt import bracket, net

pytestmark = pytest.mark.long

MOST_WIRE_BYTES = 300_000
PAGES = ("overview", "positions", "orders", "trades", "parents", "ticket", "market", "chain", "brokers", "service")
SERIOUS = ("serious", "critical")
PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def own(new_demo):
    """A demo of this file's own, with a year of prices: it is flattened and killed."""
    running = new_demo(past=True).start()
    running.until_ready()
    return running


def test_it_loads_little_asks_nobody_else_and_complains_of_nothing(screen):
    session = screen.page.context.new_cdp_session(screen.page)
    session.send("Network.enable")
    received = []
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    screen.open()
    screen.page.wait_for_selector("#available")
    for name in PAGES:
        screen.go(name)
    assert screen.hosts == {f"127.0.0.1:{screen.demo.port}"}
    assert screen.complaints == []
    assert sum(received) < MOST_WIRE_BYTES


def test_wrong_credentials_are_told_and_nothing_is_kept(screen):
    screen.page.goto(f"http://127.0.0.1:{screen.demo.port}/")
    screen.page.fill("input[name=key]", "demo-key")
    screen.page.fill("input[name=secret]", "wrong")
    screen.page.click("button:has-text('Connect')")
    screen.page.wait_for_selector("[role=alert]:has-text('Invalid API key or secret')")
    assert screen.page.evaluate("Object.keys(sessionStorage).length + Object.keys(localStorage).length") == 0


def test_the_figures_are_those_of_the_documents(screen):
    screen.open("positions")
    demo = screen.demo

    def result():
        return demo.read("/api/portfolio/positions")["summary"]["total"]

    def shown():
        text = screen.page.inner_text("#result").split(" ")[0]
        return float(text.replace(",", ""))

    demo.until(lambda: shown() == result(), "the page to show the document's result")
    held = {row["instrument_id"] for row in demo.read("/api/portfolio/positions")["net"]}
    assert screen.page.locator("#positions tbody tr").count() == len(held)


def test_a_bracket_is_seen_and_cancelled_once(screen):
    demo, share = screen.demo, screen.demo.share(3)
    parent_id = bracket(demo, share)
    screen.open("parents")
    card = screen.page.locator(f"#parent-{parent_id}")
    card.wait_for()
    card.locator("button:has-text('Cancel all of it')").click()
    screen.page.wait_for_selector("#asked:has-text('they stay open without it')")
    assert screen.sent["DELETE", "/api/orders/parents"] == 0
    screen.page.locator("dialog button.danger").dblclick()
    demo.until(lambda: demo.read("/api/orders/parents", parent_id=parent_id)["state"] == "cancelled", "its cancel")
    assert screen.sent["DELETE", "/api/orders/parents"] == 1
    screen.page.wait_for_selector(f"#parent-{parent_id} h2:has-text('cancelled')")


def test_an_order_is_cancelled_from_the_book_with_one_message(screen):
    demo = screen.demo
    order_id = demo.place(**demo.limit_buy(demo.share(4), -5, tag="Screen")).json["order_id"]
    demo.until_status(order_id, "OPEN")
    since = demo.ledger()["next"]
    screen.open("orders")
    screen.page.fill("input[type=search]", "screen")
    row = screen.page.locator("#orders tbody tr")
    row.wait_for()
    assert row.count() == 1
    row.locator("button:has-text('Cancel')").dblclick()
    demo.until_status(order_id, "CANCELLED")
    screen.page.wait_for_selector("#orders td:has-text('CANCELLED')")
    verbs = Counter(each["verb"] for each in demo.ledger(since)["messages"])
    assert (verbs["cancel"], screen.sent["DELETE", "/api/orders/cancel"]) == (1, 1)


def test_an_order_is_changed_with_what_differs_and_one_message(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(8)
    order_id = demo.place(**demo.limit_buy(share, -5, tag="Change")).json["order_id"]
    demo.until_status(order_id, "OPEN")
    since = demo.ledger()["next"]
    screen.open("orders")
    page.fill("input[type=search]", "change")
    page.locator("#orders tbody tr button:has-text('Change')").click()
    send = page.locator("dialog button:has-text('Change')")
    assert send.is_disabled(), "nothing differs yet"
    price = demo.at_price(share, -4)
    page.fill("#modify-price", str(price))
    with page.expect_request("**/api/orders/modify") as sent:
        send.dblclick()
    row = demo.until(lambda: [row for row in demo.orders(order_id=order_id) if row["price"] == price], "the new price")[
        0
    ]
    assert sent.value.post_data_json == {"order_id": order_id, "broker": row["broker"], "price": price}
    assert screen.sent["PUT", "/api/orders/modify"] == 1
    assert Counter(each["verb"] for each in demo.ledger(since)["messages"])["modify"] == 1
    page.wait_for_selector("#modified.good")


def test_words_of_a_broker_are_text(screen):
    """A browser that took them for a picture would ask for it, and say so."""
    words = "<img src=/dashboard/nothing.js onerror=document.title='taken'>"
    screen.page.route("**/api/health", lambda route: route.fulfill(json=with_trouble(route.fetch().json(), words)))
    screen.open("brokers")
    screen.page.wait_for_selector(f"#brokers :text({words!r})")
    assert screen.page.title() == "onebroker"
    assert screen.page.locator("#brokers img").count() == 0
    assert screen.complaints == []


def with_trouble(health, words):
    for each in health["brokers"].values():
        each["trouble"] = words
    return health


def test_a_halt_needs_its_word_and_a_reason_and_is_taken_back(screen):
    screen.open()
    page, demo = screen.page, screen.demo
    page.click("header button:has-text('HALT')")
    send = page.locator("dialog button.danger")
    page.fill("#stop-word", "HALT")
    assert send.is_disabled()
    page.fill("dialog input >> nth=0", "a wrong price")
    page.fill("#stop-word", "halt")
    assert send.is_disabled()
    page.fill("#stop-word", "HALT")
    send.dblclick()
    page.wait_for_selector("dialog :text('Trading is halted.')")
    assert demo.read("/api/orders/halt")["reason"] == "a wrong price"
    assert screen.sent["POST", "/api/orders/halt"] == 1
    page.click("dialog button:has-text('Close')")
    page.wait_for_selector("p.lost:has-text('Trading is halted: a wrong price')")
    page.click("header button:has-text('RESUME')")
    page.fill("#stop-word", "RESUME")
    page.click("dialog button.danger")
    page.wait_for_selector("dialog :text('Trading goes on.')")
    assert demo.read("/api/orders/halt") == {"halted": False}


def test_a_flatten_shows_what_it_would_do_needs_its_word_and_is_sent_once(screen):
    demo, page = screen.demo, screen.page
    share = demo.share(5)
    demo.place(**demo.limit_buy(share, 1, product="MIS"))
    demo.until(lambda: net(demo, share) == 1, "the position")
    demo.until(
        lambda: (
            share["instrument_id"] in [row["instrument_id"] for row in demo.read("/api/portfolio/positions")["net"]]
        ),
        "its row",
    )
    screen.open("positions")
    since = demo.ledger()["next"]
    page.click("header button:has-text('FLATTEN')")
    page.wait_for_selector("dialog table")
    plan = page.locator("dialog tbody tr").count()
    assert plan > 0
    assert [each for each in demo.ledger(since)["messages"] if each["verb"] == "place"] == []
    page.fill("#stop-word", "FLATTEN")
    page.locator("dialog button.danger").dblclick()
    page.wait_for_selector("dialog [role=status]", timeout=120_000)
    assert screen.sent["POST", "/api/orders/flatten"] == 2, "the dry run and the flatten"
    assert net(demo, share) == 0
    demo.assert_sent_once()


def test_a_flatten_says_first_what_could_not_be_read(screen):
    unread = {
        "brokers_not_read": ["groww"],
        "positions_not_readable": [{"broker": "upstox", "status_message": "one row has no quantity"}],
    }
    screen.page.route("**/api/orders/flatten", lambda route: route.fulfill(json={**route.fetch().json(), **unread}))
    screen.open()
    screen.page.click("header button:has-text('FLATTEN')")
    screen.page.wait_for_selector("#stop-trouble")
    lines = screen.page.locator("#stop-trouble p.bad").all_inner_texts()
    assert lines[0].startswith("groww cannot be read: its orders and positions are not in this list. ")
    assert lines[1] == (
        "Some positions of upstox cannot be read and are not in this list: one row has no quantity. Look at its own app."
    )
    text = screen.page.inner_text("dialog")
    following = "would be cancelled" if "would be cancelled" in text else "Nothing else is open."
    assert text.index("groww cannot be read") < text.index(following)
    screen.page.click("dialog button:has-text('Leave')")


def test_the_cancel_of_a_stop_is_asked_about_and_sent_once(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(9)
    bought = demo.place(**demo.limit_buy(share, 1, product="MIS"))
    broker = bought.json["broker"]
    demo.until(lambda: net(demo, share) == 1, "the position")
    body = demo.limit_buy(share, -3, product="MIS", tag="Guard", broker=broker)
    trigger = demo.at_price(share, -2)
    stop = {
        **body,
        "transaction_type": "SELL",
        "order_type": "SL",
        "trigger_price": trigger,
        "synthetic": {"type": "simple"},
    }
    order_id = demo.place(**stop).json["order_id"]
    demo.until(lambda: demo.orders(order_id=order_id), "its row")
    screen.open("orders")
    page.fill("input[type=search]", "guard")
    button = page.locator("#orders tbody tr button:has-text('Cancel')")
    demo.until(lambda: asked(page, button), "the position to be on the page")
    assert f"at {broker}: they stay open without it." in page.inner_text("#asked")
    page.click("dialog button:has-text('Leave it')")
    assert screen.sent["DELETE", "/api/orders/cancel"] == 0
    button.click()
    page.locator("dialog button.danger").dblclick()
    demo.until_status(order_id, "CANCELLED")
    assert screen.sent["DELETE", "/api/orders/cancel"] == 1


def asked(page, button):
    """Whether the press is asked about: the positions may not have come yet. A press that is not asked about would cancel."""
    rows = page.evaluate(
        "import('/dashboard/store.js').then(({ known }) => known.documents.positions?.net.length ?? 0)"
    )
    if not rows:
        return False
    button.click()
    return page.locator("#asked").count() == 1


def choose(page, words, segment):
    page.fill("#find", words)
    page.locator(f".found button:has-text('{segment}')").first.click()
    page.wait_for_selector("#chosen:not(:has-text('none chosen'))")


def test_a_quote_its_levels_and_candles_are_those_of_the_api(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(6)
    screen.open("market")
    choose(page, share["symbol"], "nse_equities")
    price = demo.at_price(share, -2)
    demo.move(share["instrument_id"], price)
    demo.until(lambda: page.inner_text("#last").replace(",", "") == f"{price:.2f}", "the page to show the moved price")
    quote = demo.read("/api/instruments/quote", instrument_id=share["instrument_id"])
    best = quote["depth"]["buy"][0]["price"]
    demo.until(lambda: f"{best:.2f}" in page.inner_text("main").replace(",", ""), "the best bid")
    index = demo.read("/api/instruments/find", q="desh 50", limit=1)["instruments"][0]
    where = {"instrument_id": index["instrument_id"], "interval": "day", "days": 365}
    demo.until(lambda: demo.read("/api/instruments/prices", **where)["candles"], "the demo's past to be loaded", 120)
    choose(page, index["symbol"], index["segment"])
    page.wait_for_selector("#candles:has-text(' candles, from ')")
    assert page.locator(".chart canvas").count() > 0
    read = demo.read("/api/instruments/prices", **where)
    assert page.inner_text("#candles").startswith(f"{len(read['candles'])} candles")
    assert screen.complaints == []


def test_a_price_that_is_too_old_is_not_shown(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(6)
    screen.open("market")
    choose(page, share["symbol"], "nse_equities")
    page.wait_for_selector("#last")
    for broker in share["brokers"]:
        demo.fault(broker, "refuse_connections")
    try:
        page.wait_for_selector("#quote.old:has-text('No price may be shown')", timeout=90_000)
        assert page.locator("#last").count() == 0
    finally:
        demo.heal()
    page.wait_for_selector("#last", timeout=120_000)


def test_a_chain_shows_its_strikes_and_fills_the_ticket(screen):
    demo, page = screen.demo, screen.page
    screen.open("chain")
    page.fill("#underlying", "desh")
    page.click("button:has-text('Show')")
    page.wait_for_selector("#chain tbody tr")
    expiry = page.input_value("#expiry")
    where = {"underlying_symbol": "DESH", "exchange": "nse", "expiry_date": expiry, "strikes": 20}
    rows = demo.read("/api/instruments/option_chain", **where)["rows"]
    assert page.locator("#chain tbody tr").count() == len(rows)
    page.locator("#chain tbody button:has-text('call')").first.click()
    page.wait_for_selector("#chosen:has-text('DESH')")
    assert page.input_value("[name=transaction_type]") == "BUY"
    assert f"{rows[0]['strike_price']:g}" in page.inner_text("#chosen")


HOLDERS = ("kotakneo", "upstox", "zerodha")


def at_three_brokers(demo, share):
    for code in HOLDERS:
        demo.place(**demo.limit_buy(share, 1, product="MIS", broker=code, quantity=3))
    demo.until(lambda: net(demo, share) == 9, "the positions")


def test_a_position_of_three_brokers_is_closed_at_all_three_by_a_press_and_a_confirmation(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(7)
    at_three_brokers(demo, share)
    screen.open("positions")
    row = page.locator(f"#positions tr:has-text('{share['symbol']}')")
    row.wait_for()
    row.locator("button:has-text('Close')").click()
    for code in HOLDERS:
        page.wait_for_selector(f"dialog tr:has-text('{code}'):has-text('SELL 3')")
    since = demo.ledger()["next"]
    page.locator("dialog button.danger").dblclick()
    page.wait_for_selector("dialog [role=status]:has-text('Closed')")
    demo.until(lambda: net(demo, share) == 0, "the position to be closed")
    assert sorted(message["broker"] for message in demo.placed(since)) == list(HOLDERS)
    assert screen.sent["POST", "/api/orders/close"] == 2  # the dry run, and the close


def test_a_position_of_three_brokers_is_protected_by_one_order_for_each(screen):
    demo, page, share = screen.demo, screen.page, screen.demo.share(8)
    at_three_brokers(demo, share)
    screen.open("positions")
    row = page.locator(f"#positions tr:has-text('{share['symbol']}')")
    row.wait_for()
    row.locator("button:has-text('Protect')").click()
    page.wait_for_selector("#split:has-text('kotakneo SELL 3, upstox SELL 3, zerodha SELL 3')")
    prices = {"stop_price": -4, "stop_limit_price": -5, "target_price": 4}
    for name, percent in prices.items():
        page.fill(f"[name='synthetic.{name}']", str(demo.at_price(share, percent)))
    since = demo.ledger()["next"]
    page.click("text=Show what would be done")
    page.wait_for_selector("#plan")
    page.locator("#send").dblclick()
    page.wait_for_selector("#outcome.good")
    sent = demo.placed(since)
    assert {message["broker"] for message in sent} == set(HOLDERS)
    assert {message["side"] for message in sent} == {"SELL"}


def test_a_token_that_ended_elsewhere_ends_the_page(screen):
    screen.open("positions")
    screen.demo.ask("DELETE", "/api/session/disconnect")
    screen.page.wait_for_selector("form.login")
    assert screen.page.locator("#result").count() == 0
    screen.demo.token = screen.demo.connect()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll(browser, own, theme):
    held = Screen(browser, own, viewport=PHONE, color_scheme=theme)
    try:
        held.open()
        for name in PAGES:
            held.go(name)
            assert held.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
    finally:
        held.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_is_kept_out_of_a_page(browser, own, theme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="the extra `browser` is not installed"
    ).Axe()
    held = Screen(browser, own, color_scheme=theme)
    found = []

    def look(name):
        told = axe.run(held.page, options={"resultTypes": ["violations"]}).response["violations"]
        found.extend((name, each["id"], each["nodes"][0]["html"][:200]) for each in told if each["impact"] in SERIOUS)

    try:
        held.page.goto(f"http://127.0.0.1:{own.port}/")
        held.page.wait_for_selector("form.login")
        look("login")
        held.open()
        for name in PAGES:
            held.go(name)
            held.page.wait_for_selector("h1")
            look(name)
        held.page.click("header button:has-text('FLATTEN')")
        held.page.wait_for_selector("dialog table, dialog p:has-text('Nothing is open')")
        look("flatten")
        held.page.click("dialog button:has-text('Leave')")
        held.page.click("header button:has-text('HALT')")
        look("halt")
    finally:
        held.close()
    assert found == []


def test_a_service_that_dies_is_told_at_once_and_goes_on_when_it_is_back(screen):
    screen.open("market")
    choose(screen.page, screen.demo.share(6)["symbol"], "nse_equities")
    screen.page.wait_for_selector("#last:not(.old)")
    screen.demo.kill()
    screen.page.wait_for_selector("#last.old", timeout=6_000)
    screen.go("positions")
    screen.page.wait_for_selector("p.lost:has-text('The connection is lost')", timeout=6_000)
    assert screen.page.locator("#result.old").count() == 1, "no figure looks live"
    screen.demo.start()
    screen.page.wait_for_selector("#connection.good", timeout=60_000)
    screen.page.wait_for_selector("#positions tbody tr")
