"""What a client says and hears, from its token to its end, without sockets and on the mocked clock."""

from contextlib import AsyncExitStack
from datetime import timedelta

import attrs
import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.engine.orders.parent_records import ParentState
from onebroker.actors.store.interface import StoreError
from onebroker.actors.token.messages import Connect, Disconnect
from onebroker.config.messages import session
from onebroker.http.live.board_writer import StreamFeeds
from onebroker.http.live.open_streams import KEPT_SECONDS, Streams
from onebroker.http.routes import stream_endpoint

BAD = [
    ("[1]", "a message must be a JSON object in a text frame"),
    ("{", "a message must be a JSON object in a text frame"),
    (b'{"subscribe": "orders"}', "a message must be a JSON object in a text frame"),
    ("[" * 5000, "a message must be a JSON object in a text frame"),
    ({}, "a message must hold exactly one of subscribe, unsubscribe, resume and access-token"),
    ({"subscribe": "orders", "resume": 1}, "a message must hold exactly one of subscribe, unsubscribe, resume and access-token"),
    ({"subscribe": "trades"}, "the channel must be one of quotes, orders, parents, documents"),
    ({"subscribe": ["orders"]}, "the channel must be one of quotes, orders, parents, documents"),
    ({"subscribe": "orders", "since": 1}, "since is not a part of this message"),
    ({"subscribe": "orders", "id": {}}, "id must be text or a number"),
    ({"subscribe": "quotes", "instruments": []}, "instruments must be a non-empty list"),
    ({"subscribe": "quotes", "instruments": [{}], "mode": "full"}, "mode must be one of ltp, quote, depth"),
    ({"subscribe": "quotes", "instruments": [{}], "mode": []}, "mode must be one of ltp, quote, depth"),
    ({"subscribe": "documents"}, "documents must be a non-empty list of orders, trades, positions, holdings, funds"),
    ({"subscribe": "documents", "documents": [["funds"]]}, "documents must be a non-empty list of"),
    ({"subscribe": "documents", "documents": ["funds"], "ages": 1}, "ages must be true or false"),
    ({"unsubscribe": "documents", "documents": "funds"}, "documents must be a non-empty list of"),
    ({"resume": "1", "stream": "x"}, "resume must be the seq of the last message received, with stream"),
    ({"resume": 1}, "resume must be the seq of the last message received, with stream"),
    ({"resume": True, "stream": "x"}, "resume must be the seq of the last message received, with stream"),
    ({"resume": 1, "stream": "x"}, "this stream is not kept any more"),
    ({"access-token": "x"}, "the access token was taken already"),
]  # fmt: skip


# The token


async def test_a_good_token_in_the_header_begins_a_stream(live, autojump_clock):
    async with live.talk() as wire:
        started = await wire.hear()
        assert (started["type"], started["seq"], started["keep_seconds"]) == ("started", 1, 60.0)
        assert len(started["stream"]) == 36


async def test_a_good_token_in_the_first_message_begins_a_stream(live, autojump_clock):
    async with live.talk(header=False) as wire:
        await wire.say({"access-token": live.token})
        assert (await wire.hear())["type"] == "started"


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ({"access-token": "wrong"}, session.INVALID_ACCESS_TOKEN),
        ({"access-token": None}, session.INVALID_ACCESS_TOKEN),
        ({"access-token": "\u20b9"}, session.INVALID_ACCESS_TOKEN),
        ({"subscribe": "orders"}, session.ACCESS_TOKEN_REQUIRED),
        ("nonsense", session.ACCESS_TOKEN_REQUIRED),
    ],
)
async def test_any_other_first_message_closes_with_4401(live, autojump_clock, first, reason):
    async with live.talk(header=False) as wire:
        await wire.say(first)
        await wire.over.wait()
    assert wire.closed == stream_endpoint.Close(4401, reason)


