"""`onebroker instruments sync`: the running service fetches the brokers' instrument files and builds the catalogue now.

The command shows the progress and then the result: listings per broker, the instruments' segments, what was refused or
left out, what is missing. If a build already runs, the command joins it. Ctrl-C ends only the watching, not the build.
Exit code 0 when everything came, 1 when a broker or one of its files is missing from the result, 2 for wrong use, 4
when nothing was built or no service runs.
"""

import argparse
import sys
from pathlib import Path

import msgspec
import trio

from onebroker.actors.catalogue.report import BrokerReport, BuildReport
from onebroker.http.commands.command_settings import data_dir_of
from onebroker.http.commands.exit_codes import DONE, INTERRUPTED, NOTHING_REACHABLE, CommandFailed
from onebroker.http.commands.screen import Bar, Block, Table, write, write_json
from onebroker.http.commands.sync_display import Display
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service

SOMETHING_MISSING = 1
MOST_EXAMPLES = 2


def run(parsed: argparse.Namespace) -> int:
    data_dir = data_dir_of(parsed)
    display = None if parsed.json else Display(sys.stdout)
    try:
        report = trio.run(_sync, data_dir, display, strict_exception_groups=True)
    except KeyboardInterrupt:
        sys.stderr.write("\nno longer watching; the service goes on with the build\n")
        return INTERRUPTED
    if parsed.json:
        write_json(sys.stdout, report)
    else:
        write(sys.stdout, shown(report))
    return SOMETHING_MISSING if report.lost or report.missing else DONE


async def _sync(data_dir: Path, display: Display | None) -> BuildReport:
    on_progress = None if display is None else display.show
    try:
        done = await ask_service(data_dir / SOCKET_NAME, {"command": "instruments"}, on_progress)
    except NoService:
        raise CommandFailed(
            f"no service runs on {data_dir}; it builds the catalogue when it starts (onebroker serve)",
            NOTHING_REACHABLE,
        ) from None
    except ControlFailed as error:
        raise CommandFailed(f"the catalogue was not built: {error}", NOTHING_REACHABLE) from None
    finally:
        if display is not None:
            display.close()
    return msgspec.convert(done, BuildReport)


# The result


def shown(report: BuildReport) -> Block:
    """Return the report for people."""
    lines: list[str | Table | Bar] = [
        "", _brokers(report), "", _segments(report), "", f"{report.rows} instruments are mapped",
    ]  # fmt: skip
    if report.unlisted is not None and report.unlisted.rows:
        grown = report.unlisted
        lines.append(f"{grown.rows} are no longer listed: {grown.added} of them since the last mapping")
    return [*lines, *_remarks(report)]


def _brokers(report: BuildReport) -> Table:
    head = ["broker", "listings", "refused", "ambiguous", "uncategorised", "missing files"]
    return Table(
        head=head, rows=[_row(code, broker) for code, broker in report.brokers.items()], right=frozenset(head[1:])
    )


def _row(code: str, broker: BrokerReport) -> list[str]:
    if broker.error is not None:
        return [code, "nothing", "-", "-", "-", "-"]
    figures = (broker.rows, broker.refused, broker.ambiguous, broker.segments.get("uncategorised", 0))
    return [code, *map(str, figures), str(len(broker.missing))]


def _segments(report: BuildReport) -> Table:
    """Return one row per stored segment, with each broker's number of listings in it."""
    codes = [code for code, broker in report.brokers.items() if broker.error is None]
    names = sorted({name for code in codes for name in report.brokers[code].segments})
    rows = [[name, *(str(report.brokers[code].segments.get(name, "-")) for code in codes)] for name in names]
    return Table(head=["segment", *codes], rows=rows, right=frozenset(codes))


def _remarks(report: BuildReport) -> list[str]:
    remarks = [f"{code}: {why}" for code, why in report.lost.items()]
    for code, missing in report.missing.items():
        remarks += [f"{code} {name}: {why}" for name, why in missing.items()]
    for code, shrunk in report.shrunk.items():
        segments = report.brokers[code].segments
        remarks += [f"{code} lists {segments.get(name, 0)} in {name}, after {count}" for name, count in shrunk.items()]
    for code, broker in report.brokers.items():
        if broker.ambiguous:
            remarks.append(f"{code}: ambiguous, such as {', '.join(broker.examples[:MOST_EXAMPLES])}")
    if report.unlisted is not None and report.unlisted.trouble is not None:
        remarks.append(f"instruments no longer listed: {report.unlisted.trouble}")
    return ["", *remarks] if remarks else []
