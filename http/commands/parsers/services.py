"""Parsers of the commands that run a service: `serve`, `demo`, `simulator`."""

import argparse
from pathlib import Path

from onebroker.http.commands.parsers import words
from onebroker.http.commands.parsers.form import Commands, add_command, add_config


def add_parsers(commands: "Commands[argparse.ArgumentParser]") -> None:
    _add_serve(commands)
    _add_demo(commands)
    _add_replica(commands)
    _add_simulator(commands)


def _add_serve(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "serve",
        summary="run the service over the brokers of a settings file",
        about="""Run the service until SIGINT or SIGTERM. `onebroker config init` writes a settings file to begin with.

        Exit code 2 for wrong settings, 3 when the data directory is in use, 4 when the port is taken or Redis cannot be reached.""",
        example="onebroker serve --config onebroker.toml",
        runs="serve:run",
    )
    add_config(parser, "settings file (TOML); environment variables beat it")
    parser.set_defaults(usual_log_level="info", log_beside=True)


def _add_demo(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "demo",
        summary="run the service over simulated brokers; needs no settings",
        about="Run the whole service over ten simulated brokers on this machine. No order leaves the machine. Ctrl-C stops it; the same data "
        "directory goes on where it stopped.",
        example="onebroker demo --port 8001 --data-dir demo-data --no-past",
        runs="demo.command:run",
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help="address to listen at")
    parser.add_argument("--port", type=int, default=8000, metavar="PORT", help="port to listen at; 0 takes a free port")
    parser.add_argument("--api-key", default=words.DEMO_KEY, metavar="KEY", help="API key of the clients")
    parser.add_argument("--api-secret", default=words.DEMO_SECRET, metavar="SECRET", help="API secret of the clients")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path.home() / ".local" / "share" / "onebroker" / "demo",
        metavar="DIR",
        help="where the demo keeps its state",
    )
    _add_market(parser)
    parser.add_argument(
        "--market-hours",
        choices=("always", "real"),
        default="always",
        help="real: the hours and holidays of the exchanges",
    )
    parser.add_argument("--no-past", action="store_true", help="begin without candles and ticks of the past")
    parser.add_argument(
        "--alerts",
        type=Path,
        metavar="FILE",
        help="send messages to people as [alerts] of this settings file says (default: none)",
    )
    parser.set_defaults(log_beside=True)


def _add_replica(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "replica",
        summary="serve the documents and the stream of a running service to many readers",
        about="""Run a process that reads the stream of a service and serves its documents, quotes and stream, read-only, on this or another machine.
        It has no key of a broker, places nothing, and keeps nothing on disk. It takes the service's access token from its first client, or from
        a file.

        The settings file may have [service] with host, port, host_names and TLS files of the replica; all else in it is for serve. Exit code 2 for
        wrong settings, 4 when the port is taken.""",
        example="onebroker replica --of http://127.0.0.1:8000 --port 8100",
        runs="replica:run",
    )
    parser.add_argument("--of", required=True, metavar="URL", help="address of the service: http:// or https://")
    parser.add_argument(
        "--port",
        type=int,
        metavar="PORT",
        help="port to listen at; 0 takes a free port (default: that of the settings)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="file with the access token (default: wait for a client with it)",
    )
    parser.add_argument(
        "--ca", type=Path, metavar="FILE", help="certificates (PEM) that vouch for the service (default: the system's)"
    )
    add_config(parser)
    parser.set_defaults(usual_log_level="info", log_beside=True)


def _add_simulator(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "simulator",
        summary="run the simulated brokers alone",
        about="Run simulated brokers on this machine, without the service. It prints one JSON line for each broker with addresses, credentials and "
        "tokens, then the control API's address, then `ready`.",
        example="onebroker simulator --brokers zerodha,dhan --instruments 100",
        runs="simulator:run",
    )
    parser.add_argument(
        "--brokers", metavar="CODE,CODE", help=f"comma-separated codes of {', '.join(words.BROKERS)} (default: all)"
    )
    _add_market(parser)
    parser.add_argument("--port-base", type=int, metavar="P", help="first of consecutive ports (default: free ports)")
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="where it keeps its state (default: a temporary folder)"
    )
    parser.add_argument(
        "--market-hours",
        choices=("real", "always"),
        default="always",
        help="real: the hours and holidays of the exchanges",
    )
    parser.add_argument(
        "--exchange-documents",
        type=Path,
        metavar="FILE",
        help="hours and holidays of --market-hours real, a JSON array as `import exchanges` takes it (default: the documents that come with onebroker)",
    )
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when standard input is closed")


def _add_market(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--instruments",
        type=int,
        default=words.SIMULATED_INSTRUMENTS,
        metavar="N",
        help="instruments of the simulated market",
    )
    parser.add_argument(
        "--seed", type=int, default=words.SIMULATOR_SEED, metavar="S", help="the same number gives the same market"
    )
    parser.add_argument(
        "--now",
        metavar="T",
        help="start at this moment, such as 2026-11-23T09:10:00+05:30 (default: the present moment)",
    )
    parser.add_argument("--day-limits", action="store_true", help="enforce the brokers' day limits")
