"""Each setting is read by the service: none is accepted and does nothing."""

import functools
import re
from pathlib import Path

import attrs

from onebroker.config.sections import BrokerSettings, EngineSettings, HistorySettings, ServiceSettings, StoreSettings
from tests.support.every_case import every_case

ROOT = Path(__file__).parents[2]
KINDS = {
    "service": ServiceSettings,
    "store": StoreSettings,
    "history": HistorySettings,
    "engine": EngineSettings,
    "brokers": BrokerSettings,
}
HOLDERS = "settings|store|service|engine|broker|history|own"


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
def test_every_setting_is_read_somewhere(section, key):
    assert key in names_read(), f"nothing reads {section}.{key}"
