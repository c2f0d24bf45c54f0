"""The settings: TOML file and environment become one frozen `Settings`, read once, in one place (architecture 11).

A key in the environment (`ONEBROKER_<SECTION>_<KEY>`, `ONEBROKER_BROKERS_<CODE>_<KEY>`) overrides the file. Secrets
come from the environment or from a file that only its owner can open. The keys and second hosts of each broker are
passed in, because this folder knows no broker. No error quotes a value.

Every secret can also be in a file of its own (`config.secret_files`). For each secret the first of these counts: its variable or the variable of
its file, its credential in $CREDENTIALS_DIRECTORY, its setting or the setting of its file.
"""

import ipaddress
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, get_args, get_origin
from urllib.parse import urlsplit

import attrs
import msgspec

from onebroker.config.converters import (
    Secret,
    SecretUrl,
    StructureError,
    WrongValueError,
    join,
    nearest,
    structure,
    unknown_key,
)
from onebroker.config.secret_files import (
    CREDENTIALS_DIRECTORY,
    SettingPath,
    credential_files,
    file_setting,
    is_secret,
    read_secret,
)
from onebroker.config.sections import (
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
)

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
    "RedisSettings",
    "SECTIONS",
    "SecretsSettings",
    "KnownBrokers",
    "ServiceSettings",
    "Settings",
    "SettingsError",
    "build_settings",
    "load_settings",
]

BROKER_ADDRESSES = ("rest_url", "login_url", "stream_url", "order_stream_url", "instruments_url")
"""All are given together, or none (architecture 5)."""

ENVIRONMENT_PREFIX = "ONEBROKER_"

SECTIONS: dict[str, type] = {
    "service": ServiceSettings,
    "redis": RedisSettings,
    "history": HistorySettings,
    "engine": EngineSettings,
    "charges": ChargesSettings,
    "audit": AuditSettings,
    "alerts": AlertsSettings,
    "chain": ChainSettings,
    "secrets": SecretsSettings,
}
"""Section of the file -> its class; `brokers` is beside them."""
BROKER_SECTION_FIELDS = tuple(
    field.name for field in attrs.fields(BrokerSettings) if field.name not in ("others", "credentials")
)
"""Settings that every broker's section may hold, besides its own keys and second hosts."""
_SCHEMES = {"http", "https", "ws", "wss"}

KnownBrokers = Mapping[str, frozenset[str]]
Tree = dict[str, Any]


class SettingsError(Exception):
    """The settings cannot be used; `lines` holds one sentence for each problem. No sentence quotes a value."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        super().__init__("\n".join(lines))


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
    tree = _read_file(path) if path is not None else {}
    if path is not None and (secrets := sorted(_secret_keys(tree, known_brokers))):
        _refuse_loose_file(path, secrets)
    key_in_file = "key" in _table(tree, "secrets")
    named = _named_files(tree, environ, known_brokers)
    _overlay(tree, environ, known_brokers, second_hosts or {}, named)
    secret_files = _read_secret_files(tree, named, Path() if path is None else path.parent)
    service = tree.setdefault("service", {})
    if isinstance(service, dict):
        service.setdefault("data_dir", str(_default_data_dir(environ)))
    settings = build_settings(tree, known_brokers=known_brokers, second_hosts=second_hosts)
    _refuse_key_beside_data(settings, secret_files.get("secrets.key", path if key_in_file else None))
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


# The file


def _read_file(path: Path) -> Tree:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # TOML errors name a line and never quote its text.
        raise SettingsError(f"{path} is not valid TOML: {error}") from None


def _secret_keys(tree: Tree, known_brokers: KnownBrokers) -> Iterator[str]:
    for section, name, kind in _secret_fields():
        value = _table(tree, section).get(name)
        if value is not None and (_plain_kind(kind) is not SecretUrl or "@" in str(value)):
            yield join(section, name)
    brokers = _table(tree, "brokers")
    for code in brokers:
        # Every key of an unknown broker may be a secret.
        own = known_brokers.get(code, frozenset(_table(brokers, code)))
        yield from (join(f"brokers.{code}", name) for name in _table(brokers, code) if name in own)


def _secret_fields() -> Iterator[tuple[str, str, Any]]:
    """Yield section, name and type of each secret setting outside of the brokers."""
    for section, cls in SECTIONS.items():
        yield from ((section, field.name, field.type) for field in attrs.fields(cls) if is_secret(field.type))


def _refuse_loose_file(path: Path, secrets: list[str]) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise SettingsError(
            f"{path} holds secrets ({', '.join(secrets)}) and others than its owner can open it (mode {mode:04o}):"
            f" run chmod 600 {path}, or give them in the environment"
        )


def _table(tree: Mapping[str, Any], name: str) -> Tree:
    value = tree.get(name)
    return value if isinstance(value, dict) else {}


def _default_data_dir(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "onebroker"


# The files of secrets


@attrs.frozen
class _NamedFile:
    """A file that holds the secret of a setting."""

    kind: Any
    """The setting's type."""
    label: str
    """The setting, variable or credential that names the file, for sentences."""
    file: object
    """The path as it was given."""


