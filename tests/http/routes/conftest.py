"""The order routes over a fake engine and a fake desk behind real mailboxes.

`orders` is everything: what the routes read (`catalogue`, `engine_status`, `store`), what the fakes were asked (`placed`,
`cancelled`), and what they answer.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import attrs
import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.engine.context.messages import EngineAnswer, EngineMessage, EngineStatus, Place
from onebroker.actors.engine.desk.messages import CancelOrder, DeskMessage
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Halt
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.records import Listing
from onebroker.config.calendars import always_open
from onebroker.config.instruments import Identity, future, option, security
from onebroker.config.sections import EngineSettings
from onebroker.http.app import build_app
from onebroker.http.services import OrderServices
from tests.support.checked_client import OwnAnswersClient

DAY = date(2026, 11, 20)
BROKERS = ("upstox", "zerodha")

SHARE = security("nse", "equities", "INFY")
INDEX = security("nse", "equity_indices", "NIFTY 50")
LOOSE = Identity("nse", "uncategorised", security("nse", "equities", "X").shape, symbol="LOOSE")
FUTURE = future("nse", "equity_index_futures", "NIFTY", date(2026, 11, 26))
OPTION = option("nse", "equity_index_options", "NIFTY", date(2026, 11, 26), 25000.5, "CE")


def instrument(identity: Identity, tick_size: float | None = 0.05) -> Instrument:
    return Instrument(
        instrument_id=identity.instrument_id,
        identity=identity,
        name=None,
        isin=None,
        lot_size=1,
        tick_size=tick_size,
        freeze_quantity=None,
        listings={code: Listing(broker_token="1", tradingsymbol="INFY", exchange="NSE") for code in BROKERS},
    )


@attrs.frozen
class Mapped:
    """A snapshot of a few instruments, looked up as `Snapshot` does."""

    instruments: Mapping[str, Instrument]
    mapping_date: date = DAY

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self.instruments.get(instrument_id)

    def find(self, identity: Identity) -> Instrument | None:
        return self.instruments.get(identity.instrument_id)

    def by_token(self, broker: str, broker_token: str) -> str | None:
        return None

    def by_isin(self, isin: str) -> tuple[str, ...]:
        return ()

    def listings(self, broker: str) -> Mapping[str, Listing]:
        return {}


MAPPED = Mapped({one.instrument_id: instrument(one) for one in (SHARE, INDEX, LOOSE, FUTURE, OPTION)})
PUBLISHED = CatalogueState(latest=MAPPED, published_today=True, reason="")

Respond = Callable[[Any], EngineAnswer | None]


@attrs.define
class OrderHouse:
    client: Any
    headers: Mapping[str, str]
    store: MemoryStore
    clock: Any
    settings: EngineSettings
    catalogue: Published[CatalogueState]
    engine_status: Published[EngineStatus]
    waiting: set[str]
    """Intents that the engine has not taken up yet."""
    engine: Mailbox[EngineMessage]
    desk: Mailbox[DeskMessage]
    halt: Published[Halt | None]
    """Not read yet, until a test sets it."""
    respond: Respond = lambda message: EngineAnswer(status=200, body={"outcome": "accepted"})
    gate: trio.Event | None = None
    """Set by a test that lets both actors hang over the message in hand."""
    placed: list[Place] = attrs.field(factory=list)
    cancelled: list[CancelOrder] = attrs.field(factory=list)

    @property
    def asked(self) -> int:
        return len(self.placed) + len(self.cancelled)

    async def request(self, method: str, path: str, **given: Any) -> tuple[int, Any]:
        headers = {**self.headers, **given.pop("headers", {})}
        response = await self.client.open(path, method=method, headers=headers, **given)
        assert response.content_type == "application/json", await response.get_data()
        return response.status_code, msgspec.json.decode(await response.get_data())

    async def place(self, body: object, query: str = "") -> tuple[int, Any]:
        return await self.request("POST", f"/api/orders/place{query}", json=body)

    async def keep_answering(self, mailbox: Mailbox[Any], asked: list[Any]) -> None:
        """Be an actor: note every message and answer it as the test said; None answers nothing."""
        mailbox.running = True
        async for message in mailbox:
            asked.append(message)
            if self.gate is not None:
                await self.gate.wait()
            answer = self.respond(message)
            if answer is not None:
                message.reply.answer(answer)


@pytest.fixture
def place_list_maximum() -> int:
    """A test that wants another one parametrizes it."""
    return 500


@pytest.fixture
async def orders(house, token: str, nursery: trio.Nursery, place_list_maximum: int) -> OrderHouse:
    catalogue, engine_status = Published(PUBLISHED), Published(EngineStatus(running=True, reason=""))
    halt: Published[Halt | None] = Published(None)
    engine: Mailbox[EngineMessage] = open_mailbox("the order engine", capacity=1)
    desk: Mailbox[DeskMessage] = open_mailbox("the order desk", capacity=1)
    settings = EngineSettings()
    waiting: set[str] = set()
    services = attrs.evolve(
        house.services,
        settings=attrs.evolve(house.services.settings, place_list_maximum=place_list_maximum),
        orders=OrderServices(
            brokers=BROKERS,
            settings=settings,
            catalogue=catalogue,
            calendar=always_open(),
            engine_status=engine_status,
            engine=engine.address,
            desk=desk.address,
            halt=halt,
            store=house.store,
            intent_waits=waiting.__contains__,
        ),
    )
    orders = OrderHouse(
        client=OwnAnswersClient(build_app(services)),
        headers={"access-token": token},
        store=house.store,
        clock=services.clock,
        settings=settings,
        catalogue=catalogue,
        engine_status=engine_status,
        engine=engine,
        desk=desk,
        halt=halt,
        waiting=waiting,
    )
    nursery.start_soon(orders.keep_answering, engine, orders.placed)
    nursery.start_soon(orders.keep_answering, desk, orders.cancelled)
    await wait_all_tasks_blocked()
    return orders
