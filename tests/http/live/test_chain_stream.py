"""Option chains in the stream: a snapshot, then changes, at most two a second; whatever is lost, the client knows the chain in the end."""

import itertools
from datetime import date

import attrs
import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.chain.chains import Chains
from onebroker.actors.chain.contracts import ChainName
from onebroker.actors.chain.documents import Cell, Chain, Forward, Row
from onebroker.actors.chain.totals import totals
from onebroker.brokers.records import Tick
from onebroker.config.calendars import always_open
from onebroker.config.instruments import option
from onebroker.config.messages import instruments as texts
from onebroker.config.refusal import Refusal
from onebroker.http.live.chain_board import ChainBoard
from onebroker.http.live.client_stream import ClientStream
from tests.http.instruments.conftest import call, future, snapshot_of
from tests.http.live.streaming import Server
from tests.support.further import searched

NAME = ChainName(exchange="nse", underlying_symbol="NIFTY", expiry_date="2026-12-29", segment=None, strikes=20)
STRIKES = (100.0, 110.0, 120.0, 130.0)


def chain(prices, *, now=0.0, forward=None):
    """A chain with these last prices of calls by strike."""
    rows = [
        Row(strike_price=k, ce=Cell(instrument_id=str(k), last_price=prices[k], age_seconds=now), pe=None)
        for k in sorted(prices)
    ]
    return Chain(
        mapping_date="2026-11-25", exchange="nse", segment="nse_equity_index_options", underlying_symbol="NIFTY",
        expiry_date="2026-12-29", strikes_listed=9, as_of=now, market_open=True, expires_at=9e9, days_to_expiry=1.0, rate=0.0,
        forward=Forward(price=forward, source=None, instrument_id=None, reason="x"), totals=totals(rows, forward, {}), rows=rows,
    )  # fmt: skip


class Client:
    """What a client makes of its messages, by docs/stream.md."""

    def __init__(self):
        self.seq = 0
        self.kinds = []
        self.prices = None
        self.forward = None

    def hear(self, raw):
        message = msgspec.json.decode(raw)
        assert message["seq"] == self.seq + 1
        self.seq += 1
        if message["type"] != "chain":
            return
        self.kinds.append("error" if "error" in message else "snapshot" if message.get("snapshot") else "change")
        if "error" in message:
            self.prices, self.forward = None, None
            return
        if message.get("snapshot"):
            self.prices = {}
        assert self.prices is not None, "a change before a snapshot"
        self.prices |= {row["strike_price"]: row["ce"]["last_price"] for row in message["rows"]}
        self.prices = {k: price for k, price in self.prices.items() if k in message["shown"]}
        self.forward = message["forward"]["price"]


def hear_all(stream, client, now):
    while (message := stream.next_message(now)) is not None:
        client.hear(message)


@pytest.fixture
def boards():
    return Server().boards


def test_a_snapshot_comes_first_and_then_only_the_strikes_that_changed(boards):
    stream, client = ClientStream("s", boards), Client()
    stream.subscribe_chain(NAME)
    assert stream.next_message(0.0) is None
    boards.chains.put(NAME, chain(dict.fromkeys(STRIKES, 5.0)))
    hear_all(stream, client, 0.0)
    boards.chains.put(NAME, chain(dict.fromkeys(STRIKES, 5.0) | {110.0: 6.0}, now=7.0))
    message = msgspec.json.decode(stream.next_message(1.0))
    assert [row["strike_price"] for row in message["rows"]] == [110.0]
    assert (message["shown"], message.get("snapshot")) == (list(STRIKES), None)


def test_age_alone_changes_nothing(boards):
    stream, client = ClientStream("s", boards), Client()
    stream.subscribe_chain(NAME)
    for now in range(5):
        boards.chains.put(NAME, chain(dict.fromkeys(STRIKES, 5.0), now=float(now)))
        hear_all(stream, client, float(now))
    assert client.kinds == ["snapshot"]


def test_a_chain_leaves_at_most_twice_a_second(boards):
    stream, client = ClientStream("s", boards), Client()
    stream.subscribe_chain(NAME)
    for tenth in range(100):
        boards.chains.put(NAME, chain({100.0: float(tenth + 1)}))
        hear_all(stream, client, tenth / 10)
    assert 18 <= len(client.kinds) <= 20
    hear_all(stream, client, 99.0)
    assert client.prices == {100.0: 100.0}


