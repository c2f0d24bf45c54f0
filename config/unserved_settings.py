"""Settings that exist but that this version does not serve. `serve` reports them at the start, because a limit that is
accepted and does nothing is worse than no limit. When a part of onebroker serves a setting, remove the setting from the
table.
"""

import attrs

from onebroker.config.sections import BrokerSettings, EngineSettings, HistorySettings, ServiceSettings, Settings

UNSERVED: dict[str, frozenset[str]] = {
    "service": frozenset({"fast_lane"}),
    "history": frozenset(),
    "engine": frozenset(),
    "brokers": frozenset(),
}
"""Section -> keys."""

_SECTIONS: dict[str, type] = {"service": ServiceSettings, "history": HistorySettings, "engine": EngineSettings}


def unserved_values(settings: Settings) -> list[str]:
    """Return one line for each unserved setting whose value differs from its default."""
    lines = [
        _line(f"{section}.{name}")
        for section, kind in _SECTIONS.items()
        for name in sorted(UNSERVED[section])
        if getattr(getattr(settings, section), name) != _default(kind, name)
    ]
    for code, broker in settings.brokers.items():
        lines += [
            _line(f"brokers.{code}.{name}")
            for name in sorted(UNSERVED["brokers"])
            if getattr(broker, name) != _default(BrokerSettings, name)
        ]
    return lines


def _default(kind: type, name: str) -> object:
    default: object = getattr(attrs.fields(kind), name).default
    return default


def _line(path: str) -> str:
    return f"{path} is not served by this version, so it must not be set"
