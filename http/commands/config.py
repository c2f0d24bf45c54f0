"""`onebroker config init|check|show|key`: writes a settings file, reads it as `serve` does, shows what differs from the defaults, makes a key
file.

Exit code 0 when it is done, 2 for settings with which `serve` would not start or a file that is there already, 4 for TLS files that
cannot be used, as for `serve`.
"""

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from onebroker.actors.alerts.start import alert_inputs
from onebroker.actors.history.history_paths import incoming_folder
from onebroker.actors.history.open_place import open_place
from onebroker.actors.sessions.brokers_in_service import require_credentials
from onebroker.actors.store.embedded import find_server_binary
from onebroker.actors.store.sealing import new_key
from onebroker.actors.store.server_address import read_address
from onebroker.brokers.broker import LoginKind, Registry
from onebroker.brokers.registry import build_registry
from onebroker.config.charges.load import load_charges
from onebroker.config.charges.rows import Charges
from onebroker.config.converters import WrongValueError
from onebroker.config.network_exposure import exposures
from onebroker.config.secret_files import read_secret
from onebroker.config.settings import Settings, SettingsError
from onebroker.config.settings_file import settings_file
from onebroker.config.shown_settings import shown_settings
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import write, write_json
from onebroker.http.commands.service_process import known_brokers, second_hosts
from onebroker.http.listener.accept_loop import TlsFiles, tls_context

KEY_BYTES = 12
SECRET_BYTES = 32


def run_init(parsed: argparse.Namespace) -> int:
    path: Path = parsed.path
    registry = build_registry()
    given = {
        "service": {"api_key": secrets.token_urlsafe(KEY_BYTES), "api_secret": secrets.token_urlsafe(SECRET_BYTES)}
    }
    _create(path, settings_file(given, known_brokers(registry), second_hosts(registry)))
    write(
        sys.stdout,
        [
            f"{path} is written, with a new API key and secret; only you can read it",
            f"next: enter your brokers (docs/first-broker/), then: onebroker config check {path}",
        ],
    )
    return DONE


def _create(path: Path, text: str) -> None:
    """Write a new file that only its owner can open. Raises CommandFailed, also for a file that is there already."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise CommandFailed(f"{path} is there already and was not changed", WRONG_USE) from None
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}", WRONG_USE) from None
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())


def run_key(parsed: argparse.Namespace) -> int:
    path: Path = parsed.path
    key = f"{new_key()}\n"
    if parsed.add:
        _replace(path, key)
        write(sys.stdout, [f"{path} has a new first key; the service uses it after its next start"])
    else:
        _create(path, key)
        write(
            sys.stdout,
            [
                f"{path} is written; only you can read it",
                f"next: keep a copy in a safe place, and set [secrets] key_file = {msgspec.json.encode(str(path.absolute())).decode()}",
            ],
        )
    return DONE


def _replace(path: Path, key: str) -> None:
    """Put a key in front of those of a key file, which keeps its owner and its mode. Raises CommandFailed, and leaves the file then."""
    try:
        keys = key + read_secret(path) + "\n"
        before = path.stat()
        beside = path.with_name(f".{path.name}.new")
        _create(beside, keys)
        os.chown(beside, before.st_uid, before.st_gid)
        beside.chmod(before.st_mode & 0o777)
        beside.replace(path)
    except WrongValueError as error:
        raise CommandFailed(f"{path} {error}", WRONG_USE) from None
    except OSError as error:
        raise CommandFailed(f"{path} cannot be changed: {error.strerror}", WRONG_USE) from None


def run_check(parsed: argparse.Namespace) -> int:
    settings, _ = settings_to_serve(parsed.path, build_registry())
    _refuse_unusable(settings)
    write(sys.stdout, [f"{parsed.path} can be served", *_facts(settings)])
    return DONE


def settings_to_serve(config: Path | None, registry: Registry) -> tuple[Settings, Charges]:
    """Return the settings and the charges with which `serve` starts. Raises SettingsError for settings with which it does not start."""
    settings = read_settings(config)
    if refused := exposures(settings.service):
        raise SettingsError(*refused)
    require_credentials(registry, settings.brokers)
    alert_inputs(settings.alerts)  # refuses receivers that cannot be reached
    return settings, load_charges(settings.charges.file, brokers=tuple(registry))


def _refuse_unusable(settings: Settings) -> None:
    """Raise what `serve` raises for stores or TLS files that cannot be used: StoreRefused, NoServerBinary, ListenError."""
    open_place(incoming_folder(settings.service.data_dir), settings)
    if settings.redis.url is not None:
        read_address(settings.redis.url.reveal())
    else:
        binary = settings.redis.redis_server
        find_server_binary(None if binary is None else str(binary))
    service = settings.service
    if service.tls_certificate is not None and service.tls_key is not None:
        tls_context(TlsFiles(certificate=service.tls_certificate, key=service.tls_key))


def _facts(settings: Settings) -> Sequence[str]:
    registry = build_registry()
    codes = [code for code, broker in settings.brokers.items() if broker.enabled]
    by_person = [code for code in codes if registry[code].login_kind is LoginKind.ASSISTED]
    key = settings.service.api_key is not None and settings.service.api_secret is not None
    lines = [
        f"  listener     {settings.service.host}:{settings.service.port}",
        f"  data         {settings.service.data_dir}",
        f"  brokers      {', '.join(codes) or 'no broker is set: docs/first-broker/ lists the settings of each broker'}",
    ]
    stored = "encrypted" if settings.secrets.keys else "not encrypted (docs/operations/secrets.md)"
    lines.append(f"  logins       stored {stored}")
    if settings.secret_files:
        lines.append(f"  secret files {', '.join(settings.secret_files)}")
    if by_person:
        lines.append(f"  by a person  {', '.join(by_person)} (onebroker login CODE)")
    no_key = "no: service.api_key and service.api_secret are not set, so no client can connect"
    lines.append(f"  API key      {'yes' if key else no_key}")
    return lines


def run_show(parsed: argparse.Namespace) -> int:
    pairs = shown_settings(read_settings(parsed.config))
    if parsed.json:
        write_json(sys.stdout, dict(pairs))
    else:
        write(sys.stdout, [f"{name} = {text}" for name, text in pairs])
    return DONE
