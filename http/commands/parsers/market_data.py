"""Parsers of the commands about data: `instruments`, `import`, `history`, `factors`."""

import argparse
import uuid
from datetime import date, datetime
from pathlib import Path

from onebroker.http.commands.parsers import words
from onebroker.http.commands.parsers.form import (
    Commands,
    add_command,
    add_config,
    add_data_dir,
    add_group,
    add_json,
)


def add_parsers(commands: "Commands[argparse.ArgumentParser]") -> None:
    _add_instruments(commands)
    _add_import(commands)
    _add_history(commands)
    _add_factors(commands)


def _add_places(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    add_data_dir(parser, "data directory, in place of that of the settings")
    add_json(parser, "print the result as JSON")


def _add_instruments(commands: "Commands[argparse.ArgumentParser]") -> None:
    verbs = add_group(
        commands,
        "instruments",
        summary="the instrument catalogue: `instruments sync` builds it now",
        about="The catalogue of instruments, which the running service builds each morning from the brokers' instrument files.",
        example="onebroker instruments sync --config onebroker.toml",
    )
    sync = add_command(
        verbs,
        "sync",
        summary="fetch the brokers' instrument files and build today's catalogue now",
        about="""The running service fetches the brokers' instrument files and builds the catalogue now. If a build already runs, the command joins
        it. Ctrl-C ends only the watching.

        Exit code 1 when a broker or a broker's file is missing from the result, 4 when nothing was built or no service runs.""",
        example="onebroker instruments sync --config onebroker.toml",
        runs="instruments:run",
    )
    add_config(sync)
    add_data_dir(sync)
    add_json(sync, "print the build's report as JSON, and no progress")


def _add_import(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "import",
        summary="replace the users', brokers' or exchanges' documents",
        about="Replace a whole collection of reference documents by those of a JSON array, or nothing. A running service serves the new documents at "
        "once.",
        example="onebroker import users users.json --config onebroker.toml",
        runs="import_documents:run",
    )
    parser.add_argument("collection", choices=words.COLLECTIONS, help="the collection to replace")
    parser.add_argument("file", metavar="FILE", help="JSON array of documents; - for standard input")
    _add_places(parser)


def _add_history(commands: "Commands[argparse.ArgumentParser]") -> None:
    verbs = add_group(
        commands,
        "history",
        summary="load candles and ticks, read them from the brokers, and look through them",
        about="Candles and ticks: load them from files, read them from the brokers, search them for mistakes, and draw them.",
        example="onebroker history check --config onebroker.toml",
    )
    _add_load(verbs)
    _add_history_check(verbs)
    _add_rename(verbs)
    _add_backfill(verbs)
    _add_plot(verbs)
    _add_archive(verbs)


def _add_load(verbs: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        verbs,
        "load",
        summary="load candles or ticks from CSV or Parquet files",
        about="""Load candles or ticks from CSV files with a header or from Parquet files, also from the exchanges' bhavcopies. Each wrong row is
        reported, and the other rows are loaded. After a kill the same command goes on where it stopped.

        Exit code 1 when rows were refused or overwrote other rows of their file.""",
        example="onebroker history load candles.csv --create --config onebroker.toml",
        runs="history.command:run_load",
    )
    parser.add_argument("file", nargs="+", type=Path, metavar="FILE", help="CSV with a header, or Parquet")
    parser.add_argument("--create", action="store_true", help="enter instruments that are not known")
    for name in words.FILE_OPTIONS:
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="VALUE",
            help=f"the {name} of all rows, for files that do not say it (default: as the file says)",
        )
    _add_places(parser)


def _add_history_check(verbs: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        verbs,
        "check",
        summary="list gaps, duplicate bars and jumps that no factor explains",
        about="Search the stored candles for gaps, duplicate bars and jumps that no factor explains. Exit code 1 when something was found.",
        example="onebroker history check --config onebroker.toml",
        runs="history.command:run_check",
    )
    _add_places(parser)


def _add_rename(verbs: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        verbs,
        "rename",
        summary="read the history of a renamed instrument through under its new name",
        about="Record that an instrument had another name before a day. Then the history of the new name begins with that of the old name.",
        example="onebroker history rename TATAMOTORS TMPV --from 2025-10-24 --config onebroker.toml",
        runs="history.rename:run",
    )
    parser.add_argument("old", metavar="OLD", help="symbol, or instrument_id, of before")
    parser.add_argument("new", metavar="NEW", help="symbol, or instrument_id, since")
    parser.add_argument(
        "--from", dest="from_day", required=True, metavar="DAY", help="first day under the new name, YYYY-MM-DD"
    )
    parser.add_argument("--exchange", default="nse", metavar="EXCHANGE", help="of the symbols")
    parser.add_argument("--segment", default="equities", metavar="SEGMENT", help="of the symbols")
    parser.add_argument("--forget", action="store_true", help="take it back")
    _add_places(parser)


