"""Parsers of the commands about the running service: `login`, `check`, `status`, `alive`, `orders`, `token`, `halt`, `resume`, `flatten`,
`audit`."""

import argparse
from pathlib import Path

from onebroker.http.commands.parsers import words
from onebroker.http.commands.parsers.form import (
    Commands,
    add_command,
    add_config,
    add_data_dir,
    add_group,
    add_json,
    add_service,
)


def add_parsers(commands: "Commands[argparse.ArgumentParser]") -> None:
    _add_login(commands)
    _add_check(commands)
    _add_status(commands)
    _add_alive(commands)
    _add_orders(commands)
    _add_token(commands)
    _add_halt(commands)
    _add_resume(commands)
    _add_flatten(commands)
    _add_audit(commands)


def _add_login(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "login",
        summary="log in to a broker: with a person where it needs a person, at once where it does not",
        about="""Make a broker's login. Where the broker needs a person, the command prints the page to open. Then the broker sends you back to an
        address, and the command takes this address: it asks for it, takes `--redirect`, or catches it with `--listen`.

        A running service takes the login over; without a service the login is stored for the next start.""",
        example="onebroker login dhan --config onebroker.toml",
        runs="login:run",
    )
    parser.add_argument("broker", metavar="CODE", help=f"broker code, one of {', '.join(words.BROKERS)}")
    add_config(parser)
    parser.add_argument(
        "--redirect", metavar="URL", help="the address you were sent back to (default: the command asks for it)"
    )
    parser.add_argument(
        "--listen",
        type=int,
        metavar="PORT",
        help="catch the address on this loopback port (default: the command asks for it)",
    )
    parser.add_argument("--other-account", action="store_true", help="let it be of another account than the last login")
    add_json(parser)


def _add_check(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "check",
        summary="try out every configured broker; sends no order",
        about="""Try out every configured broker: the address its orders leave by, login, profile, each read, instruments, first tick. If a service
        runs, it does this over its own logins.

        Exit code 0 when everything works, 1 when something does not, 4 when no broker answered at all.""",
        example="onebroker check dhan --config onebroker.toml",
        runs="check:run",
    )
    parser.add_argument("broker", nargs="*", metavar="CODE", help="broker codes (default: all brokers of the settings)")
    add_service(parser)


def _add_status(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "status",
        summary="show the running service's health; needs no access token",
        about="""Show the health of the running service: clock, store, engine, halt, problems and what to do about them, brokers, and the ages of the
        documents.

        Exit code 0 when all is well, 1 when the service is degraded, 4 when no service runs.""",
        example="onebroker status --config onebroker.toml",
        runs="status:run",
    )
    parser.add_argument("--watch", action="store_true", help="show it anew each second until Ctrl-C")
    add_service(parser)


def _add_alive(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "alive",
        summary="ask whether the running service answers, for health checks of containers",
        about="""Ask GET /health of the service that the settings describe, over the network. It knows nothing of brokers and orders: `onebroker
        status` does.

        Exit code 0 when the service answers, 4 when it does not.""",
        example="onebroker alive --config onebroker.toml",
        runs="alive:run",
    )
    add_config(parser)
    parser.add_argument(
        "--seconds", type=float, default=5.0, metavar="N", help="how long the service may take (default: 5)"
    )


def _add_orders(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "orders",
        summary="show today's orders and the open parents; needs no access token",
        about="""Show the orders of the day at all brokers, and the unfinished parents of the order engine.

        Exit code 0 when both could be read, 1 when orders or parents could not be read, 4 when no service runs.""",
        example="onebroker orders --config onebroker.toml",
        runs="orders:run",
    )
    parser.add_argument("--parent", metavar="ID", help="only this parent and its orders (default: all of them)")
    add_service(parser)


def _add_token(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "token",
        summary="print the access token of the running service",
        about="""Print the access token alone on standard output: TOKEN=$(onebroker token --config onebroker.toml). How long it is valid is said on
        standard error. The token is the token that connect gives: all programs share it, and no program's token ends.""",
        example="onebroker token --config onebroker.toml",
        runs="access_token:run",
    )
    add_config(parser)
    add_data_dir(parser)
    add_json(parser, "print the token and the end of its life as JSON")


