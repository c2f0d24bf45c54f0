"""`onebroker serve`: runs the service over the brokers of a settings file."""

import argparse
import sys
from functools import partial

import trio

from onebroker.actors.alerts.actor import AlertInputs
from onebroker.actors.alerts.start import alert_inputs
from onebroker.actors.health.calendar_problems import calendar_line
from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.tree import Tree
from onebroker.brokers.broker import Registry
from onebroker.brokers.registry import build_registry
from onebroker.config.charges.rows import Charges
from onebroker.config.clock import Clock, awake_seconds
from onebroker.config.events import Started
from onebroker.config.settings import Settings
from onebroker.http.commands.config import settings_to_serve
from onebroker.http.commands.exit_codes import DONE
from onebroker.http.commands.service_process import ServiceOptions, run_service
from onebroker.http.commands.start_facts import login_kinds, no_file_lines, start_lines
from onebroker.http.commands.stored_formats import open_data_directory
from onebroker.http.listener.gc_pauses import imports_put_aside


def run(parsed: argparse.Namespace) -> int:
    registry = build_registry()
    with imports_put_aside():  # the codecs of the brokers in service
        settings, charges = settings_to_serve(parsed.config, registry)
    alerts = alert_inputs(settings.alerts)
    with open_data_directory(settings.service.data_dir) as directory:
        trio.run(
            partial(_serve, settings, charges, alerts, registry, directory, has_file=parsed.config is not None),
            strict_exception_groups=True,
        )
    return DONE


async def _serve(
    settings: Settings,
    charges: Charges,
    alerts: AlertInputs | None,
    registry: Registry,
    directory: DataDirectory,
    *,
    has_file: bool,
) -> None:
    clock = Clock(awake=awake_seconds())

    def say(event: Started, address: str, tree: Tree) -> None:
        facts = start_lines(event, address, login_kinds(tree), calendar_line(tree.calendar, clock.today()))
        lines = [*facts, *no_file_lines(event, has_file=has_file)]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    await run_service(
        ServiceOptions(
            settings=settings,
            charges=charges,
            alerts=alerts,
            registry=registry,
            clock=clock,
            data_directory=directory,
            day_limits=True,
            on_start=say,
        )
    )
