"""Secrets in files of their own: by setting, by variable and by credential; which of them counts; what is refused, and that no text shows."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from onebroker.config.secret_files import is_secret, read_secret
from onebroker.config.settings import SECTIONS, Settings, SettingsError, load_settings
from onebroker.config.shown_settings import shown_settings
from tests.support.every_case import every_case

KNOWN = {"alpha": frozenset({"api_key", "api_secret"}), "beta": frozenset({"client_id", "pin", "totp_secret"})}
HIDDEN = "hunter2-hunter2"
FERNET_KEY = "hunter2hunter2hunter2hunter2hunter2hunter2h="
DATABASE = "postgresql://me:hunter2@127.0.0.1/x"
RECEIVERS = ("tgram://hunter2/1", "json://127.0.0.1:1/hunter2,x")

SECRETS = {
    ("service", "api_key"): "s.service.api_key.reveal()",
    ("service", "api_secret"): "s.service.api_secret.reveal()",
    ("service", "metrics_token"): "s.service.metrics_token.reveal()",
    ("secrets", "key"): "s.secrets.key.reveal()",
    ("redis", "url"): "s.redis.url.reveal()",
    ("store", "database"): "s.store.database.reveal()",
    ("object_store", "secret_access_key"): "s.object_store.secret_access_key.reveal()",
    ("brokers", "alpha", "api_secret"): "s.brokers['alpha'].credentials['api_secret']",
    ("brokers", "beta", "pin"): "s.brokers['beta'].credentials['pin']",
    ("brokers", "beta", "totp_secret"): "s.brokers['beta'].credentials['totp_secret']",
}
"""Place of a secret -> how it is read from the settings `s`."""
TOGETHER = {("object_store", "secret_access_key"): {"ONEBROKER_OBJECT_STORE_ACCESS_KEY_ID": "id"}}
"""Place of a secret -> variables of the settings that must be given together with it."""


def secret(folder: Path, text: str = HIDDEN, name: str = "secret", mode: int = 0o600) -> Path:
    file = folder / name
    file.write_bytes(text.encode())
    file.chmod(mode)
    return file


def toml(folder: Path, text: str) -> Path:
    file = folder / "onebroker.toml"
    file.write_text(text)
    file.chmod(0o600)
    return file


def load(path: Path | None, environ: Mapping[str, str] | None = None) -> Settings:
    return load_settings(path, environ or {}, known_brokers=KNOWN)


def refused(path: Path | None, environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(SettingsError) as error:
        load(path, environ)
    assert "hunter2" not in str(error.value)
    return str(error.value)


def line(place: tuple[str, ...], value: object) -> str:
    return f"[{'.'.join(place[:-1])}]\n{place[-1]} = '{value}'\n"


def variable(place: tuple[str, ...]) -> str:
    return "ONEBROKER_" + "_".join(place).upper()


def value_of(settings: Settings, place: tuple[str, ...]) -> Any:
    return eval(SECRETS[place], {"s": settings})


def test_the_cases_below_name_every_secret_setting_of_the_sections() -> None:
    declared = {
        (section, field.name)
        for section, kind in SECTIONS.items()
        for field in attrs.fields(kind)
        if is_secret(field.type)
    }
    assert declared == {place for place in SECRETS if place[0] != "brokers"} | {("alerts", "to")}


@every_case("place", list(SECRETS))
def test_a_secret_is_read_from_its_file_by_setting_by_variable_and_by_credential(
    tmp_path: Path, place: tuple[str, ...]
) -> None:
    text = {("secrets", "key"): FERNET_KEY, ("store", "database"): DATABASE}.get(place, HIDDEN)
    file = secret(tmp_path, f"{text}\n")
    environ = TOGETHER.get(place, {})
    by_setting = load(toml(tmp_path, line((*place[:-1], place[-1] + "_file"), file)), environ)
    by_variable = load(None, {variable(place) + "_FILE": str(file), **environ})
    folder = tmp_path / ".".join(place)
    folder.mkdir()
    credential = secret(folder, text, ".".join(place))
    by_credential = load(None, {"CREDENTIALS_DIRECTORY": str(folder), **environ})
    assert [value_of(found, place) for found in (by_setting, by_variable, by_credential)] == [text] * 3
    name = ".".join(place)
    assert dict(by_setting.secret_files) == dict(by_variable.secret_files) == {name: file}
    assert dict(by_credential.secret_files) == {name: credential}
    assert dict(shown_settings(by_setting))[f"{name}_file"] == str(file)
    assert "hunter2" not in f"{shown_settings(by_setting)} {by_setting!r}"


def test_a_list_of_receivers_is_read_from_a_file_one_a_line(tmp_path: Path) -> None:
    file = secret(tmp_path, "\n".join(RECEIVERS) + "\n")
    settings = load(toml(tmp_path, f"[alerts]\nto_file = '{file}'\n"))
    assert tuple(url.reveal() for url in settings.alerts.to) == RECEIVERS


@every_case(
    ("text", "expected"),
    [
        ("a", "a"),
        ("a\n", "a"),
        ("a\r\n", "a"),
        ("a\n\n", "a\n"),
        (" a b \n", " a b "),
        ("\na", "\na"),
        ("नमक\n", "नमक"),
    ],
)
def test_one_newline_at_the_end_is_left_out_and_nothing_else(tmp_path: Path, text: str, expected: str) -> None:
    assert read_secret(secret(tmp_path, text)) == expected


def test_a_relative_path_begins_at_the_folder_of_the_settings_file(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "etc" / "keys").mkdir(parents=True)
    secret(tmp_path / "etc" / "keys", "in-etc", "pin")
    path = toml(tmp_path / "etc", "[brokers.beta]\npin_file = 'keys/pin'\n")
    monkeypatch.chdir(tmp_path)
    assert load(path).brokers["beta"].credentials["pin"] == "in-etc"
    assert load(path, {"ONEBROKER_BROKERS_BETA_PIN_FILE": "keys/pin"}).brokers["beta"].credentials["pin"] == "in-etc"
    assert (
        load(None, {"ONEBROKER_BROKERS_BETA_PIN_FILE": "etc/keys/pin"}).brokers["beta"].credentials["pin"] == "in-etc"
    )
    monkeypatch.setenv("HOME", str(tmp_path / "etc"))
    assert load(None, {"ONEBROKER_BROKERS_BETA_PIN_FILE": "~/keys/pin"}).brokers["beta"].credentials["pin"] == "in-etc"


def test_a_secret_that_is_given_twice_in_one_place_is_refused_and_both_are_named(tmp_path: Path) -> None:
    file = secret(tmp_path)
    for place in SECRETS:
        name = ".".join(place)
        twice = f"{line(place, HIDDEN)}{place[-1]}_file = '{file}'\n"
        assert refused(toml(tmp_path, twice)) == f"{name} and {name}_file are both given: give one of them"
        own = variable(place)
        said = refused(None, {own: HIDDEN, f"{own}_FILE": str(file)})
        assert said == f"{own} and {own}_FILE are both given: give one of them"


@every_case(
    ("sources", "expected"),
    [
        (("setting",), "setting"),
        (("setting_file",), "setting_file"),
        (("setting", "credential"), "credential"),
        (("setting_file", "credential"), "credential"),
        (("setting", "credential", "variable"), "variable"),
        (("setting_file", "credential", "variable_file"), "variable_file"),
        (("setting", "variable_file"), "variable_file"),
        (("setting_file", "variable"), "variable"),
        (("credential", "variable"), "variable"),
        (("credential", "variable_file"), "variable_file"),
    ],
)
def test_the_environment_comes_before_a_credential_and_a_credential_before_the_file(
    tmp_path: Path, sources: tuple[str, ...], expected: str
) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir(exist_ok=True)
    text = "[brokers.beta]\nclient_id = 'c'\n"
    environ = {"CREDENTIALS_DIRECTORY": str(folder)}
    (folder / "brokers.beta.pin").unlink(missing_ok=True)
    for source in sources:
        file = secret(tmp_path, source, source)
        match source:
            case "setting":
                text += "pin = 'setting'\n"
            case "setting_file":
                text += f"pin_file = '{file}'\n"
            case "credential":
                secret(folder, source, "brokers.beta.pin")
            case "variable":
                environ["ONEBROKER_BROKERS_BETA_PIN"] = "variable"
            case "variable_file":
                environ["ONEBROKER_BROKERS_BETA_PIN_FILE"] = str(file)
    settings = load(toml(tmp_path, text), environ)
    assert dict(settings.brokers["beta"].credentials) == {"client_id": "c", "pin": expected}
    assert ("brokers.beta.pin" in settings.secret_files) == (expected not in ("setting", "variable"))


def test_an_empty_variable_of_a_file_counts_as_not_set(tmp_path: Path) -> None:
    path = toml(tmp_path, "[brokers.beta]\npin = '1'\n")
    assert load(path, {"ONEBROKER_BROKERS_BETA_PIN_FILE": ""}).brokers["beta"].credentials["pin"] == "1"
    environ = {"ONEBROKER_BROKERS_BETA_PIN": "", "ONEBROKER_BROKERS_BETA_PIN_FILE": str(secret(tmp_path))}
    assert load(None, environ).brokers["beta"].credentials["pin"] == HIDDEN


@every_case(
    ("text", "mode", "sentence"),
    [
        (None, 0o600, "names a file that cannot be read: No such file or directory"),
        ("", 0o600, "names a file that is empty"),
        ("\n", 0o600, "names a file that is empty"),
        (HIDDEN, 0o644, "names a file that can be opened by others (mode 0644): run chmod 600 on the file"),
        (HIDDEN, 0o640, "names a file that can be opened by others (mode 0640): run chmod 600 on the file"),
        (HIDDEN, 0o602, "names a file that can be opened by others (mode 0602): run chmod 600 on the file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_the_name_of_its_setting(
    tmp_path: Path, text: str | None, mode: int, sentence: str
) -> None:
    file = tmp_path / HIDDEN  # the name of the file is not shown either
    file.unlink(missing_ok=True)
    if text is not None:
        secret(tmp_path, text, HIDDEN, mode)
    path = toml(tmp_path, f"[service]\napi_secret_file = '{file}'\n[brokers.beta]\npin_file = '{file}'\n")
    assert refused(path) == f"service.api_secret_file {sentence}\nbrokers.beta.pin_file {sentence}"
    named = {"ONEBROKER_REDIS_URL_FILE": str(file)}
    assert refused(None, named) == f"ONEBROKER_REDIS_URL_FILE {sentence}"
    folder = tmp_path / "credentials"
    folder.mkdir(exist_ok=True)
    (folder / "service.api_key").unlink(missing_ok=True)
    (folder / "service.api_key").symlink_to(file)
    assert refused(None, {"CREDENTIALS_DIRECTORY": str(folder)}) == f"the credential service.api_key {sentence}"


def test_a_folder_a_number_and_bytes_are_no_files_of_a_secret(tmp_path: Path) -> None:
    folder = toml(tmp_path, f"[service]\napi_key_file = '{tmp_path}'\n")
    assert refused(folder) == "service.api_key_file names a file that cannot be read: Is a directory"
    assert refused(toml(tmp_path, "[service]\napi_key_file = 4\n")) == "service.api_key_file must be text"
    file = tmp_path / "bytes"
    file.write_bytes(b"\xff\xfe")
    file.chmod(0o600)
    sentence = "service.api_key_file names a file that is not UTF-8 text"
    assert refused(toml(tmp_path, f"[service]\napi_key_file = '{file}'\n")) == sentence


def test_a_group_may_read_a_file_of_another_owner_only(tmp_path: Path, monkeypatch: Any) -> None:
    """systemd gives credentials to a user by an access list, whose mask stands at the place of the group's rights."""
    file = secret(tmp_path, mode=0o440)
    assert "can be opened by others (mode 0440)" in refused(toml(tmp_path, f"[service]\napi_key_file = '{file}'\n"))
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert read_secret(file) == HIDDEN
    for mode in (0o444, 0o460, 0o450):
        file.chmod(mode)
        assert f"(mode {mode:04o})" in refused(toml(tmp_path, f"[service]\napi_key_file = '{file}'\n"))


