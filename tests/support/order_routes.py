"""A caller of the order routes of a trading day: the application over the day's engine, desk and store, in one process."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken, hold
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.services import OrderServices, Services
from tests.support.checked_client import CheckedClient

if TYPE_CHECKING:
    from tests.support.day import Day

TOKEN = "token-1"


class Caller:
    """Made while the day's service runs; a later service wants another."""

    def __init__(self, day: "Day") -> None:
        nobody: Mailbox[TokenMessage] = open_mailbox("nobody", capacity=1)
        token: HeldToken | None = hold(
            AccessToken(token=TOKEN, last_login=None, expires_at="2100-01-01 00:00:00.000000")
        )
        services = Services(
            clock=day.clock,
            settings=ServiceSettings(data_dir=Path("/nonexistent")),
            token=Published(token),
            token_actor=nobody.address,
            actors=dict,
            crashes=day.crashes.records,
            store_reachable=lambda: True,
            orders=OrderServices(
                brokers=tuple(day.codes),
                settings=day.engine_context.settings,
                catalogue=day.catalogue,
                calendar=day.calendar,
                engine_status=day.status,
                engine=day.engine,
                desk=day.desk,
                halt=day.engine_context.gate.halt,
                store=day.store,
                intent_waits=day.engine_context.in_hand.__contains__,
            ),
        )
        self._client = CheckedClient(build_app(services))

    async def ask(self, method: str, path: str, body: object = None) -> EngineAnswer:
        """Return the status and the JSON of an answer; the path is what follows `/api/orders/`."""
        given: dict[str, Any] = {} if body is None else {"json": body}
        answer = await self._client.open(f"/api/orders/{path}", method=method, headers={"access-token": TOKEN}, **given)
        return EngineAnswer(status=answer.status_code, body=msgspec.json.decode(await answer.get_data()))

    async def modify(self, body: object) -> EngineAnswer:
        return await self.ask("PUT", "modify", body)

    async def cancel(self, **body: object) -> EngineAnswer:
        return await self.ask("DELETE", "cancel", body)

    async def end(self, answer: EngineAnswer) -> EngineAnswer:
        """Cancel the whole parent of an order."""
        return await self.ask("DELETE", "parents", {"parent_id": answer.body["parent_id"]})

    async def told(self, intent_id: str) -> EngineAnswer:
        return await self.ask("GET", f"intents/{intent_id}")
