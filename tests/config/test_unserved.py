"""A setting is either read by the service or refused when it is set: none is accepted and does nothing."""

import re
from pathlib import Path

import attrs
import pytest

from onebroker.config.sections import BrokerSettings, EngineSettings, HistorySettings, ServiceSettings
from onebroker.config.settings import build_settings
from onebroker.config.unserved import UNSERVED, unserved_values

ROOT = Path(__file__).parents[2]
KINDS = {"service": ServiceSettings, "history": HistorySettings, "engine": EngineSettings, "brokers": BrokerSettings}
CODE = "\n".join(path.read_text() for part in ("actors", "brokers", "http") for path in (ROOT / part).rglob("*.py"))


def settings(**sections):
    return build_settings(sections, known_brokers={"zerodha": frozenset({"api_key", "api_secret"})})


@pytest.mark.parametrize(
    ("section", "key"), [(section, field.name) for section, kind in KINDS.items() for field in attrs.fields(kind)]
)
def test_every_setting_is_read_somewhere_or_listed_as_unserved(section, key):
    read = re.search(rf"\b(settings|service|engine|broker|history|own)(\[\w+\])?(\.\w+)*\.{key}\b", CODE) is not None
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
