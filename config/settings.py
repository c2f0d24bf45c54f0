"""The settings: TOML file and environment become one frozen `Settings`, read once, in one place (architecture 11).

A key in the environment (`ONEBROKER_<SECTION>_<KEY>`, `ONEBROKER_BROKERS_<CODE>_<KEY>`) overrides the file. Secrets
come from the environment or from a file that only its owner can open. The keys and second hosts of each broker are
passed in, because this folder knows no broker. No error quotes a value.

`config.settings_sources` reads the file, the files of secrets and the environment; this module makes the settings of what they hold.
"""

import ipaddress
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import attrs

from onebroker.config.converters import (
    StructureError,
    join,
    structure,
    unknown_key,
)
from onebroker.config.sections import (
    BROKER_SECTION_FIELDS,
    SECTIONS,
    AlertsSettings,
    AuditSettings,
    BrokerSettings,
    CadenceOverrides,
    ChainSettings,
    ChargesSettings,
    Credentials,
    EngineSettings,
    HistorySettings,
    RateOverrides,
    RateRow,
    RecordedInstruments,
    RedisSettings,
    SecretsSettings,
    ServiceSettings,
    Settings,
    StoreSettings,
    TickPlace,
)
from onebroker.config.settings_sources import ENVIRONMENT_PREFIX, KnownBrokers, SettingsError, Tree, read_sources

__all__ = [
    "AlertsSettings",
    "BROKER_ADDRESSES",
    "BROKER_SECTION_FIELDS",
    "AuditSettings",
    "BrokerSettings",
    "CadenceOverrides",
    "ChainSettings",
    "ChargesSettings",
    "Credentials",
    "EngineSettings",
    "HistorySettings",
    "RateOverrides",
    "RateRow",
    "RecordedInstruments",
    "TickPlace",
    "RedisSettings",
    "SECTIONS",
    "SecretsSettings",
    "KnownBrokers",
    "ServiceSettings",
    "Settings",
    "SettingsError",
    "StoreSettings",
    "build_settings",
    "load_settings",
]

BROKER_ADDRESSES = ("rest_url", "login_url", "stream_url", "order_stream_url", "instruments_url")
"""All are given together, or none (architecture 5)."""

_SCHEMES = {"http", "https", "ws", "wss"}


def load_settings(
    path: Path | None,
    environ: Mapping[str, str],
    *,
    known_brokers: KnownBrokers,
    second_hosts: KnownBrokers | None = None,
) -> Settings:
    """Read the TOML file at `path` (None = no file) and the ONEBROKER_ variables of `environ`.

    `known_brokers` holds each broker's credential keys. `second_hosts` holds the names of the further addresses that a
    broker needs besides BROKER_ADDRESSES (such as `order_url`).
    The files of secrets are read too; a relative path begins at the folder of `path`, without a file at the working directory.
    Raises SettingsError for an unreadable file, an unknown key, a wrong value, a secret in a file that others can read, a secret that is given
    twice in one place, or addresses that mix the simulator with real brokers.
    """
    tree, secret_files = read_sources(path, environ, known_brokers, second_hosts or {})
    service = tree.setdefault("service", {})
    if isinstance(service, dict):
        service.setdefault("data_dir", str(_default_data_dir(environ)))
    settings = build_settings(tree, known_brokers=known_brokers, second_hosts=second_hosts)
    in_environment = environ.get(f"{ENVIRONMENT_PREFIX}SECRETS_KEY")
    _refuse_key_beside_data(settings, secret_files.get("secrets.key", None if in_environment else path))
    return attrs.evolve(settings, secret_files=MappingProxyType(secret_files))


def _refuse_key_beside_data(settings: Settings, holder: Path | None) -> None:
    """Refuse keys in a file of the data directory: who copies the directory would have what opens it. `holder`: the file with the keys."""
    if settings.secrets.key is None or holder is None:
        return
    if holder.resolve().is_relative_to(settings.service.data_dir.resolve()):
        raise SettingsError(
            "secrets.key is in a file of service.data_dir, beside the values that it encrypts: move it to another folder"
        )