@pytest.mark.parametrize("given", ["", "wrong"])
async def test_a_wrong_token_in_the_header_closes_with_4401_and_is_told(live, house, autojump_clock, given):
    async with live.talk(token=given) as wire:
        await wire.over.wait()
    assert wire.closed == stream_endpoint.Close(4401, session.INVALID_ACCESS_TOKEN)
    assert [event.why for event in house.heard] == ["wrong access token"]


async def test_silence_without_a_token_is_closed_with_4401_after_five_seconds(live, autojump_clock):
    began = trio.current_time()
    async with live.talk(header=False) as wire:
        await wire.over.wait()
    assert trio.current_time() - began == pytest.approx(5.0)
    assert wire.closed == stream_endpoint.Close(4401, session.ACCESS_TOKEN_REQUIRED)


async def test_a_disconnect_closes_every_stream_with_4401_and_refuses_nobody(live, house, autojump_clock):
    async with live.talk() as one, live.talk() as other:
        await one.hear(), await other.hear()
        await live.services.token_actor.ask(lambda reply: Disconnect(token=live.token.encode(), reply=reply), 5)
        await one.over.wait()
        await other.over.wait()
    assert one.closed == other.closed == stream_endpoint.Close(4401, session.INVALID_ACCESS_TOKEN)
    assert house.heard == []


async def test_a_renewed_token_closes_the_stream_of_the_old_one_which_the_new_one_may_resume(live, autojump_clock):
    await live.stop_feeds()  # a day of them takes a minute
    async with live.talk() as wire:
        started = await wire.hear()
        await wire.ask({"subscribe": "orders"}, "subscribed")
        await trio.sleep(86_400 - 10)
        later = await live.services.token_actor.ask(lambda reply: Connect(reply=reply), 5)
        await wire.over.wait()
    assert later.token != live.token
    assert wire.closed == stream_endpoint.Close(4401, session.INVALID_ACCESS_TOKEN)
    async with live.talk(token=later.token) as again:
        await again.say({"resume": wire.heard[-1]["seq"], "stream": started["stream"]})
        assert (await again.hear())["type"] == "started"
        again.heard = wire.heard[:]
        assert (await again.hear())["type"] == "resumed"


async def test_a_token_that_runs_out_closes_the_stream_with_4401_at_that_moment(live, autojump_clock):
    await live.stop_feeds()  # a day of them takes a minute
    expires_at = live.services.token.value.expires_at
    async with live.talk() as wire:
        await wire.hear()
        await wire.over.wait()
    assert wire.closed == stream_endpoint.Close(4401, session.ACCESS_TOKEN_EXPIRED)
    assert timedelta(0) <= live.clock.now() - expires_at < timedelta(seconds=0.1)


async def test_while_the_stored_token_is_not_known_the_client_is_asked_to_come_back(live, autojump_clock):
    live.services = attrs.evolve(live.services, token=type(live.services.token)(None))
    async with live.talk() as wire:
        await wire.over.wait()
    assert wire.closed == stream_endpoint.Close(1013, session.TOKEN_NOT_READ_YET)


async def test_the_stop_of_the_service_closes_with_1001(live, autojump_clock):
    async with live.talk() as wire:
        await wire.hear()
        live.services.live.stopping.set()
        await wire.over.wait()
    assert wire.closed == stream_endpoint.Close(1001, "the service is stopping")


async def test_more_connections_than_are_served_are_closed_with_1013(live, autojump_clock):
    few = Streams(live.services.live.streams.boards, most_connections=1)
    live.services = attrs.evolve(live.services, live=attrs.evolve(live.services.live, streams=few))
    async with live.talk() as first:
        await first.hear()
        async with live.talk() as second:
            await second.over.wait()
        assert second.closed is not None
        assert second.closed.code == 1013
        few = Streams(few.boards, most_streams=0)
        live.services = attrs.evolve(live.services, live=attrs.evolve(live.services.live, streams=few))
        async with live.talk() as third:
            await third.over.wait()
        assert third.closed is not None
        assert third.closed.code == 1013


