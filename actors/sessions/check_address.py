"""The first step of `onebroker check`: by which address the orders of a broker leave this machine, and what it says about addresses.

Nothing is sent for it. The public address behind a router is known to the broker only.
"""

from urllib.parse import urlsplit

import trio

from onebroker.brokers.broker import Access, Broker
from onebroker.brokers.requests import NotSent
from onebroker.brokers.transport.interface import RoutedTransport

RESOLVE_SECONDS = 10.0
_ORDER_HOST = "order_url"


async def address_detail(broker: Broker, access: Access, transport: RoutedTransport) -> str:
    """Return what a person has to know about it. Raises `NotSent` when no connection can leave."""
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
