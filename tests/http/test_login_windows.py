"""When an address may bring a login back: once, in time, and only that of the login."""

import pytest

from onebroker.http.login_windows import WINDOW_SECONDS, LoginWindows, carries, new_state

ADDRESS = "http://127.0.0.1/login/zerodha?request_token=t&state=s"


@pytest.fixture
def windows():
    held = LoginWindows()
    held.open("zerodha", "s", 100.0)
    return held


def test_an_address_is_taken_once(windows):
    assert windows.take("zerodha", ADDRESS, 101.0)
    assert not windows.take("zerodha", ADDRESS, 102.0)


def test_a_window_closes_after_five_minutes(windows):
    assert not windows.take("zerodha", ADDRESS, 100.0 + WINDOW_SECONDS)


def test_a_window_is_open_until_then(windows):
    assert windows.take("zerodha", ADDRESS, 99.0 + WINDOW_SECONDS)


def test_an_address_of_another_login_leaves_the_window_open(windows):
    for other in ("?request_token=t", "?request_token=t&state=x", "?state=s&state=s", "", "http://[bad?state=s"):
        assert not windows.take("zerodha", other, 101.0)
    assert windows.take("zerodha", ADDRESS, 101.0)


def test_each_broker_has_its_own_window(windows):
    assert not windows.take("upstox", ADDRESS, 101.0)


def test_a_new_page_makes_the_earlier_one_worthless(windows):
    windows.open("zerodha", "newer", 110.0)
    assert not windows.take("zerodha", ADDRESS, 111.0)
    assert windows.take("zerodha", ADDRESS.replace("=s", "=newer"), 111.0)


def test_without_a_state_any_query_is_taken_and_no_query_is_not():
    assert carries("/login/shoonya?code=c", "")
    assert not carries("/login/shoonya", "")


def test_no_two_logins_have_the_same_state():
    assert len({new_state() for _ in range(100)}) == 100
