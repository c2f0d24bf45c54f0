"""The settings that differ from their defaults, as they may be shown: in the log, in a terminal, in a support bundle. Never a secret."""

from collections.abc import Iterator, Mapping
from datetime import time
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import attrs

from onebroker.config.converters import Secret, SecretUrl
from onebroker.config.secret_files import SUFFIX
from onebroker.config.sections import Credentials, RecordedInstruments, Settings, TickPlace

HIDDEN = "***"


def shown_settings(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of each setting that differs from its default, such as ("service.port", "8001").

    A secret and a broker's key are `***`; the file from which it was read is shown as `<name>_file`. An address is shown without user, password
    and query. A setting without a default is always shown.
    """
    return tuple(
        pair
        for name, text in _section("", attrs.evolve(settings, secret_files={}))
        for pair in ((name, text), *_file_shown(name, settings.secret_files))
    )


def _file_shown(name: str, secret_files: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    if name in secret_files:
        yield f"{name}{SUFFIX}", str(secret_files[name])


def secret_texts(settings: Settings) -> tuple[str, ...]:
    """Return every secret text of the settings, for code that must leave them out of a text. Never show them."""
    return tuple(text for text in _secret_texts(settings) if text)


def _secret_texts(value: object) -> Iterator[str]:
    match value:
        case SecretUrl():
            parts = urlsplit(value.reveal())
            yield from (parts.password or "", unquote(parts.password or ""), parts.query)
        case Secret():
            yield from {value.reveal(), *value.reveal().splitlines()}  # a key file holds several
        case Credentials():
            yield from value.values()
        case Mapping():
            for inner in value.values():
                yield from _secret_texts(inner)
        case tuple():
            for inner in value:
                yield from _secret_texts(inner)
        case _ if attrs.has(type(value)):
            for field in attrs.fields(type(value)):  # type: ignore[arg-type]
                yield from _secret_texts(getattr(value, field.name))
        case _:
            pass


def _section(path: str, section: attrs.AttrsInstance) -> Iterator[tuple[str, str]]:
    for field in attrs.fields(type(section)):
        value = getattr(section, field.name)
        factory = isinstance(field.default, attrs.Factory)  # type: ignore[arg-type]
        if value == (field.default.factory() if factory else field.default):
            continue
        # The keys and the further addresses of a broker are beside its other settings in the file.
        inner = path if field.name in ("credentials", "others") else f"{path}.{field.name}" if path else field.name
        yield from _value(inner, value)


def _value(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Credentials):
        yield from ((f"{path}.{name}", HIDDEN) for name in value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _value(f"{path}.{name}", inner)
    elif attrs.has(type(value)) and not isinstance(value, RecordedInstruments | TickPlace):
        yield from _section(path, value)  # type: ignore[arg-type]
    else:
        yield path, _text(value)


def _text(value: object) -> str:
    match value:
        case SecretUrl():
            return _address(value.reveal()) if "://" in value.reveal() else HIDDEN
        case Secret():
            return HIDDEN
        case RecordedInstruments():
            return ", ".join(value.instrument_ids) if value.scope == "listed" else value.scope
        case bool():
            return "true" if value else "false"
        case time():
            return f"{value:%H:%M}"
        case tuple():
            return ", ".join(map(_listed, value))
        case str() if "://" in value:
            return _address(value)
        case None:
            return "not set"
        case _:
            return str(value)


def _listed(value: object) -> str:
    if not isinstance(value, Secret) and attrs.has(type(value)):
        given = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}  # type: ignore[arg-type]
        return " ".join(f"{name}={inner}" for name, inner in given.items() if inner is not None)
    return _text(value)


def _address(address: str) -> str:
    """Return an address without user, password, query and fragment, any of which may hold a secret."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
