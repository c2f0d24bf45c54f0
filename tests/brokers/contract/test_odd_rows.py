"""A row of an answer that is no JSON object costs itself, at every broker and in every read.

The codecs read what the dialects answered, with one element put into one list of one answer. The answers are those of the calls that
the codecs make after the spoiled one, as far as they are the same calls.
"""

import contextlib
from datetime import date

import msgspec
import pytest
import trio
import trio.testing

from onebroker.actors.sessions.pollers import codec_calls
from onebroker.brokers.broker import TokenQuestion
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import OddRows
from onebroker.brokers.fivepaisa import books as fivepaisa_books
from onebroker.brokers.fivepaisa import by_token as fivepaisa
from onebroker.brokers.fyers import portfolio as fyers
from onebroker.brokers.registry import CODES, build_registry
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.config.vocabulary import Side
from tests.support.every_case import every_case
from tests.support.ten_accounts import MONDAY_TEN, Ten, Trading, markets, snapshot

ODD = {"null": None, "number": 7, "text": "x", "list": [], "flag": True}
READS = ("orders", "trades", "positions", "holdings", "candles")
BROKERS = build_registry()
HELPERS = {
    ("angelone", "trades", 1): "the order book, for the tokens that trades lack",
    ("fivepaisa", "trades", 1): "the order book, for the order ids that trades lack",
    ("kotakneo", "trades", 1): "the order book, for the tokens that trades lack",
    ("kotakneo", "positions", 1): "the holdings, for the cost of carried shares",
}
"""Answers of which an odd row is not told in this read: it is not about what is read, and its own read tells it."""


class Told:
    """What one broker answers to one read, and what its codec makes of it."""

    def __init__(self, calls, parse):
        self._calls, self._parse = calls, parse
        self.answers = []

    async def ask(self, ten):
        async for answer in self._through(ten):
            self.answers.append(answer)
        self.good = self.read(self.answers)
        return self

    async def _through(self, ten):
        flow = self._calls()
        with contextlib.suppress(StopIteration):
            request = next(flow)
            while True:
                answer = await ten.transport.send(request.leaving(ten.clock.now()), 10)
                yield answer
                request = flow.send(answer)

    def again(self, number, body):
        """Return the rows of the read with another body of one answer; what is asked after it is answered as before."""
        answers = [*self.answers]
        answers[number] = WireResponse(status=answers[number].status, body=body, headers=answers[number].headers)
        flow, asked = self._calls(), []
        with contextlib.suppress(StopIteration):
            next(flow)
            for answer in answers:
                asked.append(answer)
                flow.send(answer)
        assert len(asked) == len(answers), "the odd row changes what is asked"
        return self.read(answers)

    def read(self, answers):
        rows = self._parse(answers)
        return list(rows.values()) if isinstance(rows, dict) else rows


@pytest.fixture
def told():
    """(code, read) -> Told, of accounts that have traded."""
    share = markets()[0]

    async def ask():
        ten, found = Ten(), {}
        await ten.log_in()
        trading = Trading(ten)
        for code in CODES:
            trading.take(code, 0, Side.BUY, False, 3)
            trading.place(code, 1, Side.BUY, -20, 1)
        await trio.sleep(60)
        for code, service in ten.services.items():
            broker, access = service.broker, ten.access[code]
            listing, listings = share.listings[code], snapshot().listings(code)
            for read, (requests, parse) in codec_calls(broker).items():
                found[code, read] = Told(
                    lambda requests=requests, access=access: requests(access, MONDAY_TEN),
                    lambda answers, parse=parse, listings=listings: parse(answers, listings),
                )
            if broker.candles is not None:
                found[code, "candles"] = Told(
                    lambda codec=broker.candles, access=access, listing=listing: one_by_one(
                        codec.candle_requests(access, listing, "day", date(2026, 11, 2), date(2026, 11, 20))
                    ),
                    lambda answers, codec=broker.candles, listing=listing: codec.parse_candles(answers, listing),
                )
        for one in found.values():
            await one.ask(ten)
            await trio.sleep(5)
        return found

    return trio.run(ask, clock=trio.testing.MockClock(autojump_threshold=0))


def one_by_one(requests):
    for request in requests:
        _ = yield request


def row_lists(content):
    """Yield every outermost list of objects in an answer, or of the rows of candles (Shoonya's are objects written as texts)."""
    if isinstance(content, list):
        if content and all(isinstance(one, dict | list) or str(one).startswith("{") for one in content):
            yield content
    elif isinstance(content, dict):
        for one in content.values():
            yield from row_lists(one)


def spoiled(body, odd, place):
    """Yield an answer once for each of its lists, with the odd element at the front of it, or behind it."""
    for number, _ in enumerate(row_lists(msgspec.json.decode(body))):
        content = msgspec.json.decode(body)
        rows = [*row_lists(content)][number]
        rows.insert(0 if place == "front" else len(rows), odd)
        yield msgspec.json.encode(content)


@every_case("place", ["front", "behind"])
@every_case("odd", ODD)
@every_case("read", READS)
@every_case("code", CODES)
def test_an_odd_row_costs_itself(told, code, read, odd, place):
    if (code, read) == ("dhan", "candles"):
        return  # columns, no rows
    one = told[code, read]
    assert one.good
    tried = 0
    for number, answer in enumerate(one.answers):
        for body in spoiled(answer.body, ODD[odd], place):
            tried += 1
            if (code, read, number) in HELPERS:
                assert one.again(number, body) == one.good
                continue
            with pytest.raises(OddRows, match=r"^1 of [0-9]+ rows could not be read: row [0-9]+: ") as error:
                one.again(number, body)
            assert sorted(error.value.readable, key=repr) == sorted(one.good, key=repr)
    assert tried, "no list was spoiled"