def _add_halt(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "halt",
        summary="stop trading until `onebroker resume`; works without the access token",
        about="""The running service stops trading. The halt holds until `onebroker resume`, also after a restart.

        Exit code 0 when trading is halted and nothing is under way, 1 when a message that was leaving has not been answered, 4 when no service runs
        or trading is not halted.""",
        example='onebroker halt --reason "the strategy is wrong" --config onebroker.toml',
        runs="halt:run",
    )
    parser.add_argument(
        "--mode",
        choices=words.HALT_MODES,
        default=words.HALT_MODES[0],
        help="what still leaves: exits and cancels (reduce_only), or only cancels (nothing)",
    )
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why; refused orders repeat it")
    add_service(parser)


def _add_resume(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "resume",
        summary="let trading go on after `onebroker halt`",
        about="Let the running service trade again after a halt. Exit code 4 when no service runs or trading is not resumed.",
        example="onebroker resume --config onebroker.toml",
        runs="resume:run",
    )
    add_service(parser)


def _add_flatten(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "flatten",
        summary="cancel every order and close every position at every broker",
        about="""The running service cancels every order and closes every position at every broker. On a terminal the command asks for the word
        FLATTEN.

        Exit code 0 when all is flat, 1 when something is not flat, 4 when no service runs or the service refuses.""",
        example="onebroker flatten --dry-run --config onebroker.toml",
        runs="flatten:run",
    )
    parser.add_argument("--dry-run", action="store_true", help="list what would be cancelled and closed; send nothing")
    parser.add_argument(
        "--yes",
        metavar=words.FLATTEN_WORD,
        help=f"the word {words.FLATTEN_WORD}, so that it is not asked for (default: asked for on a terminal)",
    )
    add_service(parser)


def _add_audit(commands: "Commands[argparse.ArgumentParser]") -> None:
    verbs = add_group(
        commands,
        "audit",
        summary="check the audit, or show the lines of a parent",
        about="The audit of the service: every order, answer, fill, request and login, one line each. Both verbs read its files, with a running "
        "service and without.",
        example="onebroker audit verify --config onebroker.toml",
    )
    verify = add_command(
        verbs,
        "verify",
        summary="find out whether a line was changed, removed, inserted or moved",
        about="Follow the chain of hashes through all files. Exit code 0 when the audit is whole, 1 when it is not, 4 when a file cannot be read.",
        example="onebroker audit verify --config onebroker.toml",
        runs="audit:run_verify",
    )
    show = add_command(
        verbs,
        "show",
        summary="print every line of a parent, of its legs and of its requests, oldest first",
        about="Print what the audit holds of a parent. Exit code 1 when there is no line of it, 4 when a file cannot be read.",
        example="onebroker audit show 7f3a1c52-0d5e-4c0b-9a53-3f0f1d8f6f10 --config onebroker.toml",
        runs="audit:run_show",
    )
    show.add_argument("parent", metavar="PARENT", help="the parent_id of an answer")
    add_json(show, "print the lines as they are in the file")
    for verb in (verify, show):
        add_config(verb)
        add_data_dir(verb, "the data directory whose audit is read")


def add_support_bundle(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "support-bundle",
        summary="write what a helper needs into one file, without secrets",
        about="""Write health, versions, settings without secrets, the log's last lines, the durable store's version and the sizes of the data
        directory's files into one tar.gz file. It works with a running service and without. Read the file before you send it: it names brokers,
        instruments and order ids.""",
        example="onebroker support-bundle bundle.tar.gz --config onebroker.toml",
        runs="support_bundle:run",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", default=Path("onebroker-support.tar.gz"), help="the file to write"
    )
    add_config(parser)
    add_data_dir(parser, "data directory of the service")
    parser.add_argument(
        "--service-log",
        type=Path,
        metavar="LOG",
        help="file with the service's log (default: none; the log goes to standard error)",
    )
