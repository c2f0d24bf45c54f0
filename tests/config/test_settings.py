"""The settings: defaults, file, environment, the checks, and that no secret ever shows."""

from collections.abc import Mapping
from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest

from onebroker.config.settings import (
    BROKER_ADDRESSES,
    RecordedInstruments,
    Settings,
    SettingsError,
    TickPlace,
    build_settings,
    load_settings,
)
from tests.support.every_case import every_case

KNOWN = {
    "alpha": frozenset({"api_key", "api_secret"}),
    "beta": frozenset({"client_id", "pin", "totp_secret"}),
    "gamma": frozenset({"app_id", "redirect_url"}),
}
HOSTS = {"gamma": frozenset({"order_url"})}
LOOPBACK = {name: f"http://127.0.0.1:90{index:02}/path" for index, name in enumerate(BROKER_ADDRESSES)}
REAL = {name: f"https://{name.removesuffix('_url')}.example.com" for name in BROKER_ADDRESSES}


def build(values: Mapping[str, Any]) -> Settings:
    return build_settings(values, known_brokers=KNOWN, second_hosts=HOSTS)


def refusal(values: Mapping[str, Any]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as refused:
        build(values)
    return refused.value.lines


def load(path: Path | None, environ: Mapping[str, str] | None = None) -> Settings:
    return load_settings(path, environ or {}, known_brokers=KNOWN, second_hosts=HOSTS)


def write(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "onebroker.toml"
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


def test_nothing_given_means_the_documented_defaults() -> None:
    settings = build({})
    service = settings.service
    assert (service.host, service.port, service.token_seconds) == ("127.0.0.1", 8000, 86_400)
    assert service.data_dir == Path.home() / ".local" / "share" / "onebroker"
    assert (service.api_key, service.api_secret, service.metrics_token) == (None, None, None)
    assert (service.place_list_maximum, service.calendar, service.fast_lane) == (500, "exchanges", True)
    assert (settings.redis.url, settings.redis.redis_server, settings.charges.file) == (None, None, None)
    assert settings.history.memory_limit == "1GB"
    assert settings.history.disk_reserve_mb == 1000
    assert settings.history.record == RecordedInstruments(scope="held")
    assert settings.brokers == {}


@every_case(
    ("name", "value"),
    [
        ("engine_wait_seconds", 5.0),
        ("stale_intent_seconds", 30.0),
        ("answer_keep_seconds", 300.0),
        ("broker_timeout_seconds", 4.0),
        ("marketable_limit_mode", True),
        ("hold_limits", True),
        ("hold_plain_limits", False),
        ("check_funds", True),
        ("quote_usable_seconds", 300.0),
        ("unknown_settle_seconds", 60.0),
        ("late_entry_minutes", 5.0),
        ("move_interval_seconds", 1.0),
        ("follow_seconds", 5.0),
        ("marketable_after_seconds", None),
        ("exit_share", 0.2),
        ("daily_loss_limit", None),
        ("excluded_brokers", ()),
        ("freeze_quantities", {}),
        ("cancel_confirm_seconds", 5.0),
        ("parent_cancel_wait", 3.0),
        ("pre_open_send_window", (time(9, 0), time(9, 7))),
        ("closing_window_minutes", 30),
    ],
)
def test_an_engine_setting_has_the_default_of_the_design(name: str, value: object) -> None:
    assert getattr(build({}).engine, name) == value


def test_the_protection_bands_default_to_the_ones_the_brokers_use() -> None:
    bands = build({}).engine.protection_bands
    assert [(band.below, band.percent) for band in bands.shares] == [(100, 2), (500, 1), (None, Decimal("0.5"))]
    assert [(band.below, band.percent) for band in bands.options] == [(10, 5), (100, 3), (500, 2), (None, 1)]
    assert bands.least_ticks == 2


def test_a_broker_takes_its_keys_addresses_and_overrides() -> None:
    gamma = build(
        {
            "brokers": {
                "gamma": {
                    **LOOPBACK,
                    "order_url": "http://127.0.0.1:9100",
                    "app_id": "A",
                    "redirect_url": "https://example.com/back",
                    "rate": {"orders": {"second": 3}, "calls": {"day": 5000}},
                    "cadence": {"orders": 2, "closed_holdings": 600},
                    "daily_messages": 900,
                    "exit_reserve": 90,
                    "intraday_cutoff": {"equity": "15:15"},
                    "modifies_per_order": 10,
                }
            }
        }
    ).brokers["gamma"]
    assert gamma.enabled
    assert gamma.rest_url == LOOPBACK["rest_url"]
    assert gamma.others == {"order_url": "http://127.0.0.1:9100"}
    assert dict(gamma.credentials) == {"app_id": "A", "redirect_url": "https://example.com/back"}
    assert (gamma.rate.orders.second, gamma.rate.orders.minute, gamma.rate.calls.day) == (3, None, 5000)
    assert (gamma.cadence.orders, gamma.cadence.trades, gamma.cadence.closed_holdings) == (2.0, None, 600.0)
    assert (gamma.daily_messages, gamma.exit_reserve, gamma.modifies_per_order) == (900, 90, 10)
    assert (gamma.intraday_cutoff.equity, gamma.intraday_cutoff.currency) == (time(15, 15), None)


def test_a_broker_without_addresses_uses_its_own() -> None:
    beta = build({"brokers": {"beta": {"pin": "1"}}}).brokers["beta"]
    assert (beta.rest_url, beta.others) == (None, {})


@every_case(
    ("values", "line"),
    [
        ({"servce": {}}, "servce is not known; did you mean service?"),
        ({"service": {"prot": 1}}, "service.prot is not known; did you mean port?"),
        ({"service": {"port": "8000"}}, "service.port must be a whole number"),
        ({"service": {"port": 70_000}}, "service.port must be a whole number from 0 to 65535"),
        ({"service": {"calendar": "never"}}, "service.calendar must be one of exchanges, always_open"),
        ({"service": {"token_seconds": 0}}, "service.token_seconds must be above zero"),
        ({"service": {"fast_lane": "no"}}, "service.fast_lane must be true or false"),
        (
            {"service": {"tls_certificate": "/c.pem"}},
            "service.tls_key is required: tls_certificate and tls_key are given together",
        ),
        ({"service": {"data_dir": 5}}, "service.data_dir must be text"),
        ({"service": 5}, "service must be an object"),
        ({"history": {"memory_limit": "lots"}}, "history.memory_limit must be a size such as 1GB or 512MB"),
        ({"history": {"disk_reserve_mb": 0}}, "history.disk_reserve_mb must be above zero"),
        ({"history": {"record": "some"}}, "history.record must be held, all, or a list of instrument ids"),
        ({"history": {"tick_archive": 5}}, "history.tick_archive must be a folder, or s3://bucket/folder"),
        *(
            (
                {"history": {"tick_archive": place}},
                "history.tick_archive must be a folder, or s3://bucket/folder with the name of a bucket of 3 to 63 letters a-z, digits, . and -",
            )
            for place in ("s3://", "s3://b", "s3://Bucket", "s3://bucket//twice", "s3://bucket/a?b", "s3://bucket/a b", "gs://bucket/folder")
        ),
        *(
            (
                {"object_store": {"endpoint": address}},
                "object_store.endpoint must be https://host or https://host:port (http:// sends ticks unencrypted)",
            )
            for address in ("minio.example", "s3://bucket", "https://", "https://user:word@minio.example", "https://minio.example/bucket", "http://minio:70000")
        ),
        (
            {"object_store": {"access_key_id": "k"}},
            "object_store.secret_access_key is required: access_key_id and secret_access_key are given together",
        ),
        (
            {"object_store": {"secret_access_key": "k"}},
            "object_store.access_key_id is required: access_key_id and secret_access_key are given together",
        ),
        ({"engine": {"exit_share": 1.0}}, "engine.exit_share must be a share from 0 to below 1"),
        ({"engine": {"hold_limit": True}}, "engine.hold_limit is not known; did you mean hold_limits?"),
        ({"engine": {"pre_open_send_window": ["09:07", "09:00"]}}, "engine.pre_open_send_window must begin before it ends"),
        (
            {"engine": {"protection_bands": {"shares": [{"percent": 1}, {"percent": 2, "below": 5}]}}},
            "engine.protection_bands.shares must be steps with rising `below`, the last one without `below`",
        ),
        ({"engine": {"excluded_brokers": ["alfa"]}}, "engine.excluded_brokers.alfa is not known; did you mean alpha?"),
        ({"engine": {"daily_loss_limit": -1}}, "engine.daily_loss_limit must be above zero"),
        (
            {"engine": {"freeze_quantities": {"NIFTY": 0}}},
            "engine.freeze_quantities must be upper-case symbols with numbers of units above zero",
        ),
        ({"engine": {"freeze_quantities": {"NIFTY": "x"}}}, "engine.freeze_quantities.NIFTY must be a whole number"),
        ({"brokers": []}, "brokers must be an object"),
        ({"brokers": {"alfa": {}}}, "brokers.alfa is not known; did you mean alpha?"),
        ({"brokers": {"alpha": 1}}, "brokers.alpha must be an object"),
        ({"brokers": {"alpha": {"api_kye": "x"}}}, "brokers.alpha.api_kye is not known; did you mean api_key?"),
        ({"brokers": {"alpha": {"pin": "x"}}}, "brokers.alpha.pin is not known"),
        ({"brokers": {"beta": {"pin": 1234}}}, "brokers.beta.pin must be text"),
        ({"brokers": {"beta": {"enabled": 1}}}, "brokers.beta.enabled must be true or false"),
        ({"brokers": {"beta": {"others": {}}}}, "brokers.beta.others is not known"),
        ({"brokers": {"beta": {"rate": {"orders": {"secnd": 1}}}}}, "brokers.beta.rate.orders.secnd is not known; did you mean second?"),
        ({"brokers": {"beta": {"cadence": {"orders": 0}}}}, "brokers.beta.cadence.orders must be above zero"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_refused_with_its_path(values: Mapping[str, Any], line: str) -> None:
    assert refusal(values) == (line,)


def test_everything_wrong_is_told_at_once() -> None:
    lines = refusal({"service": {"port": "x"}, "engine": {"zz": 1}, "brokers": {"beta": {"pin": 1}, "alfa": {}}})
    assert len(lines) == 4


def test_some_addresses_without_the_others_are_refused() -> None:
    given = {name: address for name, address in LOOPBACK.items() if name != "stream_url"}
    assert refusal({"brokers": {"alpha": given}}) == (
        "brokers.alpha gives some addresses but not stream_url: give all or none, so that real and simulated never mix",
    )


def test_a_second_host_counts_among_the_addresses() -> None:
    assert "but not order_url:" in refusal({"brokers": {"gamma": LOOPBACK}})[0]
    assert "but not rest_url, " in refusal({"brokers": {"gamma": {"order_url": "http://127.0.0.1"}}})[0]
    assert refusal({"brokers": {"alpha": {**LOOPBACK, "order_url": "http://127.0.0.1"}}}) == (
        "brokers.alpha.order_url is not known; did you mean order_stream_url?",
    )


def test_real_and_simulated_addresses_of_one_broker_are_refused() -> None:
    mixed = {**LOOPBACK, "stream_url": "wss://stream.example.com"}
    assert refusal({"brokers": {"alpha": mixed}}) == ("brokers.alpha mixes addresses on this machine with real ones",)


@pytest.mark.parametrize("beta", [{}, {"pin": "1"}, REAL])
def test_real_and_simulated_brokers_side_by_side_are_refused(beta: dict[str, str]) -> None:
    sentence = (
        "brokers mixes addresses on this machine (alpha) with real ones (beta):"
        " give all enabled brokers addresses of one kind"
    )
    assert refusal({"brokers": {"alpha": LOOPBACK, "beta": beta}}) == (sentence,)


def test_a_broker_that_is_not_enabled_may_stay_real_beside_simulated_ones() -> None:
    settings = build({"brokers": {"alpha": LOOPBACK, "beta": {"enabled": False}}})
    assert settings.brokers["alpha"].rest_url == LOOPBACK["rest_url"]
    assert not settings.brokers["beta"].enabled


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "[::1]", "LOCALHOST"])
def test_every_name_of_this_machine_counts_as_loopback(host: str) -> None:
    addresses = dict.fromkeys(BROKER_ADDRESSES, f"ws://{host}:81/x")
    assert "mixes" in refusal({"brokers": {"alpha": addresses, "beta": {}}})[0]


@pytest.mark.parametrize("host", ["127.0.0.1.example.com", "localhost.example.com", "10.0.0.1"])
def test_a_name_that_only_looks_like_this_machine_is_real(host: str) -> None:
    addresses = dict.fromkeys(BROKER_ADDRESSES, f"https://{host}/x")
    assert build({"brokers": {"alpha": addresses, "beta": {}}}).brokers["alpha"].rest_url == f"https://{host}/x"


@pytest.mark.parametrize("address", ["", "127.0.0.1:80", "ftp://127.0.0.1", "http://", "http://127.0.0.1:99999"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert refusal({"brokers": {"alpha": {**LOOPBACK, "rest_url": address}}}) == (
        "brokers.alpha.rest_url must be an address that begins with http://, https://, ws:// or wss://",
    )


@pytest.mark.parametrize(
    ("text", "place", "shown"),
    [
        ("/srv/ticks", TickPlace(folder="/srv/ticks"), "/srv/ticks"),
        ("ticks", TickPlace(folder="ticks"), "ticks"),
        ("~/ticks", TickPlace(folder=str(Path("~/ticks").expanduser())), str(Path("~/ticks").expanduser())),
        ("s3://a-bucket", TickPlace(bucket="a-bucket", folder=""), "s3://a-bucket"),
        ("s3://a-bucket/", TickPlace(bucket="a-bucket", folder=""), "s3://a-bucket"),
        ("s3://a.b/firm/ticks/", TickPlace(bucket="a.b", folder="firm/ticks"), "s3://a.b/firm/ticks"),
    ],
)
def test_the_place_of_ticks_is_a_folder_or_one_in_a_bucket(text: str, place: TickPlace, shown: str) -> None:
    found = build({"history": {"tick_archive": text}}).history.tick_archive
    assert found == place
    assert str(found) == shown


def test_a_file_is_read_with_its_types(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        [service]
        port = 9000
        api_key = "key"
        data_dir = "/srv/onebroker"
        [history]
        record = ["id-1", "id-2"]
        [engine]
        pre_open_send_window = [09:01:00, "09:05"]
        daily_loss_limit = 25000.50
        [brokers.beta]
        pin = "0042"
        intraday_cutoff = { equity = "15:10" }
        """,
    )
    settings = load(path)
    assert settings.service.port == 9000
    assert settings.service.data_dir == Path("/srv/onebroker")
    assert settings.service.api_key is not None
    assert settings.service.api_key.reveal() == "key"
    assert settings.history.record == RecordedInstruments(scope="listed", instrument_ids=("id-1", "id-2"))
    assert settings.engine.pre_open_send_window == (time(9, 1), time(9, 5))
    assert settings.engine.daily_loss_limit == Decimal("25000.5")
    assert settings.brokers["beta"].credentials["pin"] == "0042"


def test_the_receivers_of_alerts_are_secrets_and_their_kinds_are_known() -> None:
    urls = ["tgram://s3cret/1", "mailto://a:s3cret@b.example?to=c@d.example,e@f.example"]
    alerts = build(
        {"alerts": {"to": urls, "on": ["fill"], "off": ["calendar"], "quiet_from": "22:00", "quiet_until": "07:00"}}
    ).alerts
    assert [url.reveal() for url in alerts.to] == urls
    assert "s3cret" not in repr(alerts)
    assert "fill" in alerts.sent_kinds
    assert "calendar" not in alerts.sent_kinds
    assert (alerts.quiet_from, alerts.quiet_until) == (time(22), time(7))
    assert build({"alerts": {"kinds": ["halt"]}}).alerts.sent_kinds == {"halt"}
    assert "fill" not in build({}).alerts.sent_kinds
    by_environment = load_settings(None, {"ONEBROKER_ALERTS_TO": ", ".join(urls)}, known_brokers=KNOWN).alerts
    assert [url.reveal() for url in by_environment.to] == urls


@every_case(
    "alerts, line",
    [
        ({"to": ["s3cret"]}, "alerts.to must be URLs of receivers, such as tgram://, mailto:// or json://"),
        ({"to": "tgram://s3cret"}, "alerts.to must be a list"),
        ({"on": ["fills"]}, "; did you mean fill?"),
        ({"off": ["test"]}, "alerts.off must be kinds of alerts (rejected, "),
        ({"kinds": ["halt"], "off": ["fill"]}, "alerts.kinds must not be given together with on or off"),
        ({"on": ["fill"], "off": ["fill"]}, "alerts.off must not name fill, which on names"),
        ({"quiet_from": "22:00"}, "alerts.quiet_until is required: quiet_from and quiet_until are given together"),
        ({"quiet_from": "22:00", "quiet_until": "22:00"}, "alerts.quiet_until must differ from quiet_from"),
    ],
)
def test_alerts_that_cannot_be_are_refused_without_a_receiver_shown(alerts: dict[str, Any], line: str) -> None:
    (said,) = refusal({"alerts": alerts})
    assert line in said
    assert "s3cret" not in said


def test_the_environment_beats_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "[service]\nport = 9000\nhost = '0.0.0.0'\n[brokers.beta]\npin = '1'\n")
    settings = load(path, {"ONEBROKER_SERVICE_PORT": "9100", "ONEBROKER_BROKERS_BETA_PIN": "2"})
    assert (settings.service.port, settings.service.host) == (9100, "0.0.0.0")
    assert settings.brokers["beta"].credentials["pin"] == "2"


def test_environment_texts_take_the_type_of_their_key() -> None:
    settings = load(
        None,
        {
            "ONEBROKER_SERVICE_FAST_LANE": "off",
            "ONEBROKER_SERVICE_API_SECRET": "123",
            "ONEBROKER_SERVICE_TLS_CERTIFICATE": "/c.pem",
            "ONEBROKER_SERVICE_TLS_KEY": "/k.pem",
            "ONEBROKER_HISTORY_RECORD": "id-1, id-2",
            "ONEBROKER_ENGINE_EXIT_SHARE": "0.3",
            "ONEBROKER_ENGINE_MARKETABLE_AFTER_SECONDS": "20",
            "ONEBROKER_ENGINE_DAILY_LOSS_LIMIT": "1000.10",
            "ONEBROKER_ENGINE_EXCLUDED_BROKERS": "alpha,beta",
            "ONEBROKER_ENGINE_FREEZE_QUANTITIES": '{"NIFTY": 1800}',
            "ONEBROKER_ENGINE_PRE_OPEN_SEND_WINDOW": "09:00, 09:05",
            "ONEBROKER_ENGINE_SQUARE_OFF": '{"equity": "15:05"}',
            "ONEBROKER_BROKERS_BETA_ENABLED": "true",
            "ONEBROKER_BROKERS_BETA_DAILY_MESSAGES": "700",
            "ONEBROKER_BROKERS_BETA_RATE": '{"orders": {"second": 4}}',
            "HOME": "/root",
        },
    )
    assert settings.service.fast_lane is False
    assert settings.service.api_secret is not None
    assert settings.service.api_secret.reveal() == "123"
    assert settings.service.tls_key == Path("/k.pem")
    assert settings.history.record.instrument_ids == ("id-1", "id-2")
    assert settings.engine.exit_share == 0.3
    assert settings.engine.marketable_after_seconds == 20.0
    assert settings.engine.daily_loss_limit == Decimal("1000.10")
    assert settings.engine.excluded_brokers == ("alpha", "beta")
    assert settings.engine.freeze_quantities == {"NIFTY": 1800}
    assert settings.engine.pre_open_send_window == (time(9, 0), time(9, 5))
    assert settings.engine.square_off.equity == time(15, 5)
    assert settings.brokers["beta"].daily_messages == 700
    assert settings.brokers["beta"].rate.orders.second == 4


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("ONEBROKER_SERVICE_PORT", "many", "ONEBROKER_SERVICE_PORT must be a whole number"),
        ("ONEBROKER_SERVICE_FAST_LANE", "maybe", "ONEBROKER_SERVICE_FAST_LANE must be true or false"),
        ("ONEBROKER_ENGINE_SQUARE_OFF", "15:10", "ONEBROKER_ENGINE_SQUARE_OFF must be a JSON object"),
        ("ONEBROKER_ENGINE_EXIT_SHARE", "most", "ONEBROKER_ENGINE_EXIT_SHARE must be a number"),
        ("ONEBROKER_ENGINE_EXIT_SHARE", "nan", "engine.exit_share must be a number"),
        (
            "ONEBROKER_BROKERS_BETA_PINN", "1234",
            "ONEBROKER_BROKERS_BETA_PINN is not known; did you mean ONEBROKER_BROKERS_BETA_PIN?",
        ),
        (
            "ONEBROKER_SERVICE_APIKEY", "s3cret",
            "ONEBROKER_SERVICE_APIKEY is not known; did you mean ONEBROKER_SERVICE_API_KEY?",
        ),
    ],
)  # fmt: skip
def test_a_wrong_variable_is_named_and_its_text_is_not(name: str, text: str, line: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(None, {name: text})
    assert refused.value.lines == (line,)


def test_the_data_directory_follows_the_home_of_the_user() -> None:
    assert load(None, {"XDG_DATA_HOME": "/data"}).service.data_dir == Path("/data/onebroker")
    assert load(None, {"XDG_DATA_HOME": "relative"}).service.data_dir == Path.home() / ".local/share/onebroker"
    assert build({"service": {"data_dir": "~/x"}}).service.data_dir == Path.home() / "x"


@every_case("mode", [0o644, 0o640, 0o604, 0o660, 0o777])
@every_case(
    ("text", "key"),
    [
        ("[service]\napi_key = 'hunter2'", "service.api_key"),
        ("[service]\napi_secret = 'hunter2'", "service.api_secret"),
        ("[service]\nmetrics_token = 'hunter2'", "service.metrics_token"),
        ("[brokers.beta]\ntotp_secret = 'hunter2'", "brokers.beta.totp_secret"),
        ("[brokers.beat]\ntotp_secret = 'hunter2'", "brokers.beat.totp_secret"),
        ("[redis]\nurl = 'redis://:hunter2@db:6379'", "redis.url"),
    ],
)
def test_a_file_with_a_secret_that_others_can_open_is_refused(tmp_path: Path, text: str, key: str, mode: int) -> None:
    path = write(tmp_path, text, mode)
    with pytest.raises(SettingsError) as refused:
        load(path)
    assert str(refused.value) == (
        f"{path} holds secrets ({key}) and others than its owner can open it (mode {mode:04o}):"
        f" run chmod 600 {path}, or give them in the environment"
    )


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_only_its_owner_can_open_may_hold_secrets(tmp_path: Path, mode: int) -> None:
    assert load(write(tmp_path, "[service]\napi_key = 'k'", mode)).service.api_key is not None


def test_a_file_without_secrets_may_be_open_to_all(tmp_path: Path) -> None:
    path = write(
        tmp_path, "[service]\nport = 1\n[redis]\nurl = 'redis://db:6379'\n[brokers.beta]\nenabled = true", 0o644
    )
    settings = load(path, {"ONEBROKER_BROKERS_BETA_PIN": "hunter2"})
    assert settings.brokers["beta"].credentials["pin"] == "hunter2"


def test_a_missing_or_broken_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file or directory"):
        load(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="is not valid TOML"):
        load(write(tmp_path, "[service\nport = 1"))


def test_no_secret_shows_in_the_settings_or_in_an_error() -> None:
    values = {
        "service": {"api_key": "hunter2", "api_secret": "hunter2", "metrics_token": "hunter2"},
        "redis": {"url": "redis://:hunter2@db"},
        "brokers": {"beta": {"pin": "hunter2", "totp_secret": "hunter2"}},
    }
    settings = build(values)
    assert "hunter2" not in f"{settings!r} {settings} {settings.service} {settings.brokers} {settings.redis}"
    assert "hunter2" not in f"{settings.brokers['beta'].credentials}"
    wrong = {**values, "service": {"api_key": ["hunter2"], "port": "hunter2", "calendar": "hunter2"}}
    assert "hunter2" not in "\n".join(refusal(wrong))


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"service": {"api_key": ""}}, "service.api_key must not be empty"),
        ({"brokers": {"beta": {"pin": ""}}}, "brokers.beta.pin must not be empty"),
    ],
)
def test_an_empty_secret_is_refused_because_anybody_knows_it(values: Mapping[str, Any], line: str) -> None:
    assert refusal(values) == (line,)


def test_an_empty_variable_counts_as_not_set() -> None:
    settings = load(None, {"ONEBROKER_SERVICE_API_KEY": "", "ONEBROKER_BROKERS_BETA_PIN": ""})
    assert settings.service.api_key is None
    assert settings.brokers == {}


def test_a_variable_of_a_table_the_file_spoilt_leaves_the_error_to_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        load(
            write(tmp_path, "service = 3\nbrokers = 4"),
            {"ONEBROKER_SERVICE_PORT": "1", "ONEBROKER_BROKERS_BETA_PIN": "1"},
        )
    assert refused.value.lines == ("service must be an object", "brokers must be an object")


def test_the_settings_cannot_be_changed() -> None:
    settings = build({"brokers": {"beta": {}}})
    service: Any = settings.service
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        service.port = 1
    brokers: Any = settings.brokers
    with pytest.raises(TypeError):
        brokers["alpha"] = settings.brokers["beta"]


# --- by which address a broker's calls leave ---------------------------------------------------------------------------


def test_calls_leave_as_the_system_chooses_unless_a_setting_says_otherwise() -> None:
    plain = build({"brokers": {"alpha": {}}}).brokers["alpha"]
    assert (plain.address_family, plain.source_address, plain.algo_id) == ("any", None, None)
    given = {"address_family": "ipv6", "source_address": "2001:db8::7", "algo_id": "ALGO7"}
    told = build({"brokers": {"alpha": given}}).brokers["alpha"]
    assert (told.address_family, told.source_address, told.algo_id) == ("ipv6", "2001:db8::7", "ALGO7")


def test_the_environment_says_it_too() -> None:
    environ = {"ONEBROKER_BROKERS_ALPHA_ADDRESS_FAMILY": "ipv4", "ONEBROKER_BROKERS_ALPHA_SOURCE_ADDRESS": "192.0.2.7"}
    told = load(None, environ).brokers["alpha"]
    assert (told.address_family, told.source_address) == ("ipv4", "192.0.2.7")


@every_case(
    ("given", "line"),
    [
        ({"address_family": "inet"}, "brokers.alpha.address_family must be one of any, ipv4, ipv6"),
        ({"address_family": 4}, "brokers.alpha.address_family must be one of any, ipv4, ipv6"),
        ({"source_address": ""}, "brokers.alpha.source_address must be an IPv4 or IPv6 address of this machine, without port"),
        ({"source_address": "eth0"}, "brokers.alpha.source_address must be an IPv4 or IPv6 address of this machine, without port"),
        ({"source_address": "192.0.2.7:443"}, "brokers.alpha.source_address must be an IPv4 or IPv6 address of this machine, without port"),
        ({"source_address": "192.0.2.0/24"}, "brokers.alpha.source_address must be an IPv4 or IPv6 address of this machine, without port"),
        ({"source_address": "0.0.0.0"}, "brokers.alpha.source_address must be one address of this machine; for a whole family give address_family"),
        ({"source_address": "224.0.0.1"}, "brokers.alpha.source_address must be one address of this machine; for a whole family give address_family"),
        ({"source_address": 7}, "brokers.alpha.source_address must be text"),
        (
            {"source_address": "192.0.2.7", "address_family": "ipv6"},
            "brokers.alpha.source_address must be of the family that address_family names",
        ),
        ({"adress_family": "ipv4"}, "brokers.alpha.adress_family is not known; did you mean address_family?"),
        ({"algo_id": 12}, "brokers.alpha.algo_id must be text"),
    ],
)  # fmt: skip
def test_what_cannot_be_an_address_is_refused_by_name_and_never_quoted(given: Mapping[str, Any], line: str) -> None:
    assert refusal({"brokers": {"alpha": given}}) == (line,)
