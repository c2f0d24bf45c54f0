"""All ten brokers in one demo: read, traded and found again after a kill, each by its own code; the exchange's ledger is the judge."""

from collections import Counter

import msgspec
import pytest

pytestmark = pytest.mark.long

TEN = frozenset(
    ("zerodha", "upstox", "dhan", "angelone", "fyers", "kotakneo", "icicidirect", "fivepaisa", "groww", "shoonya")
)
DOCUMENTS = ("portfolio/funds", "portfolio/holdings", "portfolio/positions", "orders/details", "orders/trades")
QUANTITY = 4
SEEN_SECONDS = 75.0
"""icicidirect's books are read once in 55 s: longer than that an order of it is not unseen, whatever its stream missed."""
LOGIN_SECONDS = 75.0
"""icicidirect allows 100 calls a minute, half of them kept for orders: the call that proves its login may wait for the next."""


@pytest.fixture(scope="module")
def shares(demo):
    """A share of its own for each broker, so that a price moved for one fills nobody else's order."""
    return dict(zip(sorted(TEN), demo.shares()[20:], strict=False))


@pytest.fixture(scope="module")
def kept(demo):
    """What one test leaves for the next: the place messages that were sent on purpose, a broker."""
    return Counter()


def at_every_broker(together, ask):
    """Run `ask(broker)` at all ten at once; return its answers by broker."""
    waiting = {broker: together.submit(ask, broker) for broker in sorted(TEN)}
    return {broker: each.result() for broker, each in waiting.items()}


def test_every_document_lists_ten_brokers_that_are_read(demo):
    for path in DOCUMENTS:
        demo.until(lambda path=path: demo.statuses(f"/api/{path}") == dict.fromkeys(TEN, "ok"), f"all ten in {path}")
    feeds = demo.read("/api/health")["brokers"]
    assert {code: each["login"] for code, each in feeds.items()} == dict.fromkeys(TEN, "live")


def test_the_reference_routes_show_ten_brokers_and_their_profiles(demo):
    assert {each["broker_name"] for each in demo.read("/api/brokers/details")} == TEN

    def profiles():
        return demo.read("/api/users/details")["broker_profiles"] or {}

    demo.until(lambda: all(profiles().get(code) for code in TEN), "a profile of every broker")
    assert set(profiles()) == TEN
    assert demo.read("/api/users/details")["user_details"]
    assert [each["exchange"] for each in demo.read("/api/exchanges/details")] == ["nse", "bse", "mcx", "ncdex"]


def test_an_order_at_every_broker_is_seen_filled_and_held(demo, shares, kept, together):
    said = at_every_broker(together, lambda code: accepted(demo, shares[code], code, percent=-2, tag=f"Fill{code}"))
    for code, answer in said.items():
        row = demo.until_status(answer["order_id"], "OPEN", SEEN_SECONDS)
        assert (row["broker"], row["tag"], row["quantity"]) == (code, f"Fill{code}", QUANTITY)
        assert (row["engine_parent_id"], row["instrument_id"]) == (answer["parent_id"], shares[code]["instrument_id"])
    assert sent(demo, "place") == dict.fromkeys(TEN, 1)
    for code in TEN:
        demo.move(shares[code]["instrument_id"], demo.at_price(shares[code], -4))
    for code, answer in said.items():
        assert demo.until_status(answer["order_id"], "COMPLETE", SEEN_SECONDS)["filled_quantity"] == QUANTITY
        demo.until(
            lambda code=code, answer=answer: traded(demo, code, answer) == QUANTITY,
            f"the trades of {code}",
            SEEN_SECONDS,
        )
    true = demo.ledger()["fills"]
    for code, answer in said.items():
        fills = [each for each in true if (each["broker"], each["order_id"]) == (code, answer["order_id"])]
        assert sum(each["quantity"] for each in fills) == QUANTITY
    demo.until(lambda: positions(demo, shares) == dict.fromkeys(TEN, QUANTITY), "every broker's position", SEEN_SECONDS)
    kept.update(TEN)


