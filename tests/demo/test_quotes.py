"""Quotes as a client sees them: one by GET, lists by POST, and what becomes of them when feeds stall and brokers fail."""

import time

import pytest

pytestmark = pytest.mark.long

IDENTITY = (
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type",
)  # fmt: skip
QUOTES_OVER_REST = ("zerodha", "upstox", "dhan", "angelone", "fyers", "kotakneo")


@pytest.fixture(autouse=True)
def _healed(demo):
    """Every test leaves the brokers as it found them."""
    yield
    demo.heal()
    demo.until_ready()


def quote(demo, share, path="quote"):
    return demo.read(f"/api/instruments/{path}", instrument_id=share["instrument_id"])


def post(demo, path, *items):
    answer = demo.ask("POST", f"/api/instruments/{path}", {"instruments": list(items)})
    assert answer.status == 200, answer
    return answer.json["results"]


def named(share):
    return {"instrument_id": share["instrument_id"]}


def test_the_first_read_asks_a_broker_and_the_next_have_the_feeds(demo):
    share = demo.share(10)
    first = quote(demo, share)
    assert (first["source"], first["broker"]) == ("broker", "zerodha")
    assert first["last_price"] > 0

    def fed():
        now = quote(demo, share)
        return now["source"] == "cache" and now["received_at"] > first["received_at"] and now

    now = demo.until(fed, "the feeds to bring it")
    assert (now["stale"], now["stale_since"]) == (False, None)
    assert len(now["depth"]["buy"]) <= 5
    levels = now["depth"]["buy"] + now["depth"]["sell"]
    assert all(level["price"] > 0 and level["quantity"] > 0 for level in levels)
    assert abs(now["unified_at"] - time.time()) < 10


def test_the_three_get_forms_tell_of_one_quote(demo):
    share = demo.share(11)
    whole, price, bar = (quote(demo, share, path) for path in ("quote", "ltp", "ohlc"))
    assert list(price) == [*IDENTITY, "last_price", "last_trade_time", "received_at", "source"]
    assert list(bar) == ["open", "high", "low", "close", "volume"]
    assert {name: whole[name] for name in IDENTITY} == {name: price[name] for name in IDENTITY}
    assert whole["symbol"] == share["symbol"]
    assert list(whole["ohlc"]) == ["open", "high", "low"]


def test_a_list_has_an_entry_for_each_item_in_order(demo):
    shares = [demo.share(number) for number in range(12, 17)]
    unknown = "00000000-0000-4000-8000-000000000000"
    by_fields = {"exchange": "nse", "segment": "equities", "symbol": shares[0]["symbol"].lower()}
    for path, fields in (("ltp", 13), ("ohlc", 5), ("quote", 32)):
        results = post(demo, path, *map(named, shares), {"instrument_id": unknown}, 7, by_fields)
        assert [each["request_index"] for each in results] == list(range(8))
        assert [each["status"] for each in results] == [200] * 5 + [404, 400, 200]
        assert {len(each["data"]) for each in results if each["status"] == 200} == {fields}
        if path != "ohlc":
            ids = [each["data"]["instrument_id"] for each in results if each["status"] == 200]
            assert ids == [share["instrument_id"] for share in (*shares, shares[0])]


def test_a_long_list_is_read_while_others_are_served(demo, together):
    names = [named(share) for share in demo.shares()[60:120]]
    assert len(names) == 60
    lists = [together.submit(post, demo, "quote", *names) for _ in range(2)]
    while not all(each.done() for each in lists):
        assert quote(demo, demo.share(12), "ltp")["last_price"] > 0
    for each in lists:
        assert {entry["status"] for entry in each.result()} == {200}


def test_wrong_bodies_are_refused_whole(demo):
    for body, sentence in (
        ([], "the body must be a JSON object with an instruments list"),
        ({"instruments": []}, "instruments must be a non-empty list"),
    ):
        answer = demo.ask("POST", "/api/instruments/quote", body)
        assert (answer.status, answer.json) == (400, {"error": sentence})


def test_a_stalled_feed_is_covered_by_another_broker(demo):
    share = demo.share(17)
    demo.until(lambda: quote(demo, share)["source"] == "cache", "the feeds to bring it")
    demo.fault("zerodha", "stall_stream")
    low, high = demo.at_price(share, -0.5), demo.at_price(share, 0.5)

    def from_another(price=low):
        demo.move(share["instrument_id"], price, 5)
        now = quote(demo, share)
        fed = now["source"] == "cache" and time.time() - now["received_at"] < 3
        return fed and now["broker"] != "zerodha" and now

    first = demo.until(from_another, "another broker's feed to bring it")
    demo.until(lambda: (now := from_another(high)) and now["received_at"] > first["received_at"], "its next one")


def held(demo):
    """The instruments that accounts hold: their quotes are there before anybody asks."""
    ledger = demo.ledger()
    rows = [row for kind in ("positions", "holdings") for own in ledger[kind].values() for row in own]
    return {row["instrument_id"] for row in rows}


def test_a_broker_that_is_down_is_passed_over_and_all_of_them_down_are_named(demo):
    known = held(demo)
    one, other, third = [share for share in demo.shares() if share["instrument_id"] not in known][-3:]
    demo.fault("zerodha", "refuse_connections")
    fetched = quote(demo, one)
    assert (fetched["source"], fetched["broker"]) == ("broker", "upstox")
    demo.fault("all", "http_500")
    answer = demo.ask("GET", "/api/instruments/ltp", instrument_id=other["instrument_id"])
    assert answer.status == 503, answer
    sentence = answer.json["error"]
    assert sentence.startswith("no recent quote is cached, and every broker failed - zerodha: ")
    reasons = sentence.partition(" - ")[2].split("; ")
    assert tuple(reason.partition(":")[0] for reason in reasons) == QUOTES_OVER_REST
    (entry,) = post(demo, "ltp", named(third))
    assert (entry["status"], entry["error"].partition(" - ")[0]) == (503, sentence.partition(" - ")[0])


def test_quotes_are_there_at_once_after_a_kill(demo):
    share = demo.share(17)
    demo.until(lambda: quote(demo, share)["source"] == "cache", "the feeds to bring it")
    before = quote(demo, share)
    later = lambda: quote(demo, share)["received_at"] > before["received_at"] + 3  # noqa: E731
    demo.until(later, "the feeds to go on: quotes are written once a second")
    demo.kill()
    demo.start()
    after = quote(demo, share)
    assert after["source"] == "cache"
    assert after["received_at"] >= before["received_at"]
