"""What the command line hands to the history actor: staged files in a folder of the data directory, taken in one by
one.

A running service takes them over its control socket. Without a service the command holds the data directory and takes
them in itself. In both cases the file is complete before it is named, and may be removed after the answer.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal

import attrs
import msgspec
import trio

from onebroker.actors.history.history_paths import checked_file, incoming_folder
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.messages import (
    CheckStore,
    HistoryMessage,
    HoldStore,
    ReleaseStore,
    TakeFactors,
    TakeFile,
    TakeRename,
)
from onebroker.actors.history.store_check import Finding
from onebroker.actors.kernel.mailbox import ActorNotRunning, Address, AskTimedOut
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.actors.store.merge_result import Merged
from onebroker.config.late_modules import pl

Kind = Literal["candles", "ticks", "factors"]
COMMAND = "take"
CHECK = "check_history"
RENAME = "rename_history"
HOLD = "hold_history"
COMMANDS = frozenset({COMMAND, CHECK, RENAME, HOLD})
TAKE_SECONDS = 120.0
"""For one staged file."""
CHECK_SECONDS = 1800.0
HOLD_SECONDS = 1200.0
"""How long the store's files may be held still for a copy."""
_BEFORE_HOLD_SECONDS = 120.0
"""For the writes that are under way."""
_RELEASE_SECONDS = 5.0

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def answer(
    request: Mapping[str, str],
    data_dir: Path,
    history: Address[HistoryMessage],
    stream: trio.abc.ReceiveStream,
    send: Send,
) -> dict[str, Any]:
    """Answer one of COMMANDS. `stream` and `send` reach the client."""
    match request["command"]:
        case "check_history":
            return await answer_check(data_dir, history)
        case "rename_history":
            return await answer_rename(request, history)
        case "hold_history":
            return await answer_hold(history, stream, send)
        case _:
            return await answer_take(request, data_dir, history)


async def answer_check(data_dir: Path, history: Address[HistoryMessage]) -> dict[str, Any]:
    """Answer `{"command": "check_history"}`: `done["file"]` is the file with the findings, `done["findings"]` is their number."""
    try:
        checked = await history.ask(CheckStore, CHECK_SECONDS)
        file = await trio.to_thread.run_sync(write_findings, data_dir, checked.findings)
    except (HistoryError, DurableError, ActorNotRunning, AskTimedOut, OSError) as error:
        return {"error": str(error)}
    return {"done": {"findings": len(checked.findings), "file": str(file), "renames": list(checked.renames)}}


async def answer_hold(history: Address[HistoryMessage], stream: trio.abc.ReceiveStream, send: Send) -> dict[str, Any]:
    """Answer one `{"command": "hold_history", "reason": TEXT}`: hold the store's files still, so that the client can copy them.

    `{"progress": {"held": true}}` says that nothing is written from now on. The client closes its sending side when it has copied the files. `done`
    says that nothing was written until then. A client that disconnects ends the hold.
    """
    hold, held = uuid.uuid4().hex, False
    try:
        await history.ask(partial(HoldStore, hold, HOLD_SECONDS), _BEFORE_HOLD_SECONDS)
        await send({"progress": {"held": True}})
        while await stream.receive_some(1024):
            pass
    except (HistoryError, ActorNotRunning, AskTimedOut) as error:
        return {"error": str(error)}
    finally:
        with trio.move_on_after(_RELEASE_SECONDS, shield=True), suppress(ActorNotRunning, AskTimedOut):
            held = await history.ask(partial(ReleaseStore, hold), _RELEASE_SECONDS)
    return (
        {"done": {}}
        if held
        else {"error": f"the history was not held still until the end ({HOLD_SECONDS:g} s at most)"}
    )


async def answer_rename(request: Mapping[str, str], history: Address[HistoryMessage]) -> dict[str, Any]:
    """Answer one `{"command": "rename_history", "rename": JSON, "forget": ""}`; `done["changed"]` tells whether anything changed."""
    try:
        rename = read_rename(request.get("rename", ""))
        changed = await history.ask(partial(TakeRename, rename, bool(request.get("forget"))), TAKE_SECONDS)
    except (DurableError, ActorNotRunning, AskTimedOut, ValueError) as error:
        return {"error": str(error)}
    return {"done": {"changed": changed}}


def write_rename(rename: Rename) -> str:
    return msgspec.json.encode(attrs.asdict(rename)).decode()


def read_rename(text: str) -> Rename:
    """Return what `write_rename` wrote. Raises msgspec.MsgspecError (a ValueError)."""
    return msgspec.json.decode(text, type=Rename)


def write_findings(data_dir: Path, findings: Sequence[Finding]) -> Path:
    """Write the findings as CSV; return the file."""
    file = checked_file(data_dir)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    columns = dict.fromkeys((field.name for field in attrs.fields(Finding)), pl.String)
    rows = [[str(value) for value in attrs.astuple(finding)] for finding in findings]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(file)
    return file


async def answer_take(request: Mapping[str, str], data_dir: Path, history: Address[HistoryMessage]) -> dict[str, Any]:
    """Answer one `{"command": "take", "kind": KIND, "file": PATH}`: `done` counts rows `added`, `replaced`, `equal`."""
    file = Path(request.get("file", ""))
    if not _staged_there(file, data_dir):
        return {"error": "file must stand in the folder of what is being loaded"}
    try:
        merged = await take(request.get("kind", ""), file, history)
    except (HistoryError, DurableError, ActorNotRunning, AskTimedOut, OSError, ValueError) as error:
        return {"error": str(error)}
    return {"done": attrs.asdict(merged)}


def _staged_there(file: Path, data_dir: Path) -> bool:
    try:
        return incoming_folder(data_dir) in file.resolve().parents
    except (OSError, ValueError, RuntimeError):  # a NUL in the path, or a loop of links: it names no file
        return False


async def take(kind: str, file: Path, history: Address[HistoryMessage]) -> Merged:
    """Take a staged file in. Raises the errors of the actor, and ValueError for an unknown kind."""
    match kind:
        case "candles" | "ticks":
            return await history.ask(lambda reply: TakeFile(kind, file, reply), TAKE_SECONDS)
        case "factors":
            factors = read_factors(file)
            return await history.ask(lambda reply: TakeFactors(factors, reply), TAKE_SECONDS)
        case _:
            raise ValueError("kind must be candles, ticks or factors")


class _Staged(msgspec.Struct):
    """A factor in its staged form: the fields of `Factor`."""

    instrument_id: str
    ex_date: date
    kind: str
    price_factor: Decimal
    volume_factor: Decimal
    source: str


_staged = msgspec.json.Decoder(list[_Staged])


def write_factors(file: Path, factors: Sequence[Factor]) -> None:
    """Stage factors."""
    file.write_bytes(msgspec.json.encode([attrs.asdict(factor) for factor in factors]))


def read_factors(file: Path) -> list[Factor]:
    """Return staged factors. Raises OSError, msgspec.MsgspecError (a ValueError)."""
    return [Factor(**msgspec.structs.asdict(factor)) for factor in _staged.decode(file.read_bytes())]
