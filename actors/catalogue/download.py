"""Fetches the brokers' instrument files. A file that does not come loses only its own instruments. A broker whose files all fail to come is
lost to this build; the other brokers are not.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

import attrs
import trio

from onebroker.actors.catalogue.builder import Builder, BuildFailed, Downloads, Fetched
from onebroker.actors.catalogue.incoming_files import Incoming, Kept
from onebroker.actors.catalogue.progress import ProgressKeeper
from onebroker.brokers.broker import Access, Broker, ReadFlow
from onebroker.brokers.codec.instrument_files import MISSING, is_missing
from onebroker.brokers.requests import BrokerError, CallKind, WireRequest, WireResponse
from onebroker.brokers.transport.interface import Transport
from onebroker.config.clock import Clock

T = TypeVar("T")

FILE_SECONDS = 180.0
"""Time limit for one file of some tens of megabytes."""
LOGIN_SECONDS = 30.0
"""How long a build waits for the login of a broker whose file needs a login."""
BROKER_SECONDS = 600.0
"""Time limit for all files of one broker. Files beyond it do not come, so that one slow host delays no build for long."""
APART_SECONDS = 0.05
"""Seconds between the starts of two brokers: each TLS handshake takes a millisecond, so ten in one turn of the loop would block it."""
ATTEMPTS = 2
"""The read of a file is repeated once (architecture 12)."""
NO_ANSWER = 0
"""Status that a flow gets for a file without any answer."""


@attrs.frozen(kw_only=True)
class Source:
    """One broker whose instruments are mapped."""

    broker: Broker
    access: Access
    """Access without a login: enough for brokers whose files are open."""
    logged_in: Callable[[], Awaitable[Access]]
    """Waits until the broker has a login, and returns the access it gives."""


class NotAnswered(BrokerError):
    """A file was answered with a status other than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(f"its file was answered with HTTP {status}")
        self.status = status


class NotKept(BrokerError):
    """There is no place for a broker's files: another attempt or another file would not help."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"its file cannot be kept: {error.strerror or error}")


class _Arriving:
    """One file as it arrives: its progress is shown, and each piece is kept. Raises NotKept."""

    def __init__(self, incoming: Incoming, arrived: Callable[[int], None]) -> None:
        self._incoming = incoming
        self._arrived = arrived
        self._bytes = 0

    async def begin(self) -> None:
        """Begin again, for another attempt or because the body was not the file."""
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
    """Fetch every broker's files over its own transport, all brokers at once; each file goes to the builder as it arrives. Raises BuildFailed."""
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
    """One broker's files, one after another as its flow requests them."""

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
            pass  # the request needs a token: this broker's file needs a login
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
        """Return the answer and its kept body; for a file that did not come, return `MISSING` and add the reason to `missing`."""
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
        """Send the request once. A file's body is only kept as it arrives; the flow also gets every other body."""
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
    """Return the file's own name, the last part of its address, made unique among the broker's files."""
    name = PurePosixPath(urlsplit(request.url).path).name or "file"
    return name if name not in known else f"{name} ({len(known) + 1})"