def test_a_setting_that_is_no_secret_has_no_file(tmp_path: Path) -> None:
    file = secret(tmp_path, "1")
    assert "service.port_file is not known" in refused(toml(tmp_path, f"[service]\nport_file = '{file}'\n"))
    assert "ONEBROKER_SERVICE_PORT_FILE is not known" in refused(None, {"ONEBROKER_SERVICE_PORT_FILE": str(file)})


def test_a_variable_of_a_file_that_is_not_known_is_told_the_nearest(tmp_path: Path) -> None:
    assert "did you mean ONEBROKER_BROKERS_BETA_PIN_FILE?" in refused(None, {"ONEBROKER_BROKERS_BETA_PINN_FILE": "/x"})


def test_credentials_of_others_are_left_alone_and_a_wrong_name_of_ours_is_told(tmp_path: Path) -> None:
    for name in ("tls_key", "other.api_key", "service"):
        secret(tmp_path, "x", name, 0o644)
    assert load(None, {"CREDENTIALS_DIRECTORY": str(tmp_path)}).secret_files == {}
    for name in ("service.api_secert", "brokers.beta.pinn", "service.port", "brokers.gamma"):
        secret(tmp_path, HIDDEN, name)
    said = refused(None, {"CREDENTIALS_DIRECTORY": str(tmp_path)}).splitlines()
    assert said == [
        "the credential brokers.beta.pinn is no secret setting; did you mean pin?",
        "the credential brokers.gamma is no secret setting",
        "the credential service.api_secert is no secret setting; did you mean api_secret?",
        "the credential service.port is no secret setting",
    ]