async def test_strangers_keep_nobody_with_the_token_out(live, autojump_clock):
    few = Streams(live.services.live.streams.boards, most_connections=1, most_strangers=2)
    live.services = attrs.evolve(live.services, live=attrs.evolve(live.services.live, streams=few))
    async with AsyncExitStack() as stack:
        strangers = []
        for _ in range(3):
            strangers.append(await stack.enter_async_context(live.talk(header=False)))
            await trio.testing.wait_all_tasks_blocked()
        assert [stranger.closed and stranger.closed.code for stranger in strangers] == [1013, None, None]
        caller = await stack.enter_async_context(live.talk())
        assert (await caller.hear())["type"] == "started"
        assert [stranger.closed and stranger.closed.code for stranger in strangers] == [1013, None, None]
        await strangers[1].say({"access-token": live.token})
        await strangers[1].over.wait()  # the token is right; one stream is all that is served
        assert strangers[1].closed.code == 1013
        await strangers[2].over.wait()
        assert strangers[2].closed.code == 4401


# Messages


@pytest.mark.parametrize(("message", "sentence"), BAD)
async def test_a_bad_message_is_answered_and_the_client_stays(live, autojump_clock, message, sentence):
    async with live.talk() as wire:
        error = await wire.ask(message, "error")
        assert sentence in error["error"]
        assert error["status"] in (400, 404, 409)
        assert (await wire.ask({"subscribe": "orders", "id": 7}, "subscribed"))["id"] == 7


async def test_each_instrument_of_a_list_is_answered_for_itself_in_the_words_of_the_rest_routes(live, autojump_clock):
    items = [
        {"instrument_id": live.shares["INFY"].instrument_id},
        {"exchange": "nse", "segment": "equities", "symbol": "tcs"},
        {"exchange": "nse", "segment": "equities", "symbol": "NONE"},
        {"instrument_id": "x"},
        {},
        "INFY",
        {"instrument_id": ["x"]},
    ]
    async with live.talk() as wire:
        told = await wire.ask({"subscribe": "quotes", "mode": "ltp", "instruments": items, "id": "a"}, "subscribed")
        assert (told["channel"], told["mode"], told["id"]) == ("quotes", "ltp", "a")
        results = told["results"]
        assert [one["request_index"] for one in results] == list(range(7))
        assert [one["status"] for one in results] == [200, 200, 404, 400, 400, 400, 400]
        assert [one.get("instrument_id") for one in results[:2]] == [
            live.shares[symbol].instrument_id for symbol in ("INFY", "TCS")
        ]
        assert [one["error"] for one in results[2:]] == [
            "no instrument nse nse_equities NONE is mapped on 2026-11-20",
            "instrument_id must be a UUID",
            "give instrument_id, or exchange, segment and the identity fields",
            "each entry of instruments must be an object",
            "instrument_id must be text, a number or true or false",
        ]
        assert len((await wire.hear_kind("quotes"))["quotes"]) == 2


async def test_a_client_that_asks_without_reading_is_closed(live, autojump_clock, monkeypatch):
    monkeypatch.setattr("onebroker.http.live.client_stream.MOST_ANSWER_BYTES", 1000)
    async with live.talk() as wire:
        await wire.hear()
        for _ in range(50):
            await wire.say({})
        await wire.over.wait()
    assert wire.closed is not None
    assert wire.closed.code == 4429


# Quotes


