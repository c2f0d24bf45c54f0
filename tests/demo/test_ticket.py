"""Each order type placed through its form, which the service's document describes: what the page sends is what its example says, once."""

import json

import pytest

from onebroker.actors.engine.presets.registry import PRESETS
from tests.demo.screen import Screen
from tests.demo.test_order_types import MORNING, OUTCOMES, cancelled, order

pytestmark = pytest.mark.long

PLACE = "/api/orders/place"
SETTLED_MILLISECONDS = 100_000
"""An order of unknown outcome is settled by books of a minute, at a broker that cannot be asked by token."""
AGAIN = ("no whole quote", "try again", "room")
"""Words of refusals that only want another moment."""


@pytest.fixture(scope="module")
def demo(new_demo):
    demo = new_demo("--now", MORNING).start()
    demo.until_ready()
    return demo


@pytest.fixture(scope="module")
def screen(browser, demo):
    held = Screen(browser, demo).open("ticket")
    yield held
    held.close()


class Form:
    """The ticket, filled in."""

    def __init__(self, screen):
        self.page, self.demo = screen.page, screen.demo
        self.page.reload()
        self.page.wait_for_selector("#order-type")

    def choose(self, listed):
        words = [listed["symbol"]]
        if not listed["symbol"]:
            words = [
                listed["underlying_symbol"],
                f"{listed['strike_price']:g}",
                listed["option_type"],
                listed["expiry_date"],
            ]
        self.page.fill("#find", " ".join(words))
        button = self.page.locator(f".found button:has-text('{listed['segment']}')").first
        button.click()
        self.page.wait_for_selector(f"#chosen:has-text('{words[0]}')")

    def fill(self, body):
        synthetic = body.get("synthetic", {})
        self.page.select_option("#order-type", synthetic.get("type", ""))
        for name, given in body.items():
            if name not in ("instrument_id", "synthetic"):
                self._set(name, given)
        for name, given in synthetic.items():
            if name != "type":
                self._set(f"synthetic.{name}", given)

    def _set(self, path, given):
        field = self.page.locator(f"[name='{path}']")
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(json.dumps(given) if isinstance(given, bool) else given)
        else:
            field.fill(given if isinstance(given, str) else json.dumps(given))

    def plan(self):
        """Ask what would be done; return the sentence of a refusal, None of a plan, and the body that was sent."""

        def asked():
            with self.page.expect_request(f"**{PLACE}") as sent:
                self.page.click("text=Show what would be done")
            self.page.wait_for_selector("#plan, .ticket [role=alert]")
            alert = self.page.locator(".ticket [role=alert]")
            sentence = alert.inner_text() if alert.count() else None
            return (
                None if sentence and any(word in sentence for word in AGAIN) else (sentence, sent.value.post_data_json)
            )

        return self.demo.until(asked, "an answer other than to try again")

    def send(self):
        """Press Send twice; return what the page tells."""
        self.page.locator("#send").dblclick()
        self.page.wait_for_selector("#outcome, .ticket [role=alert]", timeout=SETTLED_MILLISECONDS)
        return self.page.locator("#outcome, .ticket [role=alert]").inner_text()


def listed(demo, instrument_id):
    return next(
        each
        for shape in ("security", "option")
        for each in demo.control("GET", f"/instruments?shape={shape}&limit=500")
        if each["instrument_id"] == instrument_id
    )


@pytest.mark.parametrize(("number", "name"), list(enumerate(PRESETS)))
def test_a_type_is_placed_through_its_form_once(demo, screen, number, name):
    body, example = order(demo, number, name)
    form = Form(screen)
    form.choose(listed(demo, body["instrument_id"]))
    form.fill(body)
    since, before = demo.ledger()["next"], screen.sent["POST", PLACE]
    sentence, sent = form.plan()
    assert sent == {**body, "dry_run": True}
    assert demo.placed(since) == []
    if example.status not in OUTCOMES:
        assert sentence is not None
        return
    assert sentence is None, sentence
    asked = screen.sent["POST", PLACE]
    told = form.send()
    assert screen.sent["POST", PLACE] == asked + 1 > before
    if OUTCOMES[example.status] not in told:
        pytest.fail(told)
    for parent in demo.read("/api/orders/parents")["parents"]:
        if name != "marketable_limit":
            cancelled(demo, parent["parent_order_id"])
    assert screen.complaints == [] or all("40" in each for each in screen.complaints)


