"""Listings that the tests of quotes and candles ask for."""

from onebroker.brokers.records import Listing


def listing(token, units=1):
    return Listing(broker_token=token, tradingsymbol=token, exchange=token.rpartition(":")[0], contract_units=units)


SHARE, TWIN, CURRENCY = listing("N:C:1660"), listing("B:C:1660"), listing("N:U:7001", 1000)
