"""The steps of `onebroker check`, against the simulated brokers and against a broker that sends what it should not."""

import gzip
import io
import math
import re
import zipfile

import attrs
import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.sessions.check import CheckContext, check_instruments, check_reads, check_stream
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.messages import Check, Watch
from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import CorruptFrame, Ticks
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind, NotSent, StreamAddress, WireResponse
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.transport.budget import Budget
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.config.clock import Clock
from tests.support.every_case import every_case
from tests.support.patience import PATIENCE_SECONDS

CODES = tuple(build_registry())
BOOKS = ["orders", "trades", "positions", "holdings", "funds"]
SHARE = Listing(broker_token="1", tradingsymbol="INFY", exchange="NSE")


def zipped(body):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("file.txt", body)
    return packed.getvalue()


GARBAGE = {
    "nothing": b"",
    "blanks": b"\n \n",
    "a page": b"<html><body>down for maintenance</body></html>",
    "other columns": b"a,b,c\n1,2,3\n",
    "other lines": b"1|2|3\n4|5\n",
    "an object": b'{"data": {"files": 7}}',
    "a list": b'[{"a": 1}, 7, null]',
    "a number": b"7",
    "not UTF-8": b"\xff\xfe\x00symbol,token\n\x80,\x81\n",
    "half a zip": zipped(b"a,b\n1,2\n")[:40],
    "another zip": zipped(b"a,b\n1,2\n"),
    "half a gzip": gzip.compress(b'[{"a": 1}]')[:15],
    "another gzip": gzip.compress(b'[{"a": 1}]'),
}


class Answers:
    """A transport that gives every request the same body, and every socket the same stream."""

    def __init__(self, body=b""):
        self._body = body

    async def send(self, request, timeout_seconds):
        await trio.lowlevel.checkpoint()
        return WireResponse(status=200, body=self._body)

    async def connect(self, address, timeout_seconds):
        await trio.lowlevel.checkpoint()
        return self

    async def receive(self):
        await trio.lowlevel.checkpoint()
        return b"frame"

    async def aclose(self):
        await trio.lowlevel.checkpoint()


class FeedOf:
    """A feed codec whose every frame holds `event`."""

    ready_seconds = None

    def __init__(self, event):
        self._event = event

    def address(self, access, now):
        return StreamAddress(url="ws://feed")
        yield

    def decoder(self, access, address, listings):
        return self

    def receive(self, frame):
        return [self._event]

    def opening_messages(self, access):
        return []

    subscribe_messages = unsubscribe_messages = lambda self, access, listings: []


def doors_of(broker, transport, clock, budget=None):
    budget = budget or Budget(broker.order_windows, broker.call_windows)
    gate = BudgetGate(budget, clock, most_waiting=10)
    return CheckContext(broker=broker, caller=Caller(transport, gate, clock), transport=transport, clock=clock)


def access_to(broker):
    login = Login(tokens=dict.fromkeys(("access_token", "token"), "t"), user_id="U", logged_in_at=0.0, expires_at=9e9)
    credentials = dict.fromkeys(broker.all_credential_keys, "key")
    return Access(endpoints=broker.endpoints, credentials=credentials, login=login)


@pytest.mark.parametrize("code", CODES)
@every_case("body", GARBAGE.values(), ids=GARBAGE)
async def test_an_instrument_file_that_cannot_be_read_fails_its_step_and_nothing_else(code, body):
    broker = build_registry()[code]
    with trio.fail_after(PATIENCE_SECONDS):
        step, share = await check_instruments(doors_of(broker, Answers(body), Clock()), access_to(broker))
    assert (step.name, step.ok, share) == ("instruments", False, {})
    assert step.detail


@pytest.mark.parametrize(
    ("event", "ok", "detail"),
    [
        (Ticks((Tick(broker_token="1", last_price=101.5),)), True, "INFY at 101.5"),
        (Ticks((Tick(broker_token="another", last_price=101.5),)), True, "another at 101.5"),
        (CorruptFrame(reason="half a packet"), False, "a frame could not be read: half a packet"),
    ],
)
async def test_the_first_tick_is_told_whatever_instrument_it_is_of(event, ok, detail):
    broker = attrs.evolve(build_registry()["zerodha"], feed=FeedOf(event))
    with trio.fail_after(PATIENCE_SECONDS):
        step = await check_stream(
            doors_of(broker, Answers(), Clock()), access_to(broker), {"1": SHARE}, market_open=True
        )
    assert (step.ok, step.detail) == (ok, detail)