NamedFiles = dict[SettingPath, _NamedFile]


def _named_files(tree: Tree, environ: Mapping[str, str], known_brokers: KnownBrokers) -> NamedFiles:
    """Take the `_file` settings out of the tree, then the credentials of $CREDENTIALS_DIRECTORY, which replace settings. Raises SettingsError."""
    named: NamedFiles = {}
    lines: list[str] = []
    for path, kind in _secret_settings(_table(tree, "brokers"), known_brokers).items():
        table = _innermost(tree, path)
        at_file = file_setting(path)
        if at_file[-1] not in table:
            continue
        if path[-1] in table:
            lines.append(_both(".".join(path), ".".join(at_file)))
        named[path] = _NamedFile(kind, ".".join(at_file), table.pop(at_file[-1]))
    try:
        credentials = credential_files(environ)
    except OSError as error:
        raise SettingsError(f"the folder of ${CREDENTIALS_DIRECTORY} cannot be read: {error.strerror}") from None
    codes = {name.split(".")[1] for name in credentials if name.startswith("brokers.")}
    secrets = {".".join(path): (path, kind) for path, kind in _secret_settings(codes, known_brokers).items()}
    for name, file in credentials.items():
        if name in secrets:
            path, kind = secrets[name]
            _innermost(tree, path).pop(path[-1], None)
            named[path] = _NamedFile(kind, f"the credential {name}", file)
        elif name.split(".")[0] in (*SECTIONS, "brokers") and "." in name:
            section, _, key = name.rpartition(".")
            beside = [path[-1] for path, _ in secrets.values() if ".".join(path[:-1]) == section]
            lines.append(f"the credential {name} is no secret setting{nearest(key, beside)}")
    if lines:
        raise SettingsError(*lines)
    return named


def _secret_settings(codes: Iterable[str], known_brokers: KnownBrokers) -> dict[SettingPath, Any]:
    """Return place and type of each secret setting, of the brokers `codes` too."""
    found: dict[SettingPath, Any] = {(section, name): kind for section, name, kind in _secret_fields()}
    found.update({("brokers", code, name): str for code in codes for name in known_brokers.get(code, ())})
    return found


def _innermost(tree: Tree, path: SettingPath) -> Tree:
    """Return the table that holds the setting at `path`; an empty one where the file has none."""
    for name in path[:-1]:
        tree = _table(tree, name)
    return tree


def _both(name: str, file_name: str) -> str:
    return f"{name} and {file_name} are both given: give one of them"


def _read_secret_files(tree: Tree, named: NamedFiles, folder: Path) -> dict[str, Path]:
    """Write the text of each named file into the tree. Return setting -> file. Raises SettingsError."""
    lines: list[str] = []
    read: dict[str, Path] = {}
    for path, given in named.items():
        if not isinstance(given.file, (str, Path)):
            lines.append(f"{given.label} must be text")
            continue
        file = folder / Path(given.file).expanduser()
        try:
            text = read_secret(file)
        except WrongValueError as error:
            lines.append(f"{given.label} names a file that {error}")
        else:
            _put(tree, path, _from_text(text, given.kind))
            read[".".join(path)] = file
    if lines:
        raise SettingsError(*lines)
    return read


# The environment


