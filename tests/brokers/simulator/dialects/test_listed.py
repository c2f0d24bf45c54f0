"""Names of what is listed: made once a list, made again when the list is another one."""

import attrs

from onebroker.brokers.simulator.dialects.listed import Listed


@attrs.frozen
class Paper:
    instrument_id: str


@attrs.frozen
class Name:
    contract: Paper
    code: str


class Market:
    """An account whose list is set by hand."""

    def __init__(self, *ids):
        self.list(*ids)

    def list(self, *ids):
        self.listed = [Paper(one) for one in ids]

    def contracts(self):
        return self.listed


class Names(Listed[Name]):
    """Names by their own code as well."""

    def __init__(self, account):
        self.named = []
        super().__init__(account, self._name)

    def by_code(self):
        self._refresh()
        return self._by_code

    def _name(self, paper):
        self.named.append(paper.instrument_id)
        return None if paper.instrument_id.startswith("x") else Name(paper, paper.instrument_id.upper())

    def _index(self, names):
        self._by_code = {name.code: name for name in names}


def test_what_the_broker_does_not_offer_has_no_name_and_the_rest_is_found_by_every_key():
    names = Names(Market("a", "x1", "b"))
    assert list(names.by_id) == ["a", "b"]
    assert names.by_code()["B"] is names.by_id["b"]


def test_a_list_is_named_once_and_a_new_days_list_replaces_it():
    market = Market("a", "b")
    names = Names(market)
    assert names.by_code()
    assert names.by_id
    assert names.named == ["a", "b"]
    market.list("b", "c")
    assert list(names.by_code()) == ["B", "C"]
    assert list(names.by_id) == ["b", "c"]
