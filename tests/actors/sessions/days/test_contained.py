"""What a codec fails at costs that answer: the session stays, orders and cancels go on, and everybody is told at once."""

from types import SimpleNamespace

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.books.shown_positions import shown_lately
from onebroker.actors.portfolio.read_status import read_broker
from onebroker.actors.sessions.messages import FetchQuotes, Watch
from onebroker.brokers.codec.contained import OddRows
from onebroker.brokers.requests import BadAnswer
from onebroker.config.events import ReadFailing, ReadOk
from onebroker.config.vocabulary import OrderStatus, Outcome, ReadStatus

CODE = "zerodha"
SECRET = "enctoken-of-the-account"


class Spoiled:
    """A part of a broker whose named function fails like a codec that meets what it did not foresee, while `failing`."""

    failing = True

    def __init__(self, part, name, error=ZeroDivisionError):
        self._part, self._name, self._error = part, name, error

    def __getattr__(self, name):
        whole = getattr(self._part, name)
        if name != self._name:
            return whole

        def fail(*given, **more):
            if self.failing:
                raise self._error(SECRET)
            return whole(*given, **more)

        return fail


def spoil(day, part, name, error=ZeroDivisionError):
    broker = day.registry[CODE]
    spoiled = Spoiled(getattr(broker, part), name, error)
    day.registry = {**day.registry, CODE: attrs.evolve(broker, **{part: spoiled})}
    return spoiled


def cancel_request(day, order_id):
    handle = day.sessions[CODE]
    view = handle.view.value
    return handle.broker.orders.cancel_request(view.access, view.orders[order_id], day.clock.now())


async def places_and_cancels(day, world):
    """Place at the broker and cancel it again; both must be seen."""
    sent = await world.place(CODE)
    assert sent.answer.outcome is Outcome.ACCEPTED
    view = day.sessions[CODE].view
    await day.until(lambda: sent.answer.order_id in view.value.orders, 5)
    gone = await world.send(CODE, cancel_request(day, sent.answer.order_id))
    assert gone.answer.outcome is Outcome.ACCEPTED
    await day.until(lambda: view.value.orders[sent.answer.order_id].status == OrderStatus.CANCELLED, 5)


@pytest.mark.parametrize("resource", ["positions", "holdings", "funds", "trades"])
async def test_a_book_that_its_codec_fails_at_is_unreadable_at_once_and_orders_go_on(
    day, world, slices, told, resource, caplog, autojump_clock
):
    spoiled = spoil(day, "books" if resource == "trades" else "portfolio", f"parse_{resource}")
    spoiled.failing = False
    async with day.market(), day.service():
        shown = slices(day)
        await day.until(lambda: shown.told[CODE, resource] and shown.last(CODE, resource).error is None, 60)
        spoiled.failing = True
        world.calls.calls.clear()
        handle = day.sessions[CODE]
        # Another answer, so that it is read again; and its cadence is not waited for.
        sent = await world.place(CODE, price=None)
        assert sent.answer.outcome is Outcome.ACCEPTED
        await fill_something(day, world)
        await day.until(lambda: resource in handle.view.value.read_errors, 200)
        held = shown.last(CODE, resource)
        assert read_broker(resource, CODE, held, day.clock.epoch()).status is ReadStatus.UNREADABLE
        assert "ZeroDivisionError at " in handle.view.value.read_errors[resource]
        assert handle.view.value.live
        await places_and_cancels(day, world)
        await trio.sleep(60)
        assert day.crashes.records() == ()
        (failing,) = told(CODE, ReadFailing)  # once, not at each read
        assert failing.read == resource
        assert "ZeroDivisionError at " in failing.words
        assert SECRET not in caplog.text + str(day.heard)
        spoiled.failing = False
        await day.until(lambda: resource not in handle.view.value.read_errors, 200)
        assert read_broker(resource, CODE, shown.last(CODE, resource), day.clock.epoch()).status is ReadStatus.OK
        assert [event.read for event in told(CODE, ReadOk)] == [resource]


async def fill_something(day, world):
    """Have every book say something new: an order that fills at once."""
    share = day.equity(3)
    price = (day.exchange.market(share.instrument_id).last_price * 103 / 100).quantize(1)
    await world.place(CODE, number=3, price=price)


