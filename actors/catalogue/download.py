"""Fetching the brokers' instrument files. A broker whose file does not come is lost to this build, and only it."""

from collections.abc import Mapping

import attrs
import trio

from onebroker.actors.catalogue.builder import Downloads
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.view import SessionView
from onebroker.brokers.broker import Access, Broker, ReadFlow
from onebroker.brokers.requests import BrokerError, WireRequest, WireResponse
from onebroker.brokers.transport.interface import Transport
from onebroker.config.clock import Clock

FILE_SECONDS = 180.0
"""For one file of some tens of megabytes."""
LOGIN_SECONDS = 30.0
"""How long a build waits for the login of a broker whose file needs one."""
ATTEMPTS = 2
"""A read of a file is repeated once (architecture 12)."""


@attrs.frozen(kw_only=True)
class Source:
    """One broker whose instruments are mapped."""

    broker: Broker
    access: Access
    """Without a login: enough for the brokers whose files are open."""
    view: Published[SessionView]


async def download(sources: Mapping[str, Source], transport: Transport, clock: Clock) -> Downloads:
    """Fetch every broker's files, all brokers at once."""
    bodies: dict[str, tuple[bytes, ...]] = {}
    lost: dict[str, str] = {}
    day = clock.today()

    async def fetch(code: str, source: Source) -> None:
        try:
            bodies[code] = await _files(source, transport, clock)
        except BrokerError as error:
            lost[code] = str(error)

    async with trio.open_nursery() as nursery:
        for code, source in sources.items():
            nursery.start_soon(fetch, code, source)
    return Downloads(bodies=bodies, lost=lost, day=day)


async def _files(source: Source, transport: Transport, clock: Clock) -> tuple[bytes, ...]:
    try:
        return await _bodies(source.broker.instruments.file_requests(source.access, clock.now()), transport, clock)
    except KeyError:
        pass  # the builder asked for a token: this broker's file needs a login
    access = None
    with trio.move_on_after(LOGIN_SECONDS):
        access = await _login(source.view)
    if access is None:
        raise BrokerError("its file needs a login, and there is none")
    return await _bodies(source.broker.instruments.file_requests(access, clock.now()), transport, clock)


async def _bodies(flow: ReadFlow, transport: Transport, clock: Clock) -> tuple[bytes, ...]:
    bodies: list[bytes] = []
    try:
        request = next(flow)
        while True:
            response = await _answer(request.leaving(clock.now()), transport)
            bodies.append(response.body)
            request = flow.send(response)
    except StopIteration:
        return tuple(bodies)
    finally:
        flow.close()


async def _login(view: Published[SessionView]) -> Access:
    while (access := view.value.access) is None:
        await view.wait_newer(view.version)
    return access


async def _answer(request: WireRequest, transport: Transport) -> WireResponse:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            response = await transport.send(request, FILE_SECONDS)
        except BrokerError:
            if attempt == ATTEMPTS:
                raise
            continue
        if response.status == 200:
            return response
        if attempt == ATTEMPTS or response.status < 500:
            break
    raise BrokerError(f"its file was answered with HTTP {response.status}")
