"""Parsers of `backup` and `restore`."""

import argparse
from pathlib import Path

from onebroker.http.commands.parsers.form import Commands, add_command, add_config, add_data_dir


def add_parsers(commands: "Commands[argparse.ArgumentParser]") -> None:
    _add_backup(commands)
    _add_restore(commands)


def _add_backup(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "backup",
        summary="write the data directory into one file, with a running service and without",
        about="""Write everything that the data directory must not lose into one tar file that only its owner can read: open orders, logins, access
        token, halt, documents, instruments, history, audit. A running service goes on trading meanwhile. The settings file is not in it, and of a
        server at redis.url nothing is.

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
