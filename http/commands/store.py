"""`onebroker store …`: what concerns the place of the durable store. The verbs need psycopg, which is an extra, so the settings are looked at first."""

import argparse

from onebroker.actors.store.open_durable import database_durable
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import WRONG_USE, CommandFailed


def run_move(parsed: argparse.Namespace) -> int:
    settings = read_settings(parsed.config)
    if settings.store.database is None:
        raise CommandFailed(
            "store.database is not set: it names the database, to move there and to move back (docs/operations/database.md)",
            WRONG_USE,
        )
    durable = database_durable(settings.store)
    from onebroker.http.commands.store_move import run_move as move

    return move(parsed, settings, durable)
