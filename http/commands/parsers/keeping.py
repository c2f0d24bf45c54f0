"""Parsers of `backup`, `restore` and `store`."""

import argparse
from pathlib import Path

from onebroker.http.commands.parsers.form import Commands, add_command, add_config, add_data_dir, add_group, add_json


def add_parsers(commands: "Commands[argparse.ArgumentParser]") -> None:
    _add_backup(commands)
    _add_restore(commands)
    _add_store(commands)


def _add_backup(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "backup",
        summary="write the data directory into one file, with a running service and without",
        about="""Write everything that the data directory must not lose into one tar file that only its owner can read: open orders, logins, access
        token, halt, documents, instruments, history, audit. A running service goes on trading meanwhile. The settings file is not in it, and of a
        server at redis.url nothing is; candles in a database are not either.

        Exit code 2 when the file is there already, 3 when another command holds the data directory, 4 when a part could not be copied; then there is
        no file.""",
        example="onebroker backup onebroker-backup.tar --config onebroker.toml",
        runs="backup.command:run",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to write")
    add_config(parser)
    add_data_dir(parser, "the data directory to copy")


def _add_restore(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "restore",
        summary="make a data directory from a backup",
        about="""Make a new data directory from the file of `onebroker backup`, also from one that was packed by gzip or xz. Every hash is checked
        before anything is put in place. Stop the service of the old directory before you start the new one.

        Exit code 2 when the backup cannot be used or the directory is not empty, 3 when a service runs in it, 4 when the disk refuses.""",
        example="onebroker restore onebroker-backup.tar --data-dir restored-data",
        runs="backup.restore:run",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the backup")
    parser.add_argument(
        "--data-dir", type=Path, required=True, metavar="NEW", help="the directory to make; it is empty or not there"
    )


def _add_store(commands: "Commands[argparse.ArgumentParser]") -> None:
    verbs = add_group(
        commands,
        "store",
        summary="move the durable store to a PostgreSQL database and back",
        about="The durable store holds what must outlive Redis: access token, halt, documents, factors, how far the engine has written. It is a file of "
        "the data directory, or in the database of store.database. Candles are there too with store.candles.",
        example="onebroker store move --to database --config onebroker.toml",
    )
    parser = add_command(
        verbs,
        "move",
        summary="move it, and compare both sides at the end",
        about="""Copy the durable store table by table, compare both sides by counts and hashes, and note in the data directory where the store is. The
        service is stopped meanwhile. The side from which the store comes is not changed, but for candles, which leave the history file when both sides
        are equal. A move that was cut off goes on when the same command is run
        again.

        Exit code 2 for wrong use, 3 when a service or another command holds the data directory or the database, 4 when the database is away or the two
        sides are not equal.""",
        example="onebroker store move --to database --config onebroker.toml",
        runs="store:run_move",
    )
    parser.add_argument("--to", choices=("database", "files"), required=True, help="where the store is to be")
    parser.add_argument(
        "--replace", action="store_true", help="replace a store that the database holds already (only --to database)"
    )
    add_config(parser)
    add_json(parser, "print counts and hashes as JSON")