def _add_backfill(verbs: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        verbs,
        "backfill",
        summary="read candles from the brokers, over the running service",
        about="""The running service reads candles from its brokers into the history store, within their limits and after all other work. After a
        kill, Ctrl-C or a broker that could not be asked, the same command continues with the rest.

        Exit code 1 when candles were refused or instruments could not be read, 4 when no service runs or nothing could be asked.""",
        example="onebroker history backfill --from 2026-11-16 --to 2026-11-20 --exchange nse --segment equities --symbol INFY --config onebroker.toml",
        runs="history.backfill:run",
    )
    parser.add_argument(
        "--interval",
        default=words.INTERVALS[0],
        choices=words.INTERVALS,
        metavar="INTERVAL",
        help="day, 1minute, 5minute ...",
    )
    parser.add_argument(
        "--from", dest="first", required=True, type=_day, metavar="DAY", help="first day, such as 2024-01-01"
    )
    parser.add_argument("--to", dest="last", type=_day, metavar="DAY", help="last day (default: up to now)")
    parser.add_argument(
        "--broker", choices=words.BROKERS, metavar="CODE", help="ask this broker only (default: all brokers)"
    )
    parser.add_argument(
        "--exchange", choices=words.EXCHANGES, metavar="EXCHANGE", help="all of this exchange (default: any exchange)"
    )
    parser.add_argument(
        "--segment", metavar="SEGMENT", help="all of this segment, such as equities (default: any segment)"
    )
    parser.add_argument(
        "--symbol",
        action="append",
        default=[],
        metavar="SYMBOL",
        help="of these only this symbol or underlying; may be repeated (default: all)",
    )
    parser.add_argument(
        "--instrument-id",
        action="append",
        default=[],
        type=_id,
        metavar="ID",
        help="this instrument; may be repeated (default: the instruments that have candles)",
    )
    _add_places(parser)


def _day(text: str) -> date:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007  # a day, not a moment
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a day such as 2024-01-01") from None


def _id(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a UUID") from None


def _add_archive(verbs: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        verbs,
        "archive",
        summary="try the place of archived ticks, and list its days",
        about="""Try whether the folder or the object store of `history.tick_archive` takes files, and list the days that have a file there; or copy
        the file of a day. It works with and without a running service.

        Exit code 1 when there is no file of the day, 4 when the place cannot be used.""",
        example="onebroker history archive --config onebroker.toml",
        runs="history.archive:run",
    )
    parser.add_argument(
        "--fetch",
        type=_day,
        metavar="DAY",
        help="copy the file of this day, such as 2026-11-23; with --to (default: list the days)",
    )
    parser.add_argument("--to", type=Path, metavar="FILE", help="where to copy it to; with --fetch (default: nowhere)")
    add_config(parser)
    add_json(parser, "print the days as JSON")


def _add_plot(verbs: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        verbs,
        "plot",
        summary="draw candles of the running service as an SVG file",
        about="Draw an instrument's candles as an SVG file. The command reads them from the running service as any client does.",
        example="onebroker history plot --exchange nse --segment equities --symbol INFY --days 365 --config onebroker.toml",
        runs="history.plot:run",
    )
    for name, doc in words.CHART_OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", dest=f"ask_{name}", metavar="VALUE", help=doc)
    parser.set_defaults(ask_interval=words.INTERVALS[0])
    parser.add_argument("--output", type=Path, default=Path("chart.svg"), metavar="FILE", help="the file to write")
    parser.add_argument("--url", metavar="URL", help="address of the service (default: that of the settings)")
    add_config(parser, "settings file (TOML); key and secret of the API come from it")


def _add_factors(commands: "Commands[argparse.ArgumentParser]") -> None:
    verbs = add_group(
        commands,
        "factors",
        summary="load adjustment factors of corporate actions",
        about="Adjustment factors of splits, bonuses, dividends and rights.",
        example="onebroker factors load factors.csv --config onebroker.toml",
    )
    parser = add_command(
        verbs,
        "load",
        summary="load factors from a CSV or Parquet file",
        about="Load adjustment factors from a CSV file with a header or from a Parquet file. Exit code 1 when rows were refused.",
        example="onebroker factors load factors.csv --create --config onebroker.toml",
        runs="history.factors:run_load",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="CSV with a header, or Parquet")
    parser.add_argument("--create", action="store_true", help="enter instruments that are not known")
    _add_places(parser)
