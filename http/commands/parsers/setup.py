"""Parsers of `config init|check|show|key`, of `alerts test` and of `completion`."""

import argparse
from pathlib import Path

from onebroker.http.commands.parsers.form import Commands, add_command, add_config, add_group, add_json

_FILE = Path("onebroker.toml")


def add_parsers(commands: "Commands[argparse.ArgumentParser]") -> None:
    verbs = add_group(
        commands,
        "config",
        summary="write, check and show the settings; make a key file",
        about="Write a settings file with every setting explained, check a settings file without starting the service, show what differs from the "
        "defaults, or make a key file.",
        example="onebroker config init onebroker.toml",
    )
    _add_verbs(verbs)
    _add_alerts(commands)
    _add_completion(commands)


def _add_alerts(commands: "Commands[argparse.ArgumentParser]") -> None:
    verbs = add_group(
        commands,
        "alerts",
        summary="try the receivers of alerts",
        about="Messages to people about orders, logins, feeds and the service itself, as [alerts] of the settings says.",
        example="onebroker alerts test --config onebroker.toml",
    )
    test = add_command(
        verbs,
        "test",
        summary="send one message to every receiver of alerts.to",
        about="Send one message to every receiver of alerts.to, and say which took it. No service needs to run. Exit code 1 when a receiver did not "
        "take it, 2 when there is none.",
        example="onebroker alerts test --config onebroker.toml",
        runs="alerts:run",
    )
    add_config(test)
    add_json(test, "print the answers as JSON")


def _add_verbs(verbs: "Commands[argparse.ArgumentParser]") -> None:
    init = add_command(
        verbs,
        "init",
        summary="write a settings file with a new API key and secret",
        about="Write a settings file that holds every setting with its default and its meaning, and a new API key and secret. Only its owner can read "
        "it (mode 0600). An existing file is never overwritten.",
        example="onebroker config init new.toml",
        runs="config:run_init",
    )
    _add_path(init, "the file to write")
    check = add_command(
        verbs,
        "check",
        summary="read a settings file as `serve` does, without starting",
        about="Read a settings file and the environment as `serve` does, and say what `serve` would say. Exit code 2 when `serve` would refuse to "
        "start.",
        example="onebroker config check onebroker.toml",
        runs="config:run_check",
    )
    _add_path(check, "the settings file")
    show = add_command(
        verbs,
        "show",
        summary="show the settings that differ from their defaults",
        about="Show each setting that differs from its default, one a line. Secrets are shown as ***, addresses without their password.",
        example="onebroker config show --config onebroker.toml",
        runs="config:run_show",
    )
    add_config(show)
    add_json(show, "print the settings as a JSON object")
    key = add_command(
        verbs,
        "key",
        summary="write a new key file, which encrypts stored logins",
        about="Write a file with a new key that only its owner can read (mode 0600). With [secrets] key_file the service encrypts the logins and the "
        "access token that it stores. An existing file is not changed, unless --add puts a new key in front of its keys: the new key encrypts, and all "
        "keys decrypt.",
        example="onebroker config key new.key",
        runs="config:run_key",
    )
    key.add_argument("path", type=Path, metavar="FILE", help="the file to write, outside of the data directory")
    key.add_argument("--add", action="store_true", help="put a new key in front of the keys of an existing file")


def _add_path(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("path", nargs="?", type=Path, default=_FILE, metavar="PATH", help=what)


def _add_completion(commands: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        commands,
        "completion",
        summary="print a script that completes the commands in a shell",
        about="""Print the script that lets a shell complete commands and options at the Tab key. It needs the extra `completion`: pip install
        'onebroker[completion]'.

        bash: onebroker completion bash > ~/.local/share/bash-completion/completions/onebroker

        zsh: onebroker completion zsh > a file named _onebroker in a folder of $fpath""",
        example="onebroker completion bash",
        runs="completion:run",
    )
    parser.add_argument("shell", choices=("bash", "zsh"), help="the shell that reads the script")
    parser.set_defaults(has_log=False)  # nothing to log, and the log is not imported
