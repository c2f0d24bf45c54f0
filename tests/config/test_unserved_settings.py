"""A setting is either read by the service or refused when it is set: none is accepted and does nothing."""

import functools
import re
from pathlib import Path

import attrs
import pytest

from onebroker.config.sections import BrokerSettings, EngineSettings, HistorySettings, ServiceSettings
from onebroker.config.settings import build_settings
from onebroker.config.unserved_settings import UNSERVED, unserved_values
from tests.support.every_case import every_case

ROOT = Path(__file__).parents[2]
KINDS = {"service": ServiceSettings, "history": HistorySettings, "engine": EngineSettings, "brokers": BrokerSettings}
HOLDERS = "settings|service|engine|broker|history|own"


def settings(**sections):
    return build_settings(sections, known_brokers={"zerodha": frozenset({"api_key", "api_secret"})})


@functools.cache
def names_read() -> frozenset[str]:
    """Every name that the code reads of a holder of settings, directly or of what it read of it."""
    folders = (path for part in ("actors", "brokers", "http") for path in (ROOT / part).rglob("*.py"))
    code = "\n".join(path.read_text() for path in (*folders, ROOT / "config/network_exposure.py"))
    # Looked ahead for, as one holder may stand in another's chain.
    chains = re.finditer(rf"(?=\b(?:{HOLDERS})(?:\[\w+\])?((?:\.\w+)+))", code)
    return frozenset(name for chain in chains for name in chain[1].split("."))


@every_case(
    ("section", "key"), [(section, field.name) for section, kind in KINDS.items() for field in attrs.fields(kind)]
)
def test_every_setting_is_read_somewhere_or_listed_as_unserved(section, key):
    read = key in names_read()
    assert read != (key in UNSERVED[section]), f"{section}.{key}: read {read}"


def test_defaults_say_nothing():
    assert unserved_values(settings()) == []


@pytest.mark.parametrize(
    ("path", "sections"),
    [
        ("service.fast_lane", {"service": {"fast_lane": False}}),
    ],
)
def test_a_value_that_would_do_nothing_is_named(path, sections):
    assert unserved_values(settings(**sections)) == [f"{path} is not served by this version, so it must not be set"]