# --- over simulated brokers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
async def test_every_step_of_a_broker_works_over_a_login_alone(day, code, autojump_clock):
    day.__init__(brokers=(code,))
    async with day.service():
        access = day.sessions[code].view.value.access
    await trio.sleep(60)  # what the service asked counts no more
    async with day.open_transport() as transport:  # as the command does it, without a service
        context = doors_of(day.services[code].broker, transport, day.clock, day.services[code].budget())
        autojump_clock.autojump_threshold = math.inf  # a thread reads the file: the clock stands still
        file, share = await check_instruments(context, access)
        autojump_clock.autojump_threshold = 0
        async with day.market():
            steps = [*await check_reads(context, access, share), file]
            steps.append(await check_stream(context, access, share, market_open=True))
    assert [(step.name, step.ok) for step in steps] == [
        (name, True) for name in ("profile", *BOOKS, "instruments", "stream")
    ], steps


class Without:
    """A transport whose broker answers what `lost` says yes to with a server's failure."""

    def __init__(self, inner, lost, *, dead=False):
        self._inner, self._lost, self._dead = inner, lost, dead

    async def send(self, request, timeout_seconds):
        if not self._lost(request):
            return await self._inner.send(request, timeout_seconds)
        if self._dead:
            raise NotSent("no connection")
        return WireResponse(status=503, body=b"")


@pytest.mark.parametrize("dead", [False, True])
@pytest.mark.parametrize(
    ("lost", "ok", "detail"),
    [
        (
            lambda request: request.kind is not CallKind.FILE,
            True,
            r"\d+ rows; not file-paths: (HTTP 503|no connection)",
        ),
        (lambda request: "nse_fo" in request.url, True, r"\d+ rows; not nse_fo.csv: (HTTP 503|no connection)"),
        (lambda request: True, False, r"file-paths: (HTTP 503|no connection); nse_cm.*; mcx_fo.csv: .*"),
    ],
)
async def test_kotak_neo_s_instruments_fail_only_when_none_can_be_had(day, lost, ok, detail, dead, autojump_clock):
    day.__init__(brokers=("kotakneo",))
    async with day.service():
        access = day.sessions["kotakneo"].view.value.access
    await trio.sleep(60)
    async with day.open_transport() as transport:
        service = day.services["kotakneo"]
        context = doors_of(service.broker, Without(transport, lost, dead=dead), day.clock, service.budget())
        autojump_clock.autojump_threshold = math.inf
        step, share = await check_instruments(context, access)
    assert (step.ok, bool(share)) == (ok, ok), step.detail
    assert re.fullmatch(detail, step.detail), step.detail


async def test_a_mapping_of_an_earlier_day_is_said(day, autojump_clock):
    async with day.market(), day.service():
        latest = day.catalogue.value.latest
        day.catalogue.set(CatalogueState(latest=latest, published_today=False, reason="no files came"))
        step = (await checked(day))["instruments"]
        assert step.ok
        assert step.detail == f"{len(latest.listings('upstox'))} listed, of an earlier mapping: no files came"


async def checked(day):
    return {step.name: step for step in await day.sessions["upstox"].address.ask(lambda reply: Check(reply=reply), 60)}


async def test_a_live_session_is_tried_out_with_its_own_login_and_stream(day, autojump_clock):
    async with day.market(), day.service():
        steps = await checked(day)
        assert list(steps) == ["login", "profile", *BOOKS, "instruments", "stream"]
        assert all(step.ok for step in steps.values()), steps
        assert steps["instruments"].detail == f"{len(day.snapshot.listings('upstox'))} listed"
        assert " at " in steps["stream"].detail
        feed = lambda: day.sessions["upstox"].view.value.market_feed  # noqa: E731
        assert not feed().connected
        await day.sessions["upstox"].address.tell(Watch(listings=(day.equity().listings["upstox"],)))
        await day.until(lambda: feed().subscribed)
        assert (await checked(day))["stream"].detail.startswith("open, 1 subscribed, heard ")


async def test_a_session_without_a_login_says_why_and_asks_nothing(day, autojump_clock):
    async with day.market(), day.service():
        day.simulator.fault("upstox", FaultKind.EXPIRE_SESSION)
        await day.until(lambda: not day.sessions["upstox"].view.value.live, 200)
        steps = await checked(day)
        assert [(step.name, step.ok, bool(step.detail)) for step in steps.values()] == [("login", False, True)]