def test_a_folder_of_credentials_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert load(None, {"CREDENTIALS_DIRECTORY": str(tmp_path / "none")}).secret_files == {}
    not_a_folder = secret(tmp_path)
    said = refused(None, {"CREDENTIALS_DIRECTORY": str(not_a_folder)})
    assert said == "the folder of $CREDENTIALS_DIRECTORY cannot be read: Not a directory"


def test_a_file_with_the_names_of_secret_files_only_may_be_open_to_all(tmp_path: Path) -> None:
    path = toml(tmp_path, f"[service]\napi_key_file = '{secret(tmp_path)}'\n")
    path.chmod(0o644)
    assert value_of(load(path), ("service", "api_key")) == HIDDEN


# --- the keys that encrypt what is stored -------------------------------------------------------------------------------


@every_case(
    ("text", "keys"),
    [
        (FERNET_KEY, (FERNET_KEY,)),
        (f"# of today\n{FERNET_KEY}\n\n  {FERNET_KEY.swapcase()}\n", (FERNET_KEY, FERNET_KEY.swapcase())),
    ],
)
def test_a_key_file_holds_keys_one_a_line_the_newest_first(tmp_path: Path, text: str, keys: tuple[str, ...]) -> None:
    file = secret(tmp_path, text)
    assert load(None, {"ONEBROKER_SECRETS_KEY_FILE": str(file)}).secrets.keys == keys
    assert load(None).secrets.keys == ()


