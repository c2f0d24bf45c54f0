"""Secrets in files of their own: `<name>_file` beside any secret setting, and the files of $CREDENTIALS_DIRECTORY.

A setting is secret when its type holds a `Secret`; every key of a broker is secret too. This module reads the files; `config.settings` decides
which of several files and values counts. No sentence quotes a text or the name of a file: somebody may write the secret there by mistake.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from onebroker.config.converters import Secret, WrongValueError

SUFFIX = "_file"
CREDENTIALS_DIRECTORY = "CREDENTIALS_DIRECTORY"
"""Variable in which systemd names the folder with the unit's credentials (systemd.exec(5), Credentials)."""

SettingPath = tuple[str, ...]
"""A setting's place in the tree, such as ("service", "api_key") or ("brokers", code, "pin")."""


def is_secret(kind: Any) -> bool:
    """Tell whether a setting of this type holds a secret."""
    return any(isinstance(part, type) and issubclass(part, Secret) for part in (kind, *get_args(kind)))


def file_setting(path: SettingPath) -> SettingPath:
    """Return the place of the setting that names the file of the secret at `path`."""
    return (*path[:-1], path[-1] + SUFFIX)


def read_secret(file: Path) -> str:
    """Return the file's text without one trailing newline.

    Raises WrongValueError for a file that is missing, unreadable, empty or not UTF-8, and for a file that others can read. A group may read a
    file of another owner: in this way root hands a file to the service's user (systemd's credentials, fsGroup of Kubernetes).
    """
    try:
        with file.open("rb") as opened:
            found = os.fstat(opened.fileno())
            forbidden = 0o077 if found.st_uid == os.geteuid() else 0o037
            if found.st_mode & forbidden:
                mode = stat.S_IMODE(found.st_mode)
                raise WrongValueError(f"can be opened by others (mode {mode:04o}): run chmod 600 on the file")
            text = opened.read().decode("utf-8")
    except OSError as error:
        raise WrongValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise WrongValueError("is not UTF-8 text") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise WrongValueError("is empty")
    return text


def credential_files(environ: Mapping[str, str]) -> Mapping[str, Path]:
    """Return name -> file of each credential in $CREDENTIALS_DIRECTORY; empty without the variable or the folder. Raises OSError."""
    folder = environ.get(CREDENTIALS_DIRECTORY)
    if not folder:
        return {}
    try:
        return {file.name: file for file in sorted(Path(folder).iterdir())}
    except FileNotFoundError:
        return {}