async def test_a_quote_comes_as_a_snapshot_then_at_each_change_and_is_followed_in_the_book(live, autojump_clock):
    share = live.shares["INFY"]
    live.tick("INFY", 100.0)
    async with live.talk() as wire:
        name = [{"instrument_id": share.instrument_id}]
        await wire.ask({"subscribe": "quotes", "mode": "quote", "instruments": name}, "subscribed")
        first = await wire.hear()
        assert (first["type"], first["snapshot"], first["quotes"][0]["last_price"]) == ("quotes", True, 100.0)
        assert "depth" not in first["quotes"][0]
        await trio.sleep(1)
        assert list(live.book.followers) == [share.instrument_id]
        live.tick("INFY", 101.0)
        change = await wire.hear()
        assert [one["last_price"] for one in change["quotes"]] == [101.0]
        assert "snapshot" not in change
        ended = await wire.ask({"unsubscribe": "quotes"}, "unsubscribed")
        assert ended["instruments"] == [share.instrument_id]
        await trio.sleep(1)
        assert len(live.book.followers) == 0


async def test_a_quote_that_nothing_renews_is_told_as_stale_when_it_may_not_be_served_any_more(live, autojump_clock):
    live.tick("INFY", 100.0)
    async with live.talk() as wire:
        name = [{"instrument_id": live.shares["INFY"].instrument_id}]
        await wire.ask({"subscribe": "quotes", "instruments": name}, "subscribed")
        fresh = await wire.hear()
        began = live.clock.epoch()
        told = await wire.hear()
        assert 300 <= live.clock.epoch() - began < 303
        assert [one["stale"] for one in (*fresh["quotes"], *told["quotes"])] == [False, True]
        assert "last_price" not in told["quotes"][0]
        live.tick("INFY", 100.0)
        assert [(one["stale"], one["last_price"]) for one in (await wire.hear())["quotes"]] == [(False, 100.0)]


async def test_a_quote_marked_stale_is_told_at_once(live, autojump_clock):
    live.tick("INFY", 100.0)
    share = live.shares["INFY"]
    async with live.talk() as wire:
        name = [{"instrument_id": share.instrument_id}]
        await wire.ask({"subscribe": "quotes", "instruments": name}, "subscribed")
        await wire.hear()
        await trio.sleep(1)
        since = live.clock.epoch()
        live.book.mark_stale((share.instrument_id,), lambda instrument_id, quote: True, since)
        told = await wire.hear()
        assert live.clock.epoch() - since < 0.2
        assert (told["quotes"][0]["stale"], told["quotes"][0]["stale_since"]) == (True, since)


# Orders, parents, documents


async def test_orders_come_as_the_book_then_as_events(live, autojump_clock):
    live.publish_orders(live.order("1", "OPEN"))
    async with live.talk() as wire:
        await wire.ask({"subscribe": "orders"}, "subscribed")
        book = await wire.hear_kind("orders")
        while "orders" not in book:
            book = await wire.hear_kind("orders")
        assert (book["snapshot"], [one["order_id"] for one in book["orders"]]) == (True, ["1"])
        assert {"summary", "as_of"} <= set(book)
        live.publish_orders(live.order("1", "COMPLETE", filled_quantity=1), live.order("2", "OPEN"))
        events = (await wire.hear())["events"]
        assert [(one["event"], one["previous_status"], one["order"]["order_id"]) for one in events] == [
            ("changed", "OPEN", "1"),
            ("new", None, "2"),
        ]
        assert events[0]["order"] == msgspec.to_builtins(live.order("1", "COMPLETE", filled_quantity=1))
        live.publish_orders(live.order("2", "OPEN"))
        (event,) = (await wire.hear())["events"]
        assert (event["event"], event["order"]["order_id"]) == ("gone", "1")


async def test_a_book_that_nobody_writes_any_more_is_told_in_the_words_of_the_route(live, autojump_clock):
    live.publish_orders(live.order("1", "OPEN"))
    await trio.sleep(1)
    async with live.talk() as wire:
        await wire.ask({"subscribe": "orders"}, "subscribed")
        assert "orders" in await wire.hear()
        late = await wire.hear()
        assert (late["type"], late["snapshot"], late["status"]) == ("orders", True, 503)
        assert late["error"].startswith("Orders are out of date: ")
        live.publish_orders(live.order("2", "OPEN"))
        again = await wire.hear()
        assert (again["snapshot"], [one["order_id"] for one in again["orders"]]) == (True, ["2"])


