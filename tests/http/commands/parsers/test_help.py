"""The help of every command: it is light, it says what the command does, gives one example, and says what holds without an option."""

import argparse
import importlib
import json
import subprocess
import sys

import pytest

from onebroker.actors.engine.intake.desk_fields import FLATTEN_WORD
from onebroker.actors.reference.state import COLLECTIONS
from onebroker.actors.store.durable import HaltMode
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.__main__ import add_arguments
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.intervals import INTERVALS
from onebroker.http.commands.history import formats, plot
from onebroker.http.commands.log_lines import FORMATS
from onebroker.http.commands.parsers import words
from tests.support.command_lines import Command, commands, runnable
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.unit

ALL = commands()
HEAVY = ("polars", "redis", "quart", "duckdb", "trio", "asks", "rich", "onebroker.actors", "onebroker.brokers")

_LOADED = """
import contextlib, io, json, sys
from onebroker.http.__main__ import main
said = {}
for arguments in json.loads(sys.stdin.read()):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(arguments)
    said[" ".join(arguments)] = sorted(sys.modules)
print(json.dumps(said))
"""


def test_help_and_version_import_nothing_of_the_product():
    asked = [[*command.name.split(), "--help"] for command in ALL] + [["--version"]]
    asked.append(["completion", "bash"])
    done = subprocess.run(
        [sys.executable, "-c", _LOADED],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    loaded = json.loads(done.stdout)
    assert len(loaded) == len(asked)
    for line, modules in loaded.items():
        assert [name for name in modules if name.startswith(HEAVY)] == [], line
    assert "onebroker.http.commands.parsers.all_commands" in modules


@pytest.mark.parametrize("command", ALL, ids=lambda command: command.name or "onebroker")
def test_the_help_describes_the_command_and_gives_one_example(command: Command):
    assert command.parser.description
    assert len(command.examples) == 1
    assert command.examples[0].startswith("onebroker ")
    shown = command.parser.format_help()
    assert f"Example:\n  {command.examples[0]}" in shown


@pytest.mark.parametrize("command", ALL, ids=lambda command: command.name or "onebroker")
def test_each_option_is_explained_and_says_what_holds_without_it(command: Command):
    for action in command.parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            continue
        name = "/".join(action.option_strings) or action.dest
        assert action.help, name
        takes_value = action.nargs != 0
        if takes_value and action.option_strings and not action.required:
            text = command.parser._get_formatter()._expand_help(action)  # type: ignore[attr-defined]
            assert "(default: " in text, name


def test_no_option_is_the_beginning_of_an_option_of_onebroker_itself():
    """argparse reads such an option as an abbreviation before it looks at the command."""
    own, *others = ALL
    names = [name for action in own.parser._actions for name in action.option_strings if name not in ("-h", "--help")]
    given = {name for command in others for action in command.parser._actions for name in action.option_strings}
    assert [name for name in given if any(long.startswith(name) for long in names)] == []


def test_every_command_names_a_function_that_runs_it():
    for command in runnable():
        module, _, function = command.parser.get_default("runs").partition(":")
        assert callable(getattr(importlib.import_module(f"onebroker.http.commands.{module}"), function)), command.name


def test_the_words_of_the_parsers_are_those_of_the_product():
    assert set(build_registry()) == set(words.BROKERS)
    assert tuple(map(str, TRADING_EXCHANGES)) == words.EXCHANGES
    assert tuple(INTERVALS) == words.INTERVALS
    assert words.COLLECTIONS == COLLECTIONS
    assert tuple(mode.value for mode in HaltMode) == words.HALT_MODES
    assert words.FLATTEN_WORD == FLATTEN_WORD
    assert words.LOG_FORMATS == FORMATS
    assert words.FILE_OPTIONS == formats.OPTIONS
    assert tuple(words.CHART_OPTIONS) == tuple(parameter.name for parameter in plot.ASKED)


def test_the_simulator_has_the_options_of_its_module():
    """`python -m onebroker.brokers.simulator` cannot share the parser: brokers import nothing of http."""

    def options(parser):
        return {
            action.option_strings[-1]: (action.dest, action.default, action.type, action.nargs, action.choices)
            for action in parser._actions
            if action.option_strings and action.dest != "help"
        }

    own = argparse.ArgumentParser()
    add_arguments(own)
    (command,) = [command for command in ALL if command.name == "simulator"]
    assert options(command.parser) == options(own)


def test_a_group_without_a_verb_shows_its_help():
    done = subprocess.run(
        [sys.executable, "-m", "onebroker.http", "history"], capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 2
    assert "backfill" in done.stderr


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    done = subprocess.run(
        [sys.executable, "-m", "onebroker.http", "--version"], capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert (done.returncode, done.stdout) == (0, f"onebroker {version('onebroker')}\n")
