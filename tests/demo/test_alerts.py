"""Messages to people, over the demo and a receiver of this process: each fault's message with the broker's words and ids, floods, kills, no secret.

Which event makes which message, and every wait, is tried on a mocked clock in tests/actors/alerts.
"""

import contextlib
import os
import signal
import time

import pytest

from onebroker.config.alert_kinds import CHOOSABLE
from tests.support.alert_receiver import AlertReceiver, alert_receiver

pytestmark = pytest.mark.long

SECRETS = ("s3cret-path", "passw0rd", "s3cret-hung")


@pytest.fixture(scope="module")
def receiver():
    with alert_receiver() as here:
        here.hang("/s3cret-hung")  # the second receiver: it delays nothing
        yield here


@pytest.fixture(scope="module")
def alerted(new_demo, receiver, tmp_path_factory):
    path = tmp_path_factory.mktemp("alerts") / "onebroker.toml"
    urls = [
        f"json://user:passw0rd@127.0.0.1:{receiver.port}/s3cret-path",
        f"json://127.0.0.1:{receiver.port}/s3cret-hung",
    ]
    path.write_text(f"[alerts]\nto = {urls}\nkinds = {[*CHOOSABLE]}\n")
    path.chmod(0o600)
    demo = new_demo("--alerts", str(path)).start()
    demo.until_ready()
    demo.until(lambda: "is running at" in demo.log.read_text(), "the banner, from which on events are heard")
    return demo


def told(receiver, demo, *parts, path="/s3cret-path", seconds=60):
    """Wait for a message that holds these parts; return it, and the seconds that it took."""
    began = time.monotonic()

    def found():
        texts = [f"{message['title']}\n{message['message']}" for message in receiver.messages(path)]
        return next((text for text in texts if all(part in text for part in parts)), None)

    text = demo.until(found, lambda: f"{parts} in {receiver.messages(path)}", seconds)
    print(f"{parts[0]}: {time.monotonic() - began:.1f} s")
    return text


def test_a_rejection_is_told_with_the_brokers_words_and_ids_and_a_dry_run_and_a_refusal_are_not(alerted, receiver):
    share = alerted.share()
    before = len(receiver.messages("/s3cret-path"))
    assert alerted.place(**alerted.limit_buy(share, -3), dry_run=True).status == 200
    assert alerted.place(**alerted.limit_buy(share, -3, quantity=0)).status == 400
    alerted.fault("zerodha", "reject_orders", count=1)
    answer = alerted.place(**alerted.limit_buy(share, -3, broker="zerodha"))
    assert answer.json["outcome"] == "rejected"
    text = told(receiver, alerted, "order rejected at zerodha", answer.json["parent_id"], share["symbol"])
    assert answer.json["status_message"] in text
    new = [message["title"] for message in receiver.messages("/s3cret-path")[before:]]
    assert [title for title in new if "rejected" in title or "failed" in title] == [
        "onebroker: order rejected at zerodha"
    ]


def test_a_fill_and_a_halt_are_told(alerted, receiver):
    share = alerted.share(1)
    order_id = alerted.place(**alerted.limit_buy(share, -2)).json["order_id"]
    alerted.until_status(order_id, "OPEN")
    alerted.move(share["instrument_id"], alerted.at_price(share, -4))
    alerted.until_status(order_id, "COMPLETE")
    told(receiver, alerted, "filled at", share["symbol"], order_id)
    assert alerted.ask("POST", "/api/orders/halt", {"confirm": "HALT", "reason": "for the test"}).status == 200
    told(receiver, alerted, "trading is halted", "for the test")
    assert alerted.ask("DELETE", "/api/orders/halt").status == 200
    told(receiver, alerted, "trading goes on")


def test_an_order_that_stays_unknown_is_told_and_so_is_its_end(alerted, receiver):
    share = alerted.share(2)
    alerted.fault("upstox", "http_500")  # the order does not arrive, and no book can be read
    answer = alerted.place(**alerted.limit_buy(share, -3, broker="upstox"))
    assert answer.json["outcome"] == "unknown"
    told(receiver, alerted, "order unknown at upstox", answer.json["parent_id"], share["symbol"])
    alerted.heal()
    # The engine waits a minute for an order that no book shows.
    told(receiver, alerted, "order known again at upstox", answer.json["parent_id"], seconds=180)


def test_a_login_that_ends_is_told(alerted, receiver):
    alerted.fault("zerodha", "expire_session")
    told(receiver, alerted, "login needed at zerodha", "onebroker login zerodha")


def test_a_broker_that_cannot_be_read_is_told_and_so_is_its_return(alerted, receiver):
    alerted.fault("dhan", "garbage_body")
    told(receiver, alerted, "broker away: dhan", "What to do: ")
    alerted.heal()
    told(receiver, alerted, "broker back: dhan", "It stood for ")


def test_a_feed_that_is_down_is_told_and_so_is_its_return(alerted, receiver):
    alerted.fault("upstox", "drop_stream")
    told(receiver, alerted, "feed silent: upstox", "What to do: ")
    alerted.heal()
    told(receiver, alerted, "feed back: upstox", "It stood for ")


