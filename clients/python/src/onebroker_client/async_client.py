"""The async client, for asyncio and trio: the core's steps, done with httpx."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from decimal import Decimal
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, overload

import anyio
import httpx

from onebroker_client.async_methods import AsyncMethods
from onebroker_client.connections import READ_BYTES, answer_of, arguments, options, translated
from onebroker_client.errors import OutcomeUnknown
from onebroker_client.exchange import Access, Now, Sleep, Step, Steps, advance, call
from onebroker_client.following import SWITCHED, Following, Give, Open, Read, Shut, StreamStep, Write, follow
from onebroker_client.http_messages import HttpAnswer, Lost, NotSent
from onebroker_client.reading import Reader
from onebroker_client.settling import Settled, settle
from onebroker_client.stream_state import Event, StreamState, Subscription
from onebroker_client.values import N

T = TypeVar("T")
SERVICE = "http://127.0.0.1:8000"
TIMEOUT_SECONDS = 60.0


class AsyncClient(AsyncMethods[N]):
    """The service, for asyncio and trio: one method for each route, and `stream`. The names are those of `Client`.

    `url`: the service's address, without `/api`. `api_key` and `api_secret`: the client connects by itself, when it has no token and after a
    401. `token`: an access token; without a key the client ends with it. `decimals`: numbers of answers are Decimal, not float.
    `timeout_seconds`: for each answer. `http`: an httpx client of your own, for TLS settings and proxies; its `base_url` is the address.
    """

    @overload
    def __init__(
        self: AsyncClient[float], url: str = ..., *, api_key: str | None = ..., api_secret: str | None = ..., token: str | None = ...,
        decimals: Literal[False] = ..., timeout_seconds: float = ..., http: httpx.AsyncClient | None = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: AsyncClient[Decimal], url: str = ..., *, api_key: str | None = ..., api_secret: str | None = ..., token: str | None = ...,
        decimals: Literal[True], timeout_seconds: float = ..., http: httpx.AsyncClient | None = ...,
    ) -> None: ...  # fmt: skip
    def __init__(
        self,
        url: str = SERVICE,
        *,
        api_key: str | None = None,
        api_secret: str | None = None,
        token: str | None = None,
        decimals: bool = False,
        timeout_seconds: float = TIMEOUT_SECONDS,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._access = Access(Reader(Decimal if decimals else float), api_key, api_secret, token)
        self._http = http or httpx.AsyncClient(**options(url, timeout_seconds))

    @property
    def token(self) -> str | None:
        """The access token that is in use. Do not log it."""
        return self._access.token

    async def close(self) -> None:
        """Close the connections. The token stays valid: `disconnect` would end it for all clients."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient[N]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def stream(self, *subscriptions: Subscription) -> AsyncStream[N]:
        """Follow live data. Events come by `async for`; the stream connects again and resumes by itself.

        Where a stream cannot be resumed, the next event is a `Gap`, and fresh snapshots follow.
        """
        return AsyncStream(self._access, self._http, StreamState(subscriptions, self._access.reader))

    open_stream = stream

    async def _call(self, operation: str, arguments: dict[str, Any]) -> Any:
        try:
            return await self._run(call(self._access, operation, arguments))
        except OutcomeUnknown as unknown:
            unknown.bind(self._settle)
            raise

    async def _settle(self, unknown: OutcomeUnknown, timeout_seconds: float) -> Settled:
        try:
            return await self._run(settle(self._access, unknown, timeout_seconds))
        except OutcomeUnknown as still:
            still.bind(self._settle)
            raise

    async def _run(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                step = advance(steps, await _done(self._http, step))
        except StopIteration as stop:
            value: T = stop.value
            return value


async def _done(http: httpx.AsyncClient, step: Step) -> Any:
    """Do one step and return its result, or the exception by which it failed."""
    if isinstance(step, Sleep):
        return await anyio.sleep(step.seconds)
    if isinstance(step, Now):
        return time.monotonic()
    try:
        with translated():
            return answer_of(await http.request(**arguments(step.request)))
    except (NotSent, Lost) as error:
        return error


class AsyncStream(AsyncIterator["Event[N]"], Generic[N]):
    """Live data: an async iterator of events without end. Use it in an `async with`, or close it."""

    def __init__(self, access: Access, http: httpx.AsyncClient, state: StreamState) -> None:
        self._http = http
        self._following: Following = follow(access, state)
        self._step: StreamStep | None = None
        self._response: httpx.Response | None = None
        self._is_cut = False
        """Whether a write was interrupted, so that the connection is of no use any more."""
        self._wakes: float | None = None
        """The end of a pause: one that was interrupted is not begun anew."""

    def __aiter__(self) -> AsyncStream[N]:
        return self

    async def __anext__(self) -> Event[N]:
        """Return the next event. A call that was interrupted (cancelled) is gone on with by the next one, so nothing is skipped."""
        step = self._step or next(self._following, None)
        if step is None:
            raise StopAsyncIteration  # after an exception
        while not isinstance(step, Give):
            self._step = step
            result = await self._done(step)
            self._step = None
            step = advance(self._following, result)
        event: Event[N] = step.event
        return event

    async def close(self) -> None:
        """End the stream. The service keeps it for a minute."""
        self._following.close()
        await self._shut()

    async def __aenter__(self) -> AsyncStream[N]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _done(self, step: StreamStep) -> Any:
        """Do one step and return its result, or the exception by which it failed."""
        if isinstance(step, Shut):
            return await self._shut()
        if isinstance(step, Sleep):
            return await self._sleep(step)
        try:
            with translated():
                if isinstance(step, Open):
                    return await self._open(step)
                if isinstance(step, Write):
                    return await self._write(step)
                if isinstance(step, Read):
                    return await self._read(step)
        except (NotSent, Lost) as error:
            return error
        assert not isinstance(step, Give)
        return await _done(self._http, step)

    async def _sleep(self, step: Sleep) -> None:
        self._wakes = self._wakes or time.monotonic() + step.seconds
        await anyio.sleep(max(0.0, self._wakes - time.monotonic()))
        self._wakes = None

    async def _open(self, step: Open) -> HttpAnswer:
        await self._shut()
        request = self._http.build_request(**arguments(step.request))
        self._response = await self._http.send(request, stream=True)
        if self._response.status_code != SWITCHED:
            await self._response.aread()
            return answer_of(self._response)
        return HttpAnswer(SWITCHED, "", b"")

    async def _write(self, step: Write) -> None:
        if self._is_cut:
            raise Lost("a write was interrupted")
        self._is_cut = True
        await self._connection().write(step.data, timeout=TIMEOUT_SECONDS)
        self._is_cut = False

    async def _read(self, step: Read) -> bytes:
        data: bytes = await self._connection().read(READ_BYTES, timeout=step.seconds)
        return data

    def _connection(self) -> Any:
        assert self._response is not None
        return self._response.extensions["network_stream"]

    async def _shut(self) -> None:
        response, self._response, self._is_cut = self._response, None, False
        if response is not None:
            await response.aclose()
