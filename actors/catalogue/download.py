"""Fetching the brokers' instrument files. A file that does not come costs what it holds; a broker none of whose files comes is
lost to this build, and only it."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

import attrs
import trio

from onebroker.actors.catalogue.builder import Builder, BuildFailed, Downloads, Fetched
from onebroker.actors.catalogue.incoming import Incoming, Kept
from onebroker.actors.catalogue.progress import ProgressKeeper
from onebroker.brokers.broker import Access, Broker, ReadFlow
from onebroker.brokers.codec.instrument_files import MISSING, is_missing
from onebroker.brokers.requests import BrokerError, CallKind, WireRequest, WireResponse
from onebroker.brokers.transport.interface import Transport
from onebroker.config.clock import Clock

T = TypeVar("T")

FILE_SECONDS = 180.0
"""For one file of some tens of megabytes."""
LOGIN_SECONDS = 30.0
"""How long a build waits for the login of a broker whose file needs one."""
BROKER_SECONDS = 600.0
"""For all files of one broker: those that it has no time left for do not come, so that one slow host holds up nobody for long."""
APART_SECONDS = 0.05
"""Between the beginnings of two brokers: ten TLS handshakes in one turn of the loop would hold it up, each takes a millisecond."""
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
    logged_in: Callable[[], Awaitable[Access]]
    """Waits until the broker has a login, and returns what it gives access to."""


class NotAnswered(BrokerError):
    """A file was answered with another status than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(f"its file was answered with HTTP {status}")
        self.status = status


class NotKept(BrokerError):
    """There is no place for a broker's files: no other attempt, and no other file, would help."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"its file cannot be kept: {error.strerror or error}")


class _Arriving:
    """One file as it comes: whoever watches the build is told, and each piece is kept. Raises NotKept."""

    def __init__(self, incoming: Incoming, arrived: Callable[[int], None]) -> None:
        self._incoming = incoming
        self._arrived = arrived
        self._bytes = 0

    async def begin(self) -> None:
        """Begin anew, for another attempt or because what came is no file."""
        self._bytes = 0
        self._arrived(0)
        await _keeping(self._incoming.begin())

    async def take(self, piece: bytes) -> None:
        self._bytes += len(piece)
        self._arrived(self._bytes)
        await _keeping(self._incoming.take(piece))

    async def kept(self) -> Kept:
        return await _keeping(self._incoming.kept())


async def _keeping(work: Awaitable[T]) -> T:
    try:
        return await work
    except OSError as error:
        raise NotKept(error) from error


async def download(
    sources: Mapping[str, Source],
    transports: Mapping[str, Transport],
    clock: Clock,
    keeper: ProgressKeeper,
    builder: Builder,
) -> Downloads:
    """Fetch every broker's files over its own transport, all brokers at once, and give each to the builder as it comes. Raises BuildFailed."""
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
            files[code] = await _BrokerDownload(code, source, transports[code], clock, keeper, builder).files()
        except BrokerError as error:
            lost[code] = str(error)
            keeper.failed(code, lost[code])
        else:
            missing = files[code].missing
            keeper.done(code, "; ".join(f"{name}: {why}" for name, why in missing.items()))

    async with trio.open_nursery() as nursery:
        for code, source in sources.items():
            nursery.start_soon(fetch, code, source)
            await trio.sleep(APART_SECONDS)
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
            access = await self._source.logged_in()
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
                names.append(name_of(request, names))
                response, body = await self._one(request, f"{self._code}-{len(kept)}", names[-1], missing)
                kept.append(body)
                request = flow.send(response)
        except StopIteration:
            pass
        finally:
            flow.close()
        if missing and all(isinstance(body, bytes) and is_missing(body) for body in kept):
            raise BrokerError(next(iter(missing.values())))
        return Fetched(bodies=tuple(kept), names=tuple(names), missing=missing)

    async def _one(
        self, request: WireRequest, place: str, name: str, missing: dict[str, str]
    ) -> tuple[WireResponse, Kept]:
        """Return the answer and its body, kept; `MISSING` for a file that did not come, which is put into `missing`."""
        arriving = _Arriving(self._builder.incoming(place), self._keeper.arriving(self._code))
        try:
            response = await self._answer(request, arriving)
            kept = await arriving.kept()
        except NotKept:
            raise
        except BrokerError as error:
            missing[name] = str(error)
            status = error.status if isinstance(error, NotAnswered) else NO_ANSWER
            return WireResponse(status=status, body=MISSING), MISSING
        self._keeper.came(self._code)
        return response, kept

    async def _answer(self, request: WireRequest, arriving: _Arriving) -> WireResponse:
        for attempt in range(1, ATTEMPTS + 1):
            await arriving.begin()
            try:
                response = await self._attempt(request, arriving)
            except NotKept:
                raise
            except BrokerError:
                if attempt == ATTEMPTS:
                    raise
                continue
            if response.status == 200:
                return response
            if attempt == ATTEMPTS or response.status < 500:
                break
        await arriving.begin()
        raise NotAnswered(response.status)

    async def _attempt(self, request: WireRequest, arriving: _Arriving) -> WireResponse:
        """Send the request once. A file's body is only taken as it comes; any other body the flow may look at as well."""
        seconds = min(FILE_SECONDS, self._ends - self._clock.monotonic())
        if seconds <= 0:
            raise BrokerError(f"its files took longer than {BROKER_SECONDS:g} s")
        leaving = request.leaving(self._clock.now())
        if request.kind is CallKind.FILE:
            return await self._transport.send(attrs.evolve(leaving, body_to=arriving), seconds)
        response = await self._transport.send(leaving, seconds)
        await arriving.take(response.body)
        return response


def name_of(request: WireRequest, known: list[str]) -> str:
    """Return the file's own name, as the last part of its address says it, told apart from the broker's others."""
    name = PurePosixPath(urlsplit(request.url).path).name or "file"
    return name if name not in known else f"{name} ({len(known) + 1})"
