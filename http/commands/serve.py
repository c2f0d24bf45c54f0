"""`onebroker serve`: runs the service over the brokers of a settings file."""

import argparse
import sys

import trio

from onebroker.actors.health.calendar_problems import calendar_line
from onebroker.actors.sessions.brokers_in_service import require_credentials
from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.tree import Tree
from onebroker.brokers.registry import build_registry
from onebroker.config.charges.load import load_charges
from onebroker.config.charges.rows import Charges
from onebroker.config.clock import Clock, awake_seconds
from onebroker.config.events import Started
from onebroker.config.network_exposure import exposures
from onebroker.config.settings import Settings, SettingsError
from onebroker.config.unserved_settings import unserved_values
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE
from onebroker.http.commands.service_process import ServiceOptions, run_service
from onebroker.http.commands.start_facts import login_kinds, start_lines


def run(parsed: argparse.Namespace) -> int:
    registry = build_registry()
    settings = read_settings(parsed.config)
    if refused := [*unserved_values(settings), *exposures(settings.service)]:
        raise SettingsError(*refused)
    require_credentials(registry, settings.brokers)
    charges = load_charges(settings.charges.file, brokers=tuple(registry))
    with DataDirectory(settings.service.data_dir) as directory:
        trio.run(_serve, settings, charges, directory, strict_exception_groups=True)
    return DONE


async def _serve(settings: Settings, charges: Charges, directory: DataDirectory) -> None:
    clock = Clock(awake=awake_seconds())

    def say(event: Started, address: str, tree: Tree) -> None:
        lines = start_lines(event, address, login_kinds(tree), calendar_line(tree.calendar, clock.today()))
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    await run_service(
        ServiceOptions(
            settings=settings,
            charges=charges,
            registry=build_registry(),
            clock=clock,
            data_directory=directory,
            day_limits=True,
            on_start=say,
        )
    )
