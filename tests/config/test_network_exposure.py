"""What `serve` refuses because strangers could reach it."""

from pathlib import Path

import pytest

from onebroker.config.converters import Secret
from onebroker.config.network_exposure import exposures, is_loopback
from onebroker.config.sections import ServiceSettings
from onebroker.config.settings import SettingsError, build_settings

GOOD = Secret("0123456789abcdef")
FILES = {"tls_certificate": Path("/c"), "tls_key": Path("/k")}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, []),
        ({"api_secret": None}, []),
        ({"api_secret": Secret("")}, []),  # connect answers 500
        ({"api_secret": Secret("0123456789abcde")}, ["service.api_secret"]),
        ({"host": "0.0.0.0"}, ["service.host"]),
        ({"host": "::"}, ["service.host"]),
        ({"host": "trading.example"}, ["service.host"]),
        ({"host": "0.0.0.0", "plain_text": True}, []),
        ({"host": "0.0.0.0", **FILES}, []),
        ({"host": "0.0.0.0", "api_secret": Secret("S")}, ["service.api_secret", "service.host"]),
    ],
)
def test_a_short_secret_and_a_token_in_clear_on_a_network_are_refused(changed, named) -> None:
    lines = exposures(ServiceSettings(**{"data_dir": Path("/d"), "api_secret": GOOD, **changed}))
    assert [line.split(" ")[0] for line in lines] == named
    assert "0123456789abcde" not in "".join(lines)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("[::1]", True), ("localhost", True), ("LocalHost.", True),
     ("0.0.0.0", False), ("10.0.0.1", False), ("localhost.evil.example", False), ("", False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("name", ["https://trading.example", "trading.example:443", "a/b", "", "a b"])
def test_a_host_name_is_a_name_and_nothing_else(name: str) -> None:
    with pytest.raises(SettingsError, match=r"service\.host_names"):
        build_settings({"service": {"host_names": [name]}}, known_brokers={}, second_hosts={})