async def test_an_order_row_that_cannot_be_read_hides_neither_the_other_orders_nor_their_fills(
    day, world, slices, caplog, autojump_clock
):
    broker = day.registry[CODE]
    odd = set()

    def parse_orders(answers, listings):
        rows = broker.books.parse_orders(answers, listings)
        readable = [row for row in rows if row.order_id not in odd]
        if len(readable) < len(rows):
            raise OddRows(["row 1: a quantity of 1.5"], len(rows), readable)
        return rows

    books = SimpleNamespace(
        **{name: getattr(broker.books, name) for name in ("order_requests", "trade_requests", "parse_trades")},
        parse_orders=parse_orders,
    )
    silent = Spoiled(broker.feed, "decoder", BadAnswer)  # no order stream: the book alone tells
    day.registry = {**day.registry, CODE: attrs.evolve(broker, books=books, feed=silent)}
    async with day.market(), day.service():
        told, view = slices(day), day.sessions[CODE].view
        stranger = (await world.place(CODE)).answer.order_id
        await day.until(lambda: stranger in view.value.orders)
        odd.add(stranger)
        started = view.value.orders_read_started
        other = (await world.place(CODE, number=1)).answer.order_id
        await day.until(lambda: other in view.value.orders, 10)
        assert "row 1: a quantity of 1.5" in view.value.read_errors["orders"]
        assert told.last(CODE, "orders").rows is None
        await trio.sleep(60)
        assert stranger in view.value.orders  # that no row shows it says nothing
        assert view.value.orders_read_started <= started + 10
        gone = await world.send(CODE, cancel_request(day, other))
        assert gone.answer.outcome is Outcome.ACCEPTED
        await day.until(lambda: view.value.orders[other].status == OrderStatus.CANCELLED, 10)
        odd.clear()
        await day.until(lambda: not view.value.read_errors, 30)
        assert day.crashes.records() == ()


class OddAnswers:
    """Stands between the service and its transport, and puts a null into the answers of `path` while told to."""

    def __init__(self, day, path, spoil):
        self._open, self._path, self._spoil = day.open_transport, path, spoil
        self.spoiling = False
        day.open_transport = self.open_transport

    def open_transport(self):
        self._inner = self._open()
        return self

    async def send(self, request, timeout_seconds):
        answer = await self._inner.send(request, timeout_seconds)
        if not self.spoiling or request.method != "GET" or f"{self._path}?" not in f"{request.url}?":
            return answer
        content = msgspec.json.decode(answer.body)
        self._spoil(content["data"])
        return attrs.evolve(answer, body=msgspec.json.encode(content))

    async def connect(self, address, timeout_seconds):
        return await self._inner.connect(address, timeout_seconds)

    async def __aenter__(self):
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *details):
        await self._inner.__aexit__(*details)


async def test_a_null_among_the_positions_hides_no_other_and_nothing_reads_as_flat(day, slices, autojump_clock):
    answers = OddAnswers(day, "/portfolio/positions", lambda views: views["net"].insert(0, None))
    async with day.market(), day.service():
        told, view = slices(day), day.sessions[CODE].view
        await day.until(lambda: view.value.positions, 60)
        net = {row.position_key for row in view.value.positions if row.view == "net"}
        answers.spoiling = True
        await day.until(lambda: "positions" in view.value.read_errors, 60)
        assert "row 1: a row that is not an object but null" in view.value.read_errors["positions"]
        assert {row.position_key for row in view.value.readable_positions.rows if row.view == "net"} == net
        assert shown_lately(view.value, day.clock.monotonic()).whole is False
        held = told.last(CODE, "positions")
        assert held.rows is None
        assert read_broker("positions", CODE, held, day.clock.epoch()).status is ReadStatus.UNREADABLE
        answers.spoiling = False
        await day.until(lambda: not view.value.read_errors, 60)
        assert view.value.readable_positions is None


