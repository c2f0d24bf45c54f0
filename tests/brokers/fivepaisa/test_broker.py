"""What the broker value says of itself."""

from onebroker.brokers.broker import LoginKind, SubscriptionDecoder
from onebroker.brokers.fivepaisa import feed
from onebroker.brokers.fivepaisa.broker import FIVEPAISA
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import StreamAddress


def test_it_stands_in_the_registry_behind_the_brokers_that_give_quotes():
    codes = list(build_registry())
    in_service = [code for code, broker in build_registry().items() if broker.quotes_in_service]
    assert codes.index("fivepaisa") >= len(in_service)


def test_it_logs_in_by_itself_and_gives_no_rest_quotes():
    assert FIVEPAISA.login_kind is LoginKind.UNATTENDED
    assert FIVEPAISA.quotes is not None
    assert not FIVEPAISA.quotes_in_service
    assert FIVEPAISA.profile_seconds == 60


def test_its_limits_and_cadence_are_those_of_architecture_13():
    assert (FIVEPAISA.order_windows.second, FIVEPAISA.order_windows.minute, FIVEPAISA.order_windows.day) == (
        5,
        50,
        None,
    )
    cadence = FIVEPAISA.cadence
    assert (cadence.orders, cadence.trades, cadence.positions, cadence.funds, cadence.holdings) == (3, 6, 6, 15, 60)


def test_orders_without_a_price_are_not_offered():
    for offered in FIVEPAISA.capabilities.order_types.values():
        assert offered == {"LIMIT", "SL"}
    assert FIVEPAISA.capabilities.modifiable == {"price", "trigger_price", "quantity", "disclosed_quantity"}


def test_one_socket_carries_everything(access):
    assert FIVEPAISA.order_feed is None
    assert (FIVEPAISA.feed.sockets, FIVEPAISA.feed_carries_orders) == (1, True)
    assert isinstance(feed.decoder(access, StreamAddress(url="ws://feed"), {}), SubscriptionDecoder)