def test_an_order_at_every_broker_is_cancelled_with_one_message(demo, shares, kept, together):
    since = demo.ledger()["next"]
    said = at_every_broker(together, lambda code: accepted(demo, shares[code], code, percent=-6, tag="Gone"))
    for answer in said.values():
        demo.until_status(answer["order_id"], "OPEN", SEEN_SECONDS)
    cancelled = at_every_broker(together, lambda code: demo.cancel(said[code]["order_id"]))
    assert {code: (each.status, each.json["outcome"]) for code, each in cancelled.items()} == dict.fromkeys(
        TEN, (200, "accepted")
    )
    for answer in said.values():
        assert demo.until_status(answer["order_id"], "CANCELLED", SEEN_SECONDS)["tag"] == "Gone"
    assert sent(demo, "place", since) == sent(demo, "cancel", since) == dict.fromkeys(TEN, 1)
    true = {(each["broker"], each["order_id"]): each["status"] for each in demo.ledger()["orders"]}
    assert {true[code, answer["order_id"]] for code, answer in said.items()} == {"cancelled"}
    kept.update(TEN)


def test_an_open_order_at_every_broker_survives_a_kill_and_is_not_sent_again(demo, shares, kept, together):
    said = at_every_broker(together, lambda code: accepted(demo, shares[code], code, percent=-6, tag="Kept"))
    kept.update(TEN)
    for answer in said.values():
        demo.until_status(answer["order_id"], "OPEN", SEEN_SECONDS)
    demo.kill()
    demo.start()
    demo.until_ready()
    for code, answer in said.items():
        [row] = demo.until(
            lambda answer=answer: demo.orders(order_id=answer["order_id"]), f"the order of {code}", SEEN_SECONDS
        )
        assert row["engine_parent_id"] == answer["parent_id"], "not even the first row is one placed elsewhere"
        assert (row["broker"], row["tag"], row["status"]) == (code, "Kept", "OPEN")
        legs = demo.read("/api/orders/parents", parent_id=answer["parent_id"])["legs"]
        assert [leg["order_id"] for leg in legs] == [answer["order_id"]]
    assert sent(demo, "place") == kept, "nothing was sent again"
    at_every_broker(together, lambda code: until_cancelled(demo, said[code]["order_id"]))


def test_in_the_end_the_ledger_has_exactly_what_was_asked_for(demo, kept):
    assert sent(demo, "place") == kept == dict.fromkeys(TEN, 3)
    assert sent(demo, "cancel") == dict.fromkeys(TEN, 2)
    demo.assert_sent_once()
    health = demo.read("/api/health")
    assert health["crashes"] == []
    for secret in (b"demo-secret", demo.token.encode()):
        assert secret not in msgspec.json.encode(health)


def accepted(demo, share, broker, *, percent, tag):
    answer = demo.place(**demo.limit_buy(share, percent, broker=broker, quantity=QUANTITY, tag=tag))
    assert (answer.status, answer.json.get("broker")) == (200, broker), (broker, answer)
    return answer.json


def until_cancelled(demo, order_id):
    """Cancel an order as soon as its broker's login is proved again; what is refused until then is not sent."""

    def done():
        answer = demo.cancel(order_id)
        assert answer.status in (200, 503), answer
        return answer.status == 200

    demo.until(done, f"the cancel of {order_id} to be taken", LOGIN_SECONDS)
    demo.until_status(order_id, "CANCELLED", SEEN_SECONDS)


def sent(demo, verb, since=0):
    """How many messages of a kind reached each broker."""
    return dict(Counter(each["broker"] for each in demo.ledger(since)["messages"] if each["verb"] == verb))


def traded(demo, broker, answer):
    rows = demo.read("/api/orders/trades", order_id=answer["order_id"], broker=broker)["trades"]
    return sum(row["quantity"] for row in rows)


def positions(demo, shares):
    """What the net view shows of each broker's own share."""
    net = Counter()
    for row in demo.read("/api/portfolio/positions")["net"]:
        net[row["instrument_id"]] += row["quantity"]
    return {code: net[shares[code]["instrument_id"]] for code in TEN}
