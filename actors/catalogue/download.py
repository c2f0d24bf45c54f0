"""Fetching the brokers' instrument files. A file that does not come costs what it holds; a broker none of whose files comes is
lost to this build, and only it."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import attrs
import trio

from onebroker.actors.catalogue.builder import Builder, BuildFailed, Downloads, Fetched, Kept
from onebroker.actors.catalogue.progress import ProgressKeeper
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.view import SessionView
from onebroker.brokers.broker import Access, Broker, ReadFlow
from onebroker.brokers.instrument_files import MISSING, is_missing
from onebroker.brokers.requests import BrokerError, WireRequest, WireResponse
from onebroker.brokers.transport.interface import Transport
from onebroker.config.clock import Clock

FILE_SECONDS = 180.0
"""For one file of some tens of megabytes."""
LOGIN_SECONDS = 30.0
"""How long a build waits for the login of a broker whose file needs one."""
BROKER_SECONDS = 600.0
"""For all files of one broker: those that it has no time left for do not come, so that one slow host holds up nobody for long."""
ATTEMPTS = 2
"""A read of a file is repeated once (architecture 12)."""
NO_ANSWER = 0
"""Status of the answer a flow is given for a file that was not answered at all."""


@attrs.frozen(kw_only=True)
class Source:
    """One broker whose instruments are mapped."""

    broker: Broker
    access: Access
    """Without a login: enough for the brokers whose files are open."""
    view: Published[SessionView]


class NotAnswered(BrokerError):
    """A file was answered with another status than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(f"its file was answered with HTTP {status}")
        self.status = status


async def download(
    sources: Mapping[str, Source], transport: Transport, clock: Clock, keeper: ProgressKeeper, builder: Builder
) -> Downloads:
    """Fetch every broker's files, all brokers at once, and give each to the builder as it comes. Raises BuildFailed."""
    files: dict[str, Fetched] = {}
    lost: dict[str, str] = {}
    day = clock.today()
    keeper.begin(sources)
    try:
        await builder.begin()
    except OSError as error:
        raise BuildFailed(f"there is no place for its files: {error.strerror or error}") from error

    async def fetch(code: str, source: Source) -> None:
        try:
            files[code] = await _BrokerDownload(code, source, transport, clock, keeper, builder).files()
        except BrokerError as error:
            lost[code] = str(error)
            keeper.failed(code, lost[code])
        else:
            missing = files[code].missing
            keeper.done(code, "; ".join(f"{name}: {why}" for name, why in missing.items()))

    async with trio.open_nursery() as nursery:
        for code, source in sources.items():
            nursery.start_soon(fetch, code, source)
    return Downloads(files=files, lost=lost, day=day)


class _BrokerDownload:
    """One broker's files, one after the other as its flow asks for them."""

    def __init__(
        self,
        code: str,
        source: Source,
        transport: Transport,
        clock: Clock,
        keeper: ProgressKeeper,
        builder: Builder,
    ) -> None:
        self._code = code
        self._source = source
        self._transport = transport
        self._clock = clock
        self._keeper = keeper
        self._builder = builder
        self._ends = clock.monotonic() + BROKER_SECONDS

    async def files(self) -> Fetched:
        """Return the files. Raises BrokerError when none came."""
        try:
            return await self._all(self._source.access)
        except KeyError:
            pass  # the builder asked for a token: this broker's file needs a login
        access = None
        with trio.move_on_after(LOGIN_SECONDS):
            access = await _login(self._source.view)
        if access is None:
            raise BrokerError("its file needs a login, and there is none")
        return await self._all(access)

    async def _all(self, access: Access) -> Fetched:
        kept: list[Kept] = []
        names: list[str] = []
        missing: dict[str, str] = {}
        flow: ReadFlow = self._source.broker.instruments.file_requests(access, self._clock.now())
        try:
            request = next(flow)
            while True:
                names.append(_name(request, names))
                response = await self._one(request, names[-1], missing)
                kept.append(await self._keep(f"{self._code}-{len(kept)}", response.body))
                request = flow.send(response)
        except StopIteration:
            pass
        finally:
            flow.close()
        if missing and all(isinstance(body, bytes) and is_missing(body) for body in kept):
            raise BrokerError(next(iter(missing.values())))
        return Fetched(bodies=tuple(kept), names=tuple(names), missing=missing)

    async def _keep(self, name: str, body: bytes) -> Kept:
        try:
            return await self._builder.keep(name, body)
        except OSError as error:
            raise BrokerError(f"its file cannot be kept: {error.strerror or error}") from error

    async def _one(self, request: WireRequest, name: str, missing: dict[str, str]) -> WireResponse:
        """Return the answer, or one without a body in the place of a file that did not come, which is put into `missing`."""
        try:
            response = await self._answer(request)
        except BrokerError as error:
            missing[name] = str(error)
            status = error.status if isinstance(error, NotAnswered) else NO_ANSWER
            return WireResponse(status=status, body=MISSING)
        self._keeper.came(self._code)
        return response

    async def _answer(self, request: WireRequest) -> WireResponse:
        arrived = self._keeper.arriving(self._code)
        request = attrs.evolve(request, arrived=arrived)
        for attempt in range(1, ATTEMPTS + 1):
            arrived(0)
            try:
                seconds = min(FILE_SECONDS, self._ends - self._clock.monotonic())
                if seconds <= 0:
                    raise BrokerError(f"its files took longer than {BROKER_SECONDS:g} s")
                response = await self._transport.send(request.leaving(self._clock.now()), seconds)
            except BrokerError:
                if attempt == ATTEMPTS:
                    raise
                continue
            if response.status == 200:
                arrived(len(response.body))
                return response
            if attempt == ATTEMPTS or response.status < 500:
                break
        arrived(0)
        raise NotAnswered(response.status)


async def _login(view: Published[SessionView]) -> Access:
    while (access := view.value.access) is None:
        await view.wait_newer(view.version)
    return access


def _name(request: WireRequest, known: list[str]) -> str:
    """Return the file's own name, as the last part of its address says it, told apart from the broker's others."""
    name = PurePosixPath(urlsplit(request.url).path).name or "file"
    return name if name not in known else f"{name} ({len(known) + 1})"