def test_a_plan_is_placed_through_its_form_once_and_shows_its_charges(demo, screen):
    """The two types that are no preset: a plan here, a simple order below."""
    share = demo.share(22)
    exits = [
        {"transaction_type": "SELL", "price": {"kind": "native_stop", "trigger_price": demo.at_price(share, -4), "limit_price": demo.at_price(share, -5)}},
        {"transaction_type": "SELL", "price": {"kind": "fixed", "price": demo.at_price(share, 4)}},
    ]  # fmt: skip
    root = {"each_fill": {"part": "one_cancels_others", "rule": "shrink", "children": exits}}
    body = demo.limit_buy(share, 1, product="MIS", quantity=4, synthetic={"type": "plan", "root": root})
    form, since = Form(screen), demo.ledger()["next"]
    form.choose(share)
    form.fill(body)
    sentence, sent = form.plan()
    assert (sentence, sent) == (None, {**body, "dry_run": True})
    cost = demo.place(**body, dry_run=True).json["requests"][0]["estimated_cost"]["total"]
    assert f"charges {cost:.2f}" in form.page.inner_text("#plan")
    asked = screen.sent["POST", PLACE]
    assert "taken by the engine" in (told := form.send()) or "accepted" in told, told
    assert screen.sent["POST", PLACE] == asked + 1
    entries = [message for message in demo.placed(since) if message["side"] == "BUY"]
    assert len(entries) == 1
    for parent in demo.read("/api/orders/parents")["parents"]:
        cancelled(demo, parent["parent_order_id"])


@pytest.mark.parametrize("synthetic", [None, {"type": "simple", "closes_position": True}])
def test_a_simple_order_is_placed_through_its_form_once(demo, screen, synthetic):
    share = demo.share(23)
    body = demo.limit_buy(share, -3, product="MIS", **({} if synthetic is None else {"synthetic": synthetic}))
    form, since = Form(screen), demo.ledger()["next"]
    form.choose(share)
    form.fill(body)
    sentence, sent = form.plan()
    assert (sentence, sent) == (None, {**body, "dry_run": True})
    told = form.send()
    [message] = demo.placed(since)
    assert message["order_id"] in told
    demo.cancel(message["order_id"])


def test_a_wrong_value_shows_the_service_s_sentence_at_its_field(demo, screen):
    form = Form(screen)
    form.choose(demo.share())
    form.page.select_option("[name='transaction_type']", "BUY")
    form.page.select_option("[name='product']", "MIS")
    form.page.select_option("[name='order_type']", "LIMIT")
    form._set("quantity", -3)
    form._set("price", 10)
    sentence, _ = form.plan()
    assert sentence.startswith("quantity must be")
    assert form.page.locator("[aria-invalid=true]").get_attribute("name") == "quantity"


def test_an_unknown_outcome_is_followed_and_not_sent_again(demo, screen):
    share = demo.share(20)
    form = Form(screen)
    form.choose(share)
    body = demo.limit_buy(share, -3, broker="zerodha", product="MIS")
    for name in ("transaction_type", "product", "order_type", "broker", "quantity", "price"):
        form._set(name, body[name])
    sentence, _ = form.plan()
    assert sentence is None
    demo.fault("zerodha", "drop_after_accept", count=1)
    since = demo.ledger()["next"]
    told = form.send()
    [message] = demo.placed(since)
    assert "working: open at zerodha, order " in told, told
    assert message["order_id"] in told


@pytest.mark.parametrize("status", [500, 502, 503])
def test_an_order_that_a_fault_followed_is_not_sent_again(demo, screen, status):
    """The order arrives and its answer does not: a fault of the service after it, or of a proxy before it."""
    share = demo.share(21)
    form = Form(screen)
    form.choose(share)
    body = demo.limit_buy(share, -3, broker="zerodha", product="MIS")
    for name in ("transaction_type", "product", "order_type", "broker", "quantity", "price"):
        form._set(name, body[name])
    sentence, _ = form.plan()
    assert sentence is None
    since = demo.ledger()["next"]

    def fail(route):
        route.fetch()
        told = {"error": "a fault", "outcome": "unknown"} if status == 503 else "<title>a page</title>"
        route.fulfill(status=status, body=json.dumps(told))

    screen.page.route(f"**{PLACE}", fail)
    try:
        told = form.send()
    finally:
        screen.page.unroute(f"**{PLACE}")
    assert "It may have been sent" in told
    assert screen.page.locator("#send").count() == 0
    assert len(demo.placed(since)) == 1


def test_all_orders_were_sent_once(demo):
    demo.assert_sent_once()