@every_case("text", [HIDDEN, "# nothing", FERNET_KEY[:-4], f"{FERNET_KEY}\n{HIDDEN}", FERNET_KEY.replace("h", "!")])
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, text: str) -> None:
    said = refused(None, {"ONEBROKER_SECRETS_KEY_FILE": str(secret(tmp_path, text))})
    assert said == "secrets.key must be keys, one a line, as `onebroker config key` writes them"


def test_a_key_in_the_data_directory_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "inner").mkdir(parents=True)
    inside, outside = secret(data / "inner", FERNET_KEY), secret(tmp_path, FERNET_KEY)
    (tmp_path / "link").symlink_to(data)
    sentence = (
        "secrets.key is in a file of service.data_dir, beside the values that it encrypts: move it to another folder"
    )
    base = {"ONEBROKER_SERVICE_DATA_DIR": str(data)}
    for file in (inside, tmp_path / "link" / "inner" / "secret", data / ".." / "data" / "inner" / "secret"):
        assert refused(None, {**base, "ONEBROKER_SECRETS_KEY_FILE": str(file)}) == sentence
    assert refused(toml(data, f"[secrets]\nkey = '{FERNET_KEY}'\n"), base) == sentence
    assert load(None, {**base, "ONEBROKER_SECRETS_KEY_FILE": str(outside)}).secrets.keys == (FERNET_KEY,)
    assert load(toml(data, f"[secrets]\nkey_file = '{outside}'\n"), base).secrets.keys == (FERNET_KEY,)