async def test_a_document_is_sent_when_it_says_something_else_not_at_every_beat(live, autojump_clock):
    live.publish("funds", {"summary": {"total": 1}})
    await trio.sleep(1)
    async with live.talk() as wire:
        await wire.ask({"subscribe": "documents", "documents": ["funds", "trades"]}, "subscribed")
        first, second = await wire.hear(), await wire.hear()
        by_name = {one["document"]: one for one in (first, second)}
        assert by_name["funds"]["data"]["summary"] == {"total": 1}
        assert (by_name["trades"]["status"], by_name["trades"]["error"]) == (503, "Trades are not available")
        for _ in range(20):
            live.publish("funds", {"summary": {"total": 1}})
            await trio.sleep(0.5)
        live.publish("funds", {"summary": {"total": 2}})
        told = await wire.hear()
        assert (told["document"], told["data"]["summary"]) == ("funds", {"total": 2})
        late = await wire.hear()
        assert late["error"].startswith("Funds are out of date: ")


async def test_the_ages_of_documents_are_those_of_their_routes(live, autojump_clock):
    live.publish("funds", {"summary": {"total": 1}})
    await trio.sleep(1)
    async with live.talk() as wire:
        asked = {"subscribe": "documents", "documents": ["funds", "trades"], "ages": True}
        assert (await wire.ask(asked, "subscribed"))["ages"] is True
        told = [await wire.hear() for _ in range(3)]
        assert [one["type"] for one in told] == ["document", "document", "ages"]
        for _ in range(3):
            live.publish("funds", {"summary": {"total": 1}})
            await wait_all_tasks_blocked()
            served = live.sources.documents["funds"].value
            ages = await wire.hear()
            assert list(ages["documents"]) == ["funds"], "trades are not served"
            assert ages["documents"]["funds"]["as_of_epoch"] == served.as_of_epoch
            assert ages["documents"]["funds"]["as_of"] == served.as_of
            assert ages["now"] == live.clock.epoch()
        assert (await wire.ask({"subscribe": "documents", "documents": ["funds"]}, "subscribed")).get("ages") is None


async def test_parents_come_as_the_unfinished_ones_then_as_events(live, autojump_clock):
    await live.save(live.parent("p", ParentState.WORKING))
    await trio.sleep(1)
    async with live.talk() as wire:
        await wire.ask({"subscribe": "parents"}, "subscribed")
        shown = await wire.hear()
        assert [one["parent_order_id"] for one in shown["parents"]] == ["p"]
        await live.save(live.parent("q", ParentState.RECEIVED))
        (event,) = (await wire.hear())["events"]
        assert (event["event"], event["previous_state"], event["parent"]["state"]) == ("new", None, "received")
        await live.save(live.parent("p", ParentState.WORKING, updated_at=0.5))  # old news
        await live.save(live.parent("p", ParentState.COMPLETED, updated_at=2.0))
        (event,) = (await wire.hear())["events"]
        assert (event["event"], event["previous_state"], event["parent"]["state"]) == (
            "finished",
            "working",
            "completed",
        )
        again = await wire.ask({"subscribe": "parents"}, "parents")
        assert [one["parent_order_id"] for one in again["parents"]] == ["q"]


async def test_while_the_store_is_away_parents_are_told_so_and_come_back(live, autojump_clock):
    live.store.fail_with(StoreError("connection refused"))
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(StreamFeeds(live.services.live.streams, live.sources).run)
            async with live.talk() as wire:
                await wire.ask({"subscribe": "parents"}, "subscribed")
                told = await wire.hear_kind("parents")
                while "status" not in told:
                    told = await wire.hear_kind("parents")
                assert told["error"].startswith("Redis could not be read: ")
                live.store.come_back()
                while "parents" not in (told := await wire.hear_kind("parents")):
                    pass
            nursery.cancel_scope.cancel()
    finally:
        live.store.come_back()