def test_a_client_that_joins_late_gets_what_is_shown_and_an_end_frees_the_board(boards):
    first, second, client = ClientStream("a", boards), ClientStream("b", boards), Client()
    first.subscribe_chain(NAME)
    boards.chains.put(NAME, chain({100.0: 1.0}))
    boards.chains.put(NAME, chain({110.0: 2.0}))
    second.subscribe_chain(NAME)
    hear_all(second, client, 0.0)
    assert (client.kinds, client.prices) == (["snapshot"], {110.0: 2.0})
    assert second.subscriptions()["chain"] == [
        {"exchange": "nse", "underlying_symbol": "NIFTY", "expiry_date": "2026-12-29", "segment": None, "strikes": 20}
    ]
    first.close()
    assert len(boards.chains) == 1
    second.close()
    assert len(boards.chains) == 0


def test_a_stream_takes_ten_chains(boards):
    stream = ClientStream("s", boards)
    for number in range(10):
        stream.subscribe_chain(attrs.evolve(NAME, strikes=number + 1))
    stream.subscribe_chain(attrs.evolve(NAME, strikes=1))
    with pytest.raises(Refusal, match="a stream carries at most 10 option chains"):
        stream.subscribe_chain(attrs.evolve(NAME, strikes=11))


PRICES = st.dictionaries(st.sampled_from(STRIKES), st.integers(1, 3).map(float), min_size=1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), PRICES, st.none() | st.integers(1, 3).map(float)),
        st.just(("refuse",)), st.just(("hear",)), st.just(("hear one",)), st.tuples(st.just("lose"), st.integers(0, 4)),
    ),
    max_size=40,
)  # fmt: skip


@searched(200, 3000)
@given(STEPS)
def test_whatever_is_lost_the_client_knows_the_chain_in_the_end(steps):
    boards = Server().boards
    stream, client, heard, now = ClientStream("s", boards), Client(), [], 0.0
    stream.subscribe_chain(NAME)
    truth = None
    for step in steps:
        now += 1.0
        match step:
            case ("put", prices, forward):
                truth = (prices, forward)
                boards.chains.put(NAME, chain(prices, forward=forward))
            case ("refuse",):
                truth = (None, None)
                boards.chains.refuse(NAME, Refusal(404, "not listed"))
            case ("hear",) | ("hear one",):
                while (message := stream.next_message(now)) is not None:
                    heard.append(message)
                    if step == ("hear one",):
                        break
            case ("lose", count):  # the last messages did not arrive; the connection comes again
                del heard[max(0, len(heard) - count) :]
                stream.resume(len(heard))
    now += 1.0
    while (message := stream.next_message(now)) is not None:
        heard.append(message)
    for message in heard:
        client.hear(message)
    assert truth is None or (client.prices, client.forward) == truth


# Over what actors publish


@pytest.fixture(scope="module")
def mapped():
    day = date(2026, 11, 20)
    kinds = itertools.product(range(25_000, 25_500, 50), ("CE", "PE"))
    options = [
        call("NIFTY", strike, segment="equity_index_options", option_type=kind, expiry_date="2026-12-29")
        for strike, kind in kinds
    ]
    return snapshot_of(
        day, zerodha=[future("NIFTY", segment="equity_index_futures", expiry_date="2026-12-29"), *options]
    )


ASK = {"subscribe": "chain", "exchange": "nse", "underlying_symbol": "nifty", "expiry_date": "2026-12-29", "strikes": 4}


@pytest.fixture
async def chained(live, mapped):
    """The stream with option chains."""
    live.sources.catalogue.set(CatalogueState(latest=mapped, published_today=True, reason=""))
    sources = live.sources
    chains = Chains(
        quotes=sources.quotes, catalogue=sources.catalogue, calendar=always_open(), clock=live.clock, history=None
    )
    return await live.with_chains(chains)


