"""No token, key or secret shows in a view, a message, an exception or a log line."""

import logging

import pytest
import trio

from onebroker.actors.sessions.messages import ExchangeRedirect
from onebroker.brokers.requests import BrokerError
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import as_text


def secrets_of(day):
    for code in day.codes:
        access = day.sessions[code].view.value.access
        if access is not None:
            yield from (value for value in access.login.tokens.values() if len(value) > 5)
        yield from (value for value in day.services[code].access.credentials.values() if len(value) > 5)


async def test_views_messages_and_logs_of_a_troubled_day_hold_no_secret(day, world, caplog, autojump_clock):
    caplog.set_level(logging.DEBUG)
    said = []
    async with day.market(), day.service():
        secrets = set(secrets_of(day))
        for kind in (FaultKind.HTTP_500, FaultKind.GARBAGE_BODY, FaultKind.REFUSE_CONNECTIONS, FaultKind.DROP_STREAM):
            day.simulator.fault("all", kind, seconds=20)
            await trio.sleep(15)
            said += [repr(day.sessions[code].view.value) for code in day.codes]
            said += [str(day.sessions[code].view.value.read_errors) for code in day.codes]
            await trio.sleep(90)
        request = world.place_request("zerodha")
        said.append(repr(await world.send("zerodha", request)))
        for code in day.codes:
            with pytest.raises((BrokerError, ValueError)) as refused:
                await day.sessions[code].address.ask(
                    lambda reply: ExchangeRedirect(
                        redirect="http://127.0.0.1/?request_token=sesame12&code=sesame12&status=success", reply=reply
                    ),
                    10,
                )
            said.append(repr(refused.value))
        await day.sessions["zerodha"].address.tell("no message of ours")
        await trio.sleep(30)
        said += [record.error for record in day.crashes.records()]
        day.simulator.fault("all", FaultKind.EXPIRE_SESSION)
        await trio.sleep(30)
        said += [repr(day.sessions[code].view.value) for code in day.codes]
    said += [as_text(event) for event in day.heard]
    said += [record.getMessage() + (record.exc_text or "") for record in caplog.records]
    assert len(secrets) >= 4
    text = "\n".join(said)
    assert [secret for secret in {*secrets, "sesame12"} if secret in text] == []
