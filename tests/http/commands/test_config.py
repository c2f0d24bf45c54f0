"""`onebroker config`: a new settings file is complete and can be served; what is shown of settings holds no secret."""

import re
import stat

import attrs
import pytest

from onebroker.brokers.registry import build_registry
from onebroker.config import settings_file
from onebroker.config.sections import BrokerSettings, Settings
from onebroker.config.settings import BROKER_SECTION_FIELDS, SECTIONS, load_settings
from onebroker.config.shown_settings import secret_texts, shown_settings
from onebroker.http.__main__ import main
from onebroker.http.commands.service_process import known_brokers, second_hosts

pytestmark = pytest.mark.unit


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory; no ONEBROKER_ variable is set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path


def registry_words():
    registry = build_registry()
    return {"known_brokers": known_brokers(registry), "second_hosts": second_hosts(registry)}


def load(path) -> Settings:
    return load_settings(path, {}, **registry_words())


def set_defaults(text: str) -> str:
    """Return the file with every setting that has a default set to it."""
    return re.sub(r"^# ([a-z_]+ = |\[brokers\.dhan\])", r"\1", text, flags=re.MULTILINE)


def test_a_new_file_can_be_served_and_is_its_owners_alone(folder, capsys):
    assert main(["config", "init"]) == 0
    file = folder / "onebroker.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings = load(file)
    assert len(settings.service.api_secret.reveal()) >= 32
    capsys.readouterr()
    assert main(["config", "check"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("onebroker.toml can be served\n")
    assert "  API key      yes\n" in said
    assert "  brokers      no broker is set" in said


def test_two_new_files_have_different_secrets_and_a_file_is_never_overwritten(folder, capsys):
    assert main(["config", "init", "a.toml"]) == main(["config", "init", "b.toml"]) == 0
    assert load(folder / "a.toml").service.api_secret != load(folder / "b.toml").service.api_secret
    before = (folder / "a.toml").read_bytes()
    assert main(["config", "init", "a.toml"]) == 2
    assert (folder / "a.toml").read_bytes() == before
    assert capsys.readouterr().err == "a.toml is there already and was not changed\n"


def test_a_new_file_holds_every_setting_with_its_meaning(folder):
    text = settings_file.settings_file({}, **registry_words())
    for section, kind in {**SECTIONS, "brokers.dhan": BrokerSettings}.items():
        start = text.index(f"[{section}]")
        body = text[start : text.index("\n# [brokers.", start) if section != "charges" else len(text)]
        names = BROKER_SECTION_FIELDS if kind is BrokerSettings else [field.name for field in attrs.fields(kind)]
        for name in names:
            assert re.search(rf"^# {name}( = |: [a-zA-Z: ]+, not set$)", body, re.MULTILINE), (section, name)
            assert settings_file.meanings(kind)[name], f"{section}.{name} has no meaning below its field"
    for code, keys in registry_words()["known_brokers"].items():
        assert f"# [brokers.{code}]" in text
        assert all(f"# {key}: text, not set\n# {key}_file: path, not set\n" in text for key in keys)
    for name in ("api_key", "api_secret", "metrics_token", "url", "to"):
        assert f"\n# {name}_file: path, not set\n" in text
    assert "port_file" not in text


def test_the_defaults_of_a_new_file_are_those_of_the_service(folder):
    """Also that every default is written as the file needs it."""
    file = folder / "all.toml"
    text = set_defaults(settings_file.settings_file({}, **registry_words()))
    assert "\ntoken_seconds = 86400\n" in text
    file.write_text(text)
    file.chmod(0o600)
    empty = folder / "empty.toml"
    empty.write_text("[brokers.dhan]\n")
    assert load(file) == load(empty)


WRONG = {
    "an unknown key": ("[service]\nprot = 1\n", "service.prot"),
    "a secret that can be guessed": ('[service]\napi_secret = "short"\n', "service.api_secret must have at least 16"),
    "a broker without its keys": ("[brokers.dhan]\n", "brokers.dhan"),
    "a receiver of alerts that nobody can read": ('[alerts]\nto = ["nosuch://x"]\n', "alerts.to[0] (nosuch)"),
    "a charges file that is not there": ('[charges]\nfile = "nowhere.toml"\n', "nowhere.toml"),
    "an address of no server": ('[redis]\nurl = "nonsense://x"\n', "redis.url"),
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_check_says_what_serve_would_say(folder, capsys, text, sentence):
    file = folder / "wrong.toml"
    file.write_text(text)
    file.chmod(0o600)
    assert main(["config", "check", str(file)]) == 2
    assert sentence in capsys.readouterr().err


SECRETS = (
    "key-of-the-api",
    "secret-of-the-api",
    "metrics-token-1",
    "pw-of-redis",
    "pin-4711",
    "totp-of-dhan",
    "query-secret",
    "path-of-a-receiver",
)
WITH_SECRETS = """
[alerts]
to = ["json://127.0.0.1:1/path-of-a-receiver"]
[service]
port = 8001
data_dir = "/tmp/onebroker-data"
api_key = "key-of-the-api"
api_secret = "secret-of-the-api"
metrics_token = "metrics-token-1"
[redis]
url = "rediss://user:pw-of-redis@redis.example:6379/0?password=query-secret"
[engine]
square_off = { equity = "15:00" }
[brokers.dhan]
client_id = "1000000001"
pin = "pin-4711"
totp_secret = "totp-of-dhan"
rate = { orders = { second = 5 } }
"""


def test_what_is_shown_differs_from_the_defaults_and_holds_no_secret(folder, capsys):
    file = folder / "onebroker.toml"
    file.write_text(WITH_SECRETS)
    file.chmod(0o600)
    settings = load(file)
    assert dict(shown_settings(settings)) == {
        "service.port": "8001",
        "service.data_dir": "/tmp/onebroker-data",
        "service.api_key": "***",
        "service.api_secret": "***",
        "service.metrics_token": "***",
        "redis.url": "rediss://redis.example:6379/0",
        "engine.square_off.equity": "15:00",
        "alerts.to": "***",
        "brokers.dhan.client_id": "***",
        "brokers.dhan.pin": "***",
        "brokers.dhan.totp_secret": "***",
        "brokers.dhan.rate.orders.second": "5",
    }
    assert all(any(secret in text for text in secret_texts(settings)) for secret in SECRETS)
    for words in (["config", "show", "--config", str(file)], ["config", "show", "--config", str(file), "--json"]):
        assert main(words) == 0
        said = capsys.readouterr().out
        assert "service.port" in said
        assert [secret for secret in SECRETS if secret in said] == []


def test_secrets_from_files_are_checked_and_shown_by_their_files(folder, capsys):
    keys = folder / "keys"
    keys.mkdir()
    for name, text in (("secret", "secret-of-the-api"), ("pin", "pin-4711")):
        (keys / name).write_text(f"{text}\n")
        (keys / name).chmod(0o600)
    file = folder / "onebroker.toml"
    file.write_text(
        """[service]
api_key = "key-of-the-api"
api_secret_file = "keys/secret"
[brokers.dhan]
client_id = "1000000001"
pin_file = "keys/pin"
totp_secret = "totp-of-dhan"
"""
    )
    file.chmod(0o600)
    assert main(["config", "check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "  API key      yes\n" in said
    assert "  secret files service.api_secret, brokers.dhan.pin\n" in said
    assert main(["config", "show", "--config", str(file)]) == 0
    said += capsys.readouterr().out
    assert f"service.api_secret = ***\nservice.api_secret_file = {keys}/secret\n" in said
    assert f"brokers.dhan.pin_file = {keys}/pin\n" in said
    assert [secret for secret in SECRETS if secret in said] == []
    (keys / "secret").chmod(0o644)
    assert main(["config", "check", str(file)]) == 2
    assert capsys.readouterr().err.startswith(
        "service.api_secret_file names a file that can be opened by others (mode 0644)"
    )


def test_a_key_file_is_its_owners_alone_and_can_be_used(folder, capsys):
    file = folder / "one.key"
    assert main(["config", "key", "one.key"]) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key = file.read_text().strip()
    said = capsys.readouterr().out
    assert key not in said
    assert f'[secrets] key_file = "{file}"' in said
    settings_text = folder / "onebroker.toml"
    settings_text.write_text('[secrets]\nkey_file = "one.key"\n')
    assert load(settings_text).secrets.keys == (key,)
    assert main(["config", "check"]) == 0
    assert "  logins       stored encrypted\n" in capsys.readouterr().out
    assert main(["config", "key", str(file)]) == 2
    assert capsys.readouterr().err == f"{file} is there already and was not changed\n"
    assert file.read_text().strip() == key


def test_a_new_key_is_put_in_front_and_the_file_stays_its_owners(folder, capsys):
    file = folder / "one.key"
    assert main(["config", "key", str(file)]) == 0
    file.write_text(f"# of 2026\n{file.read_text()}")
    file.chmod(0o400)
    before = file.read_text()
    assert main(["config", "key", "--add", str(file)]) == 0
    first, _, rest = file.read_text().partition("\n")
    assert rest == before
    assert len(first) == 44
    assert first not in before
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    assert [found.name for found in folder.iterdir()] == ["one.key"]
    assert first not in capsys.readouterr().out


def test_no_key_is_added_to_a_file_that_is_not_there_or_is_open(folder, capsys):
    file = folder / "one.key"
    assert main(["config", "key", "--add", str(file)]) == 2
    assert capsys.readouterr().err == f"{file} cannot be read: No such file or directory\n"
    file.write_text("x")
    file.chmod(0o644)
    assert main(["config", "key", "--add", str(file)]) == 2
    assert "can be opened by others (mode 0644)" in capsys.readouterr().err
    assert file.read_text() == "x"