def _overlay(
    tree: Tree,
    environ: Mapping[str, str],
    known_brokers: KnownBrokers,
    second_hosts: KnownBrokers,
    named: NamedFiles,
) -> None:
    """Write the ONEBROKER_ variables into the tree, each as a plain value of its field's kind, and those that name files of secrets into `named`.

    An empty variable counts as not set, because `NAME=${NAME:-}` in a unit or compose file leaves an empty variable
    behind.
    """
    lines: list[str] = []
    given = sorted(name for name in environ if name.startswith(ENVIRONMENT_PREFIX))
    codes = _named_brokers(given, known_brokers)
    kinds = _variable_kinds(codes, known_brokers, second_hosts)
    secrets = _secret_settings(codes, known_brokers)
    of_files = {_variable(file_setting(path)): path for path in secrets}
    for name in given:
        if name in of_files:
            path = of_files[name]
            if environ[name] and environ.get(_variable(path)):
                lines.append(_both(_variable(path), name))
            elif environ[name]:
                _innermost(tree, path).pop(path[-1], None)
                named[path] = _NamedFile(secrets[path], name, environ[name])
            continue
        if name not in kinds:
            every_secret = _secret_settings(known_brokers, known_brokers)
            files = [_variable(file_setting(path)) for path in every_secret]
            lines.append(unknown_key("", name, [*_variable_kinds(known_brokers, known_brokers, second_hosts), *files]))
            continue
        path, kind = kinds[name]
        if not environ[name]:
            continue
        named.pop(path, None)
        try:
            _put(tree, path, _from_text(environ[name], kind))
        except WrongValueError as error:
            lines.append(f"{name} {error}")
    if lines:
        raise SettingsError(*lines)


def _named_brokers(names: Sequence[str], codes: Iterable[str]) -> list[str]:
    """Return the brokers that variables may belong to. Only their keys are looked up."""
    return [
        code for code in codes if any(name.startswith(f"{ENVIRONMENT_PREFIX}BROKERS_{code.upper()}_") for name in names)
    ]


def _variable_kinds(
    codes: Iterable[str], known_brokers: KnownBrokers, second_hosts: KnownBrokers
) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Return every possible variable of the sections and of the brokers `codes`, with its key's path and its field's type."""
    kinds: dict[tuple[str, ...], Any] = {}
    for section, cls in SECTIONS.items():
        for field in attrs.fields(cls):
            kinds[section, field.name] = field.type
    for code in codes:
        for field in attrs.fields(BrokerSettings):
            if field.name in BROKER_SECTION_FIELDS:
                kinds["brokers", code, field.name] = field.type
        for name in known_brokers[code] | second_hosts.get(code, frozenset()):
            kinds["brokers", code, name] = str
    return {_variable(path): (path, kind) for path, kind in kinds.items()}


def _variable(path: SettingPath) -> str:
    return ENVIRONMENT_PREFIX + "_".join(path).upper()


def _put(tree: Tree, path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        inner = tree.setdefault(name, {})
        if not isinstance(inner, dict):
            return  # The file has no table here: build_settings says so.
        tree = inner
    tree[path[-1]] = value


def _from_text(text: str, kind: Any) -> object:
    """Turn an environment text into the plain value that the file would hold; tables are written as JSON."""
    kind = _plain_kind(kind)
    if kind in (int, float):
        return _number(text, kind)
    if kind is bool:
        return _flag(text)
    if (attrs.has(kind) and kind not in (Secret, RecordedInstruments)) or get_origin(kind) is Mapping:
        return _json(text)
    if get_args(kind)[:1] == (Secret,):  # a URL may hold commas
        return [url.strip(" ,") for url in re.split(r"[\s,]+(?=[A-Za-z0-9]+://)", text) if url.strip(" ,")]
    if get_origin(kind) is tuple or (kind is RecordedInstruments and text not in ("held", "all")):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _plain_kind(kind: Any) -> Any:
    """Return the type without `| None`."""
    inner = get_args(kind)
    return next((part for part in inner if part is not NoneType), kind) if NoneType in inner else kind


def _number(text: str, kind: type) -> object:
    try:
        return kind(text)
    except ValueError:
        raise WrongValueError("must be a whole number" if kind is int else "must be a number") from None


def _flag(text: str) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if text.strip().lower() not in words:
        raise WrongValueError("must be true or false")
    return words[text.strip().lower()]


def _json(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise WrongValueError("must be a JSON object") from None