# --- quotes --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def quoted():
    """code -> the answer to a question for quotes of two shares, or of one where no more are taken, and the listings."""

    async def ask():
        ten, found = Ten(), {}
        await ten.log_in()
        for code, service in ten.services.items():
            codec = service.broker.quotes
            listings = [share.listings[code] for share in markets()[: min(2, codec.most_per_call)]]
            request = codec.quote_request(ten.access[code], listings)
            found[code] = (await ten.transport.send(request.leaving(ten.clock.now()), 10), listings)
        return found

    return trio.run(ask, clock=trio.testing.MockClock(autojump_threshold=0))


def with_odd_quote(code, content, odd):
    """Put the odd element in the place of the first quote: quotes stand in a list, or under the names of their instruments."""
    places = {
        "upstox": lambda: content["data"],
        "zerodha": lambda: content["data"],
        "dhan": lambda: content["data"]["NSE_EQ"],
    }
    where = places.get(code, lambda: next(row_lists(content)))()
    where[next(iter(where)) if isinstance(where, dict) else 0] = odd
    return msgspec.json.encode(content)


UNKNOWN = {("zerodha", "null"), ("dhan", "null")}
"""A quote of null says that the broker has none."""
ONE_QUOTE = ("groww", "shoonya")
"""Their answer is one quote, and no list."""


@every_case("odd", ODD)
@every_case("code", [code for code in CODES if code not in ONE_QUOTE])
def test_an_odd_quote_costs_itself(quoted, code, odd):
    answer, listings = quoted[code]
    codec = BROKERS[code].quotes
    good = codec.parse_quotes(answer, listings)
    assert len(good) == len(listings)
    body = with_odd_quote(code, msgspec.json.decode(answer.body), ODD[odd])
    spoiled_answer = WireResponse(status=answer.status, body=body, headers=answer.headers)
    if (code, odd) in UNKNOWN:
        left = codec.parse_quotes(spoiled_answer, listings)
        assert len(left) == len(good) - 1
        return
    with pytest.raises(OddRows, match=r"^1 of [0-9]+ rows could not be read: row 1: ") as error:
        codec.parse_quotes(spoiled_answer, listings)
    assert len(error.value.readable) == len(good) - 1
    assert all(good[tick.broker_token] == tick for tick in error.value.readable)


def test_a_level_that_cannot_be_read_costs_its_quote_and_is_no_gap_in_the_depth(quoted):
    answer, listings = quoted["zerodha"]
    codec = BROKERS["zerodha"].quotes
    content = msgspec.json.decode(answer.body)
    first = next(iter(content["data"].values()))
    first["depth"]["buy"][1] = None
    with pytest.raises(OddRows, match="row 1: a row that is not an object but null") as error:
        codec.parse_quotes(WireResponse(status=200, body=msgspec.json.encode(content)), listings)
    assert [tick.broker_token for tick in error.value.readable] == [listings[1].broker_token]


def test_dhan_s_candles_are_columns_of_which_an_odd_figure_costs_one_candle():
    codec = BROKERS["dhan"].candles
    listing = markets()[0].listings["dhan"]
    columns = {name: [100.0, 101.0, 102.0] for name in ("open", "high", "low", "close", "volume")}
    columns["timestamp"] = [1_790_000_000, 1_790_086_400, 1_790_172_800]
    columns["close"][1] = "x"
    with pytest.raises(OddRows, match=r"^1 of 3 rows could not be read: row 2: a candle without its prices") as error:
        codec.parse_candles([WireResponse(status=200, body=msgspec.json.encode(columns))], listing)
    assert [candle.open for candle in error.value.readable] == [100.0, 102.0]


# --- who takes odd rows for rows ------------------------------------------------------------------------------------------


def test_an_odd_row_is_told_by_whoever_looks_into_it():
    odd, other = fields.rows_of([None, 7])
    looks = (
        lambda: odd.get("a"),
        lambda: odd["a"],
        lambda: "a" in odd,
        lambda: {**odd},
        lambda: bool(odd),
        lambda: [*odd],
    )
    for look in looks:
        with pytest.raises(BadAnswer, match="null"):
            look()
    assert odd == odd
    assert odd != other
    assert fields.readable_rows([odd, {}, other]) == [{}]


def test_the_lines_of_fyers_funds_are_one_record_that_an_odd_line_costs():
    lines = [{"id": 10, "equityAmount": 5, "commodityAmount": 0}, None]
    with pytest.raises(BadAnswer, match="null"):
        fyers.parse_funds([WireResponse(status=200, body=msgspec.json.encode({"s": "ok", "fund_limit": lines}))])


def test_an_order_looked_for_by_token_is_not_gone_because_of_a_row_that_cannot_be_read():
    question = TokenQuestion(token="obaaaaaaaaaaaa", instrument_token="N|C|1660", segment="nse_equities")
    body = {"head": {"status": "0"}, "body": {"Status": 0, "OrdStatusResLst": [None]}}
    with pytest.raises(BadAnswer, match="without a row that can be read"):
        fivepaisa.parse_token(WireResponse(status=200, body=msgspec.json.encode(body)), question)


def test_a_trade_whose_order_may_be_in_the_odd_row_is_not_given_to_another_order(request):
    recorded = request.path.parents[2] / "data" / "fivepaisa"
    trades, orders = (
        msgspec.json.decode((recorded / f"{name}.json").read_bytes()) for name in ("trade_book", "order_book")
    )
    orders["body"]["OrderBookDetail"][0] = None
    with pytest.raises(OddRows, match="a trade of an order that cannot be told"):
        fivepaisa_books.parse_trades(
            [WireResponse(status=200, body=msgspec.json.encode(one)) for one in (trades, orders)], {}
        )
