"""The first step of `onebroker check`: the address from which a broker's orders leave this machine, and the broker's rule on addresses.

This step sends nothing. Only the broker knows the public address behind a router.
"""

from urllib.parse import urlsplit

import trio

from onebroker.brokers.broker import Access, Broker
from onebroker.brokers.requests import NotSent
from onebroker.brokers.transport.interface import RoutedTransport

RESOLVE_SECONDS = 10.0
_ORDER_HOST = "order_url"


async def address_detail(broker: Broker, access: Access, transport: RoutedTransport) -> str:
    """Return what a person must know about the address. Raises `NotSent` when no connection can leave."""
    endpoints = access.endpoints
    url = endpoints.others.get(_ORDER_HOST, endpoints.rest_url)
    try:
        with trio.fail_after(RESOLVE_SECONDS):
            leaving = await transport.local_addresses(url)
    except trio.TooSlowError:
        raise NotSent(f"its host was not resolved within {RESOLVE_SECONDS:g} s") from None
    said = f"{transport.egress}; to {urlsplit(url).hostname} by {' or '.join(leaving)}"
    if len(leaving) > 1:
        said += ", whichever connects first: register both, or set address_family"
    if access.algo_id is not None:
        said += "; orders carry the algo id of the settings"
    return f"{said}; {broker.name} {broker.address_rule}" if broker.address_rule else said
