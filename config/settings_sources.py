"""The sources of the settings: the TOML file, the files of secrets, the credentials of systemd, the environment. Together they make one plain tree.

For each secret the first of these counts: its variable or the variable of its file, its credential in $CREDENTIALS_DIRECTORY, its setting or
the setting of its file (docs/operations/secrets.md). `config.settings` makes the settings from the tree. No error quotes a value.
"""

import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

import attrs
import msgspec

from onebroker.config.converters import Secret, SecretUrl, WrongValueError, join, nearest, unknown_key
from onebroker.config.secret_files import (
    CREDENTIALS_DIRECTORY,
    SettingPath,
    credential_files,
    file_setting,
    is_secret,
    read_secret,
)
from onebroker.config.sections import BROKER_SECTION_FIELDS, SECTIONS, BrokerSettings, RecordedInstruments

ENVIRONMENT_PREFIX = "ONEBROKER_"

KnownBrokers = Mapping[str, frozenset[str]]
Tree = dict[str, Any]


class SettingsError(Exception):
    """The settings cannot be used; `lines` holds one sentence for each problem. No sentence quotes a value."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        super().__init__("\n".join(lines))


def read_sources(
    path: Path | None, environ: Mapping[str, str], known_brokers: KnownBrokers, second_hosts: KnownBrokers
) -> tuple[Tree, dict[str, Path]]:
    """Return the plain tree of all sources, and setting -> file of each secret that has a file of its own. Raises SettingsError.

    The arguments are those of `config.settings.load_settings`.
    """
    tree = _read_file(path) if path is not None else {}
    if path is not None and (secrets := sorted(_secret_keys(tree, known_brokers))):
        _refuse_loose_file(path, secrets)
    named = _named_files(tree, environ, known_brokers)
    _overlay(tree, environ, known_brokers, second_hosts, named)
    return tree, _read_secret_files(tree, named, Path() if path is None else path.parent)


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
