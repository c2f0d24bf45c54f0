"""The receivers over Apprise: real requests to a receiver of this process, and no part of a URL in anything that is shown."""

import builtins
import logging

import pytest
import trio

from onebroker.actors.alerts import apprise_receivers
from onebroker.actors.alerts.apprise_receivers import open_receivers
from onebroker.actors.alerts.trial import try_receivers
from onebroker.config.clock import Clock
from onebroker.config.converters import Secret
from onebroker.config.settings import SettingsError
from tests.support.alert_receiver import alert_receiver
from tests.support.patience import PATIENCE_SECONDS


def test_apprise_that_is_missing_is_said_with_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *more):
        if name == "apprise":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SettingsError, match=r"Apprise, which is not installed: pip install 'onebroker\[alerts\]'"):
        open_receivers([Secret("json://127.0.0.1:9999/s3cret")])
    assert open_receivers([]) == ()


@pytest.mark.parametrize("url", ["nosuch://s3cret@host/t0ken", "tgram://s3cret", "mailto://", "json://"])
def test_a_url_that_apprise_cannot_read_is_refused_without_its_parts(url, caplog, capsys):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(SettingsError) as refused:
        open_receivers([Secret("json://127.0.0.1:9999"), Secret(url)])
    scheme = url.partition(":")[0]
    assert refused.value.lines == (f"alerts.to[1] ({scheme}) is no URL that Apprise can read: see docs/alerts.md",)
    shown = caplog.text + "".join(capsys.readouterr()) + repr(refused.value)
    assert "s3cret" not in shown
    assert "t0ken" not in shown


async def test_the_test_message_reaches_a_receiver_and_says_why_the_others_did_not_take_it(caplog, capsys):
    caplog.set_level(logging.DEBUG)
    with alert_receiver() as here, trio.fail_after(PATIENCE_SECONDS):
        here.status["/s3cret-refused"] = 401
        receivers = open_receivers(
            [
                Secret(f"json://user:passw0rd@127.0.0.1:{here.port}/s3cret-ok?+X-Key=t0ken"),
                Secret(f"json://127.0.0.1:{here.port}/s3cret-refused"),
                Secret(f"json://127.0.0.2:{here.port}/s3cret-away"),
            ]
        )
        answers = await try_receivers(receivers, Clock())
    assert answers[0] is None
    assert "error=401" in answers[1]
    assert answers[2] is not None
    (message,) = [one for path, one in here.taken if path == "/s3cret-ok"]
    assert message["title"] == "onebroker: test of the alerts"
    assert "message " in message["message"]
    shown = caplog.text + "".join(capsys.readouterr()) + repr(answers) + repr(receivers)
    for secret in ("s3cret", "passw0rd", "t0ken"):
        assert secret not in shown


async def test_a_receiver_that_hangs_ends_within_the_time_and_holds_one_thread(monkeypatch):
    with alert_receiver() as here, trio.fail_after(PATIENCE_SECONDS):
        here.hang("/slow")
        (receiver,) = open_receivers([Secret(f"json://127.0.0.1:{here.port}/slow?cto=60&rto=60")])
        for _ in range(2):
            with trio.move_on_after(0.3) as scope:
                await receiver.send("title", "body")
            assert scope.cancelled_caught
        assert here.begun == 1  # the second try waits for the first thread, and is cut too
        here.release()


async def test_what_a_plugin_raises_is_told_without_the_url(monkeypatch):
    (receiver,) = open_receivers([Secret("json://127.0.0.1:9999/s3cret")])
    import apprise

    def fail(*_, **__):
        raise RuntimeError("POST http://127.0.0.1:9999/s3cret")

    monkeypatch.setattr(apprise.Apprise, "notify", fail)
    said = await receiver.send("title", "body")
    assert said.startswith("RuntimeError: POST http")
    assert "s3cret" not in said


def test_the_fingerprint_of_a_url_is_the_same_over_restarts_and_shows_nothing():
    first, again, other = (
        open_receivers([Secret(url)])[0] for url in ("json://a/s3cret", "json://a/s3cret", "json://a/x")
    )
    assert first.name == again.name != other.name
    assert "s3cret" not in repr(first) + first.name
    assert apprise_receivers.INSTALL == "pip install 'onebroker[alerts]'"
