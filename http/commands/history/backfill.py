"""`onebroker history backfill --from DAY --to DAY`: the running service reads candles from its brokers into the history
store.

The service asks the brokers over its own logins, within their limits, after all other work. After a kill, Ctrl-C or a
broker that could not be asked, the same command continues with the rest. Exit code 0 when everything came, 1 when
candles were refused or instruments could not be read, 2 for wrong use, 4 when no service runs or nothing could be
asked.
"""

import argparse
import sys
from pathlib import Path

import msgspec
import trio

from onebroker.actors.history.backfill_job import BackfillOrder, Summary
from onebroker.actors.history.selection import Selection
from onebroker.config.instruments import SEGMENTS, bare_segment
from onebroker.http.commands.exit_codes import DONE, INTERRUPTED, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.history.backfill_display import BackfillDisplay
from onebroker.http.commands.history.load_report import SOME_REFUSED, places_of
from onebroker.http.control import backfill_commands
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service

AGAIN = "run the same command again: it goes on where it stopped"


def run(parsed: argparse.Namespace) -> int:
    order, data_dir = _order(parsed), places_of(parsed).data_dir
    display = None if parsed.json else BackfillDisplay(sys.stderr)
    try:
        summary = trio.run(_fill, data_dir, order, display, strict_exception_groups=True)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nstopped; {AGAIN}\n")
        return INTERRUPTED
    _say(summary, as_json=parsed.json)
    return SOME_REFUSED if summary.refused or summary.unread else DONE


def _order(parsed: argparse.Namespace) -> BackfillOrder:
    if parsed.last is not None and parsed.last < parsed.first:
        raise CommandFailed("--to must not be before --from", WRONG_USE)
    return BackfillOrder(
        first=parsed.first,
        last=parsed.last,
        interval=parsed.interval,
        broker=parsed.broker,
        selection=Selection(
            ids=tuple(dict.fromkeys(parsed.instrument_id)),
            exchange=parsed.exchange,
            segment=None if parsed.segment is None else _segment(parsed.segment),
            symbols=tuple(dict.fromkeys(symbol.upper() for symbol in parsed.symbol)),
        ),
    )


def _segment(text: str) -> str:
    bare = bare_segment(text.lower())
    if bare not in SEGMENTS:
        raise CommandFailed(f"--segment: {text} is not one of {', '.join(SEGMENTS)}", WRONG_USE)
    return bare


async def _fill(data_dir: Path, order: BackfillOrder, display: BackfillDisplay | None) -> Summary:
    request = {"command": backfill_commands.COMMAND, "order": msgspec.json.encode(order).decode()}
    try:
        done = await ask_service(data_dir / SOCKET_NAME, request, None if display is None else display.show)
    except NoService:
        raise CommandFailed(
            f"no service runs on {data_dir}; a backfill asks the brokers over its logins (onebroker serve)",
            NOTHING_REACHABLE,
        ) from None
    except ControlFailed as error:
        raise CommandFailed(f"the backfill was not finished: {error}; {AGAIN}", NOTHING_REACHABLE) from None
    except trio.BrokenResourceError as error:
        raise CommandFailed(f"the service ended meanwhile; {AGAIN}", NOTHING_REACHABLE) from error
    finally:
        if display is not None:
            display.close()
    return msgspec.convert(done, Summary)


def _say(summary: Summary, *, as_json: bool) -> None:
    text = msgspec.json.encode(summary).decode() if as_json else "\n".join(lines(summary))
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def lines(summary: Summary) -> list[str]:
    """Return the result for people."""
    if not summary.instruments:
        return [
            "no instrument was chosen: name --exchange, --segment or --instrument-id, or load candles of some first"
        ]
    merged = f"{summary.added} added, {summary.replaced} replaced, {summary.equal} equal, {summary.refused} refused"
    said = [f"{summary.instruments} instruments, {summary.rows} candles: {merged}"]
    if summary.before:
        said.append(f"  {summary.before} instruments were done by an earlier run of this command")
    said += [f"  {count} from {code}" for code, count in summary.brokers.items()]
    if summary.unread:
        said.append(f"  {summary.unread} instruments could not be read")
    said += [f"  {count} × {reason}" for reason, count in summary.reasons.items()]
    if summary.later:
        said.append(f"  of {summary.later} the same command may read more later")
    if summary.report is not None:
        said.append(f"  each of them: {summary.report}")
    return said