# Resuming


async def test_a_client_that_comes_back_goes_on_without_a_gap(live, autojump_clock):
    live.tick("INFY", 100.0)
    name = [{"instrument_id": live.shares["INFY"].instrument_id}]
    async with live.talk() as wire:
        started = await wire.hear()
        await wire.ask({"subscribe": "quotes", "instruments": name}, "subscribed")
        await wire.hear_kind("quotes")
    live.tick("INFY", 105.0)
    await trio.sleep(KEPT_SECONDS - 1)
    async with live.talk(header=False) as again:
        again.heard = wire.heard[:]
        await again.say({"access-token": live.token, "resume": wire.heard[-1]["seq"], "stream": started["stream"]})
        resumed = await again.hear()
        assert (resumed["type"], resumed["stream"]) == ("resumed", started["stream"])
        assert resumed["subscriptions"] == {
            "quotes": {name[0]["instrument_id"]: "ltp"},
            "orders": False,
            "parents": False,
            "documents": [],
            "chain": [],
        }
        assert [one["last_price"] for one in (await again.hear())["quotes"]] == [105.0]


async def test_after_too_long_a_new_stream_begins_and_says_so(live, autojump_clock):
    async with live.talk() as wire:
        started = await wire.hear()
        await wire.ask({"subscribe": "orders"}, "subscribed")
    await trio.sleep(KEPT_SECONDS + 2)
    async with live.talk(header=False) as again:
        await again.say({"access-token": live.token, "resume": 2, "stream": started["stream"]})
        fresh = await again.hear()
        assert (fresh["type"], fresh["seq"]) == ("started", 1)
        assert fresh["stream"] != started["stream"]
        assert "subscribe again" in fresh["not_resumed"]


async def test_a_resume_takes_the_stream_from_a_connection_that_still_has_it(live, autojump_clock):
    async with live.talk() as wire, live.talk() as again:
        started = await wire.hear()
        await wire.ask({"subscribe": "orders"}, "subscribed")
        await again.hear()
        await again.say({"resume": wire.heard[-1]["seq"], "stream": started["stream"]})
        again.heard = wire.heard[:]
        assert (await again.hear())["type"] == "resumed"
        await wire.over.wait()
        assert wire.closed is not None
        assert wire.closed.code == 4409
        await wait_all_tasks_blocked()
        assert live.services.live.streams.figures().streams == 1


async def test_a_client_may_resume_the_stream_that_it_has(live, autojump_clock):
    async with live.talk() as wire:
        started = await wire.hear()
        await wire.say({"resume": 1, "stream": started["stream"]})
        assert (await wire.hear())["type"] == "resumed"


async def test_a_resume_after_a_subscription_is_refused(live, autojump_clock):
    async with live.talk() as wire:
        started = await wire.hear()
        await wire.ask({"subscribe": "orders"}, "subscribed")
        error = await wire.ask({"resume": 1, "stream": started["stream"]}, "error")
        assert (error["status"], error["error"]) == (409, "resume comes before any subscription")


async def test_a_crash_of_the_feeds_costs_no_client_its_stream(live, autojump_clock):
    live.publish("funds", {"summary": 1})
    async with live.talk() as wire:
        await wire.ask({"subscribe": "documents", "documents": ["funds"]}, "subscribed")
        await wire.hear_kind("document")
        live.sources.documents["orders"].set("nonsense")  # no document at all: the feeds crash over it
        await trio.sleep(5)
        live.sources.documents["orders"].set(None)
        await trio.sleep(10)
        live.publish("funds", {"summary": 2})
        while (await wire.hear_kind("document")).get("data", {}).get("summary") != 2:
            pass
    assert any("streams" in crash.actor for crash in live.services.crashes())