async def test_a_quote_that_cannot_be_read_hides_no_other(day, told, autojump_clock):
    answers = OddAnswers(day, "/quote", lambda quotes: quotes.update({next(iter(quotes)): 7}))

    async def fetch(*listings):
        await trio.sleep(3)  # a quote a second
        return await day.sessions[CODE].address.ask(lambda reply: FetchQuotes(listings=listings, reply=reply), 30)

    async with day.market(), day.service():
        one, other = (day.equity(number).listings[CODE] for number in range(2))
        assert set(await fetch(one, other)) == {one.broker_token, other.broker_token}
        answers.spoiling = True
        assert set(await fetch(one, other)) == {other.broker_token}
        with pytest.raises(BadAnswer, match="1 of 1 rows could not be read"):
            await fetch(one)
        (failing,) = told(CODE, ReadFailing)
        assert failing.read == "quotes"
        assert "1 of 2 rows could not be read: row 1: " in failing.words
        answers.spoiling = False
        await fetch(one)
        assert told(CODE, ReadOk) == [], "the next answer may be about other instruments"
        await trio.sleep(60)
        await fetch(one)
        (good,) = told(CODE, ReadOk)
        assert (good.read, good.failed) == ("quotes", 2)


class FailingDecoder:
    """Fails at every frame while told to; what the broker meant is lost."""

    failing = False

    def __init__(self, own):
        self._own = own

    def __getattr__(self, name):
        return getattr(self._own, name)

    def receive(self, frame):
        if FailingDecoder.failing:
            raise TypeError(SECRET)
        return self._own.receive(frame)


async def test_a_frame_that_its_decoder_fails_at_is_a_corrupt_one_and_the_books_are_read(
    day, world, monkeypatch, caplog, autojump_clock
):
    broker = day.registry[CODE]
    feed = Spoiled(broker.feed, "")
    feed.decoder = lambda *given: FailingDecoder(broker.feed.decoder(*given))
    day.registry = {**day.registry, CODE: attrs.evolve(broker, feed=feed)}
    async with day.market(), day.service():
        view = day.sessions[CODE].view
        await day.until(lambda: view.value.market_feed.connected)
        await trio.sleep(5)
        monkeypatch.setattr(FailingDecoder, "failing", True)
        reconnects = view.value.market_feed.reconnects
        since = day.clock.monotonic()
        await places_and_cancels(day, world)
        await day.until(lambda: view.value.market_feed.corrupt_frames > 0, 10)
        await trio.sleep(5)
        assert world.calls.times(CODE, "orders", since)
        assert view.value.market_feed.connected
        assert view.value.market_feed.reconnects == reconnects
        assert day.crashes.records() == ()
        said = [record.getMessage() for record in caplog.records if "TypeError at" in record.getMessage()]
        assert len(said) == 1
        assert SECRET not in caplog.text


@pytest.mark.parametrize("name", ["opening_messages", "decoder", "subscribe_messages"])
async def test_a_socket_that_its_codec_cannot_use_ends_and_is_opened_again_while_orders_go_on(
    day, world, name, autojump_clock
):
    spoiled = spoil(day, "feed", name, KeyError)
    async with day.market(), day.service():
        view = day.sessions[CODE].view
        await day.sessions[CODE].address.tell(Watch(listings=(day.equity().listings[CODE],)))
        await day.until(lambda: "KeyError at" in (view.value.market_feed.trouble or ""), 60)
        await places_and_cancels(day, world)
        spoiled.failing = False
        await day.until(lambda: view.value.market_feed.connected, 200)
        assert day.crashes.records() == ()


async def test_an_answer_to_an_order_that_its_codec_fails_at_leaves_the_outcome_unknown(day, world, autojump_clock):
    spoiled = spoil(day, "orders", "parse_order_answer")
    async with day.market(), day.service():
        sent = await world.place(CODE)
        assert sent.answer.outcome is Outcome.UNKNOWN
        assert "ZeroDivisionError at " in sent.answer.status_message
        assert sent.reached
        spoiled.failing = False
        await places_and_cancels(day, world)
        assert day.crashes.records() == ()


async def test_a_profile_that_its_codec_fails_at_proves_nothing_and_is_asked_for_again(day, autojump_clock):
    spoiled = spoil(day, "login", "parse_profile")
    async with day.market(), day.service(log_in=False):
        with trio.move_on_after(5):
            await day.log_in(CODE)
        view = day.sessions[CODE].view
        await day.until(lambda: "ZeroDivisionError at " in (view.value.trouble or ""), 30)
        spoiled.failing = False
        await day.until(lambda: view.value.live, 60)
        assert day.crashes.records() == ()
