"""A broker that takes no orders from this machine's address is said once, beside its login, until it takes one again."""

import logging
from types import SimpleNamespace

import attrs
import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.config.vocabulary import Outcome

CODE = "zerodha"
REFUSAL = WireResponse(
    status=403,
    body=msgspec.json.encode(
        {"status": "error", "message": "No IPs configured for this app.", "error_type": "PermissionException"}
    ),
)


async def test_an_unregistered_address_is_told_once_for_all_orders(day, world, caplog, autojump_clock):
    broker = day.registry[CODE]
    refuses = SimpleNamespace(now=True)

    def answered(response):
        return broker.orders.parse_order_answer(REFUSAL if refuses.now else response)

    names = ("place_request", "modify_request", "cancel_request")
    orders = SimpleNamespace(**{name: getattr(broker.orders, name) for name in names}, parse_order_answer=answered)
    day.registry = {**day.registry, CODE: attrs.evolve(broker, orders=orders)}
    async with day.market(), day.service():
        view = day.sessions[CODE].view
        for _ in range(3):
            assert (await world.place(CODE)).answer.outcome is Outcome.REJECTED
        assert view.value.live
        assert "public address is not registered" in view.value.trouble
        assert "No IPs configured" in view.value.trouble
        lines = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert len([line for line in lines if "address" in line.getMessage()]) == 1
        refuses.now = False
        assert (await world.place(CODE)).answer.outcome is Outcome.ACCEPTED
        assert view.value.trouble is None
