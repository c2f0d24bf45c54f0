"""The settings that differ from their defaults, as they may be shown: in the log, in a terminal, in a support bundle. Never a secret."""

from collections.abc import Iterator, Mapping
from datetime import time
from urllib.parse import urlsplit, urlunsplit

import attrs

from onebroker.config.converters import Secret
from onebroker.config.sections import Credentials, RecordedInstruments, Settings

HIDDEN = "***"


def shown_settings(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of each setting that differs from its default, such as ("service.port", "8001").

    A secret and a broker's key are `***`. An address is shown without user, password and query. A setting without a default is always shown.
    """
    pairs = list(_section("", settings))
    return tuple((name, text) for name, text in pairs)


def secret_texts(settings: Settings) -> tuple[str, ...]:
    """Return every secret text of the settings, for code that must leave them out of a text. Never show them."""
    service = settings.service
    found = [secret.reveal() for secret in (service.api_key, service.api_secret, service.metrics_token) if secret]
    found += [url.reveal() for url in settings.alerts.to]
    for broker in settings.brokers.values():
        found += broker.credentials.values()
    if settings.redis.url is not None:
        parts = urlsplit(settings.redis.url)
        found += [part for part in (parts.password, parts.query) if part]
    return tuple(text for text in found if text)


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
    elif attrs.has(type(value)) and not isinstance(value, RecordedInstruments):
        yield from _section(path, value)  # type: ignore[arg-type]
    else:
        yield path, _text(value)


def _text(value: object) -> str:
    match value:
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
