"""The settings of a command: from the file of `--config` and from the environment, as the service reads them."""

import argparse
import os
from pathlib import Path

from onebroker.brokers.registry import build_registry
from onebroker.config.settings import Settings, StoreSettings, load_settings
from onebroker.http.commands.service_process import known_brokers, second_hosts


def read_settings(config: Path | None) -> Settings:
    """Return the settings of the file `config` (None = no file) and of the environment. Raises SettingsError."""
    registry = build_registry()
    return load_settings(config, os.environ, known_brokers=known_brokers(registry), second_hosts=second_hosts(registry))


def place_of(parsed: argparse.Namespace) -> tuple[Path, StoreSettings]:
    """Return the data directory of `--data-dir` or of the settings, and where its durable store is.

    The settings are read only if the options do not give the data directory, or name a settings file. Raises SettingsError.
    """
    given: Path | None = parsed.data_dir
    if given is not None and parsed.config is None:
        return given.expanduser(), StoreSettings()
    settings = read_settings(parsed.config)
    return settings.service.data_dir if given is None else given.expanduser(), settings.store


def data_dir_of(parsed: argparse.Namespace) -> Path:
    """Return the data directory of `--data-dir`, or else of the settings, which are read only then. Raises SettingsError."""
    given: Path | None = parsed.data_dir
    return read_settings(parsed.config).service.data_dir if given is None else given.expanduser()