def tick(live, strike, kind, price):
    identity = option("nse", "equity_index_options", "NIFTY", date(2026, 12, 29), strike, kind)
    assert live.book.take(
        identity.instrument_id, "zerodha", Tick(broker_token="1", last_price=price), live.clock.epoch()
    )


async def test_a_chain_is_followed_from_its_snapshot_to_its_changes(chained, autojump_clock):
    live = chained
    async with live.talk() as wire:
        told = await wire.ask(ASK | {"id": 3}, "subscribed")
        assert (told["id"], told["channel"], told["underlying_symbol"], told["strikes"]) == (3, "chain", "NIFTY", 4)
        first = await wire.hear_kind("chain")
        assert first["snapshot"]
        assert (
            first["shown"] == [row["strike_price"] for row in first["rows"]] == [25_150.0, 25_200.0, 25_250.0, 25_300.0]
        )
        await trio.sleep(1)
        followed = set(live.book.followers)
        assert {row["ce"]["instrument_id"] for row in first["rows"]} < followed
        tick(live, 25_200.0, "CE", 300.0)
        tick(live, 25_200.0, "PE", 260.0)
        change = await wire.hear_kind("chain")
        while change["forward"]["price"] is None:
            change = await wire.hear_kind("chain")
        assert "snapshot" not in change
        assert (change["forward"]["source"], change["forward"]["price"]) == ("parity", 25_240.0)
        row = next(row for row in change["rows"] if row["strike_price"] == 25_200.0)
        assert row["ce"]["last_price"] == 300.0
        assert row["ce"]["implied_volatility"] > 0


async def test_quotes_that_become_too_old_leave_the_chain_without_a_new_tick(chained, autojump_clock):
    live = chained
    tick(live, 25_200.0, "CE", 300.0)
    async with live.talk() as wire:
        await wire.say(ASK)
        first = await wire.hear_kind("chain")
        assert next(row for row in first["rows"] if row["strike_price"] == 25_200.0)["ce"]["last_price"] == 300.0
        began = trio.current_time()
        change = await wire.hear_kind("chain")
        assert 290 < trio.current_time() - began < 310
        assert [row["ce"]["last_price"] for row in change["rows"]] == [None]


async def test_a_chain_that_is_mapped_no_more_is_told_in_the_words_of_the_route(chained, autojump_clock):
    live = chained
    async with live.talk() as wire:
        await wire.say(ASK)
        await wire.hear_kind("chain")
        other = snapshot_of(date(2026, 11, 21), zerodha=[call("BANKNIFTY", 25_000.0, segment="equity_index_options")])
        live.sources.catalogue.set(CatalogueState(latest=other, published_today=True, reason=""))
        told = await wire.hear_kind("chain")
        assert (told["status"], told["snapshot"], told["underlying_symbol"]) == (404, True, "NIFTY")
        assert told["error"] == texts.no_options("NIFTY", "nse", "2026-12-29", "2026-11-21")


async def test_the_end_of_a_subscription_ends_the_following(chained, autojump_clock):
    live = chained
    async with live.talk() as wire:
        await wire.say(ASK)
        await wire.hear_kind("chain")
        told = await wire.ask({"unsubscribe": "chain"}, "unsubscribed")
        assert [one["underlying_symbol"] for one in told["chains"]] == ["NIFTY"]
        await trio.sleep(6)
        assert set(live.book.followers) == set()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"underlying_symbol": "no"}, "no options on NO that expire on 2026-12-29 are mapped at nse on 2026-11-20"),
        ({"exchange": None}, "exchange is required"), ({"strikes": 500}, "strikes must be between 1 and 200"),
        ({"mode": "ltp"}, "mode is not a part of this message"), ({"expiry_date": []}, "expiry_date must be text, a number or true or false"),
    ],
)  # fmt: skip
async def test_a_wrong_chain_is_refused_in_the_words_of_the_route(chained, autojump_clock, change, sentence):
    async with chained.talk() as wire:
        told = await wire.ask(ASK | change, "error")
        assert told["error"] == sentence


def test_an_unwatched_chain_is_not_kept():
    board = ChainBoard()
    board.put(NAME, chain({100.0: 1.0}))
    board.refuse(NAME, Refusal(404, "x"))
    assert list(board) == []