def build_settings(
    values: Mapping[str, Any], *, known_brokers: KnownBrokers, second_hosts: KnownBrokers | None = None
) -> Settings:
    """Return the settings that a plain mapping holds: sections and keys as in the file, without files of secrets. Raises SettingsError."""
    hosts = second_hosts or {}
    lines = [unknown_key("", name, [*SECTIONS, "brokers"]) for name in values if name not in (*SECTIONS, "brokers")]
    sections: Tree = {}
    for name, kind in SECTIONS.items():
        given = values.get(name, {})
        if name == "service" and isinstance(given, Mapping):
            given = {"data_dir": str(_default_data_dir({})), **given}
        sections[name] = _collect(lines, partial(structure, kind, given, name))
    brokers = _build_brokers(values.get("brokers", {}), known_brokers, hosts, lines)
    if not lines:
        lines += _mixed_brokers(brokers)
        lines += [
            unknown_key("engine.excluded_brokers", code, known_brokers)
            for code in sections["engine"].excluded_brokers
            if code not in known_brokers
        ]
    if lines:
        raise SettingsError(*lines)
    return Settings(brokers=MappingProxyType(brokers), **sections)


def _collect(lines: list[str], build: partial[Any]) -> Any:
    try:
        return build()
    except StructureError as error:
        lines += error.lines
        return None


# Brokers


def _build_brokers(
    given: object, known_brokers: KnownBrokers, second_hosts: KnownBrokers, lines: list[str]
) -> dict[str, BrokerSettings]:
    if not isinstance(given, Mapping):
        lines.append("brokers must be an object")
        return {}
    brokers: dict[str, BrokerSettings] = {}
    for code, values in given.items():
        path = f"brokers.{code}"
        if code not in known_brokers:
            lines.append(unknown_key("brokers", code, known_brokers))
        elif not isinstance(values, Mapping):
            lines.append(f"{path} must be an object")
        else:
            hosts = second_hosts.get(code, frozenset())
            problems = _unknown_broker_keys(path, values, known_brokers[code] | hosts)
            broker = _collect(problems, partial(_build_broker, path, values, known_brokers[code], hosts))
            lines += problems or _address_problems(path, broker, hosts)
            brokers[code] = broker
    return brokers


def _unknown_broker_keys(path: str, values: Mapping[str, Any], own: frozenset[str]) -> list[str]:
    known = {*BROKER_SECTION_FIELDS, *own}
    return [unknown_key(path, name, known) for name in values if name not in known]


def _build_broker(
    path: str, values: Mapping[str, Any], credential_keys: frozenset[str], hosts: frozenset[str]
) -> BrokerSettings:
    fields = {name: value for name, value in values.items() if name in BROKER_SECTION_FIELDS}
    broker = structure(BrokerSettings, fields, path)
    return attrs.evolve(
        broker,
        credentials=Credentials(_texts(path, values, credential_keys)),
        others=_texts(path, values, hosts),
    )


def _texts(path: str, values: Mapping[str, Any], names: frozenset[str]) -> dict[str, str]:
    given = {name: value for name, value in values.items() if name in names}
    wrong = [f"{join(path, name)} must be text" for name, value in given.items() if not isinstance(value, str)]
    wrong += [f"{join(path, name)} must not be empty" for name, value in given.items() if value == ""]
    if wrong:
        raise StructureError(wrong)
    return given


def _address_problems(path: str, broker: BrokerSettings, hosts: frozenset[str]) -> list[str]:
    needed = (*BROKER_ADDRESSES, *sorted(hosts))
    given = _addresses(broker)
    missing = [name for name in needed if name not in given]
    if given and missing:
        names = ", ".join(missing)
        return [f"{path} gives some addresses but not {names}: give all or none, so that real and simulated never mix"]
    wrong = [
        f"{join(path, name)} must be an address that begins with http://, https://, ws:// or wss://"
        for name, address in given.items()
        if not _is_address(address)
    ]
    if not wrong and len({_is_loopback(address) for address in given.values()}) > 1:
        return [f"{path} mixes addresses on this machine with real ones"]
    return wrong


def _mixed_brokers(brokers: Mapping[str, BrokerSettings]) -> list[str]:
    here: list[str] = []
    real: list[str] = []
    for code, broker in brokers.items():
        if broker.enabled:
            simulated = broker.rest_url is not None and _is_loopback(broker.rest_url)
            (here if simulated else real).append(code)
    if here and real:
        mixed = f"addresses on this machine ({', '.join(here)}) with real ones ({', '.join(real)})"
        return [f"brokers mixes {mixed}: give all enabled brokers addresses of one kind"]
    return []


def _addresses(broker: BrokerSettings) -> dict[str, str]:
    own = {name: getattr(broker, name) for name in BROKER_ADDRESSES}
    return {name: address for name, address in {**own, **broker.others}.items() if address is not None}


def _is_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


# The data directory


def _default_data_dir(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "onebroker"