def test_a_store_that_hangs_is_told_and_so_is_its_return(alerted, receiver):
    (server,) = alerted.redis_servers()
    os.kill(server, signal.SIGSTOP)
    try:
        told(receiver, alerted, "store away", "What to do: ")
    finally:
        with contextlib.suppress(ProcessLookupError):  # the service may have ended it already
            os.kill(server, signal.SIGCONT)
    told(receiver, alerted, "store back")
    alerted.until_ready()


def test_units_whose_stop_is_rejected_are_told_and_so_is_the_failed_parent(alerted, receiver):
    share = alerted.share(5)
    instrument = share["instrument_id"]
    alerted.move(instrument, share["last_price"], 600)
    alerted.fault("zerodha", "reject_orders", instrument=instrument, order_type="SL")
    answer = alerted.place(
        **alerted.limit_buy(share, -2, broker="zerodha", quantity=10, product="MIS"),
        synthetic={
            "type": "cover",
            "stop_price": alerted.at_price(share, -6),
            "stop_limit_price": alerted.at_price(share, -7),
        },
    )
    assert answer.status in (200, 202), answer
    alerted.move(instrument, alerted.at_price(share, -3), 600)
    parent = answer.json["parent_id"]
    text = told(receiver, alerted, "position without its stop: 10", share["symbol"], parent)
    assert f"parent {parent}" in text
    # A stop that its broker rejects is not sent again: a person must look.
    told(receiver, alerted, "order failed", "reason: 10 units are open without a stop", parent)
    alerted.heal()


def test_a_calendar_that_ends_soon_is_told_once(new_demo, receiver, tmp_path):
    path = tmp_path / "onebroker.toml"
    path.write_text(f'[alerts]\nto = ["json://127.0.0.1:{receiver.port}/calendar"]\n')
    path.chmod(0o600)
    late = ("--market-hours", "real", "--now", "2026-12-29T09:30:00+05:30", "--no-past")
    demo = new_demo("--alerts", str(path), *late).start()
    demo.until_ready()
    told(receiver, demo, "the trading calendar ends soon", "2026-12-31", path="/calendar")
    demo.until(lambda: demo.read("/api/health")["alerts"]["waiting"] == 0, "the outbox to be empty")
    titles = [message["title"] for message in receiver.messages("/calendar")]
    assert titles.count("onebroker: the trading calendar ends soon") == 1


def test_health_shows_the_receivers_without_their_urls_and_no_secret_is_anywhere(alerted, receiver):
    shown = alerted.until(
        lambda: (health := alerted.read("/api/health")["alerts"])["receivers"][1]["failed"] and health,
        "the hanging one to fail",
    )
    assert [(row["number"], row["scheme"]) for row in shown["receivers"]] == [(1, "json"), (2, "json")]
    assert shown["receivers"][0]["sent"] >= 1
    assert shown["receivers"][1]["sent"] == 0
    everything = alerted.log.read_text() + str(alerted.read("/api/health")) + str(receiver.messages("/s3cret-path"))
    assert [secret for secret in SECRETS if secret in everything] == []
    assert "alert.failed" in everything


def test_two_hundred_rejections_are_at_most_three_messages_in_their_window(alerted, receiver, together):
    share, before = alerted.share(3), len(receiver.messages("/s3cret-path"))
    alerted.fault("all", "reject_orders")
    orders = [alerted.limit_buy(share, -3, quantity=quantity) for quantity in range(1, 201)]
    list(together.map(lambda body: alerted.place(**body), orders))
    alerted.heal()
    time.sleep(2)
    new = receiver.messages("/s3cret-path")[before:]
    assert len([message for message in new if "rejected" in message["title"]]) <= 3


def test_a_message_that_a_receiver_missed_for_a_minute_comes_after_a_kill(new_demo, tmp_path):
    with alert_receiver() as gone:
        port = gone.port
    path = tmp_path / "onebroker.toml"
    path.write_text(f'[alerts]\nto = ["json://127.0.0.1:{port}/s3cret-path"]\n')
    path.chmod(0o600)
    demo = new_demo("--alerts", str(path)).start()
    demo.until_ready()
    demo.until(lambda: "is running at" in demo.log.read_text(), "the banner, from which on events are heard")
    assert demo.ask("POST", "/api/orders/halt", {"confirm": "HALT", "reason": "before the kill"}).status == 200
    demo.until(lambda: demo.read("/api/health")["alerts"]["receivers"][0]["failed"] >= 2, "two failed tries")
    demo.kill()
    demo.start()
    time.sleep(60)
    receiver = AlertReceiver(port)
    try:
        told(receiver, demo, "trading is halted", "before the kill", seconds=330)
        texts = [message["message"] for message in receiver.messages("/s3cret-path")]
        assert len([text for text in texts if "before the kill" in text]) == 1
        demo.until(lambda: demo.read("/api/health")["alerts"]["waiting"] == 0, "the outbox to be empty", 120)
    finally:
        receiver.end()
