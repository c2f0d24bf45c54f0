"""The table of routes: first fit answers, a login is checked before the handler, another method is not a missing page."""

import pytest

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import NoRoute, Route, answer, as_json, csv_file, form_of


class Shut(Exception):
    """No login."""


def request(method="GET", path="/", body=b""):
    return DialectRequest(method=method, base="http://127.0.0.1", path=path, query=(), headers={}, body=body)


def says(word):
    return lambda call, *groups: WireResponse(status=200, body=" ".join([word, *map(str, groups)]).encode())


def shut(call):
    raise Shut


def let_in(call):
    pass


ROUTES = (
    Route("GET", "/orders/last", says("last"), is_open=True),
    Route("GET", r"/orders/(\w+)(?:/(\w+))?", says("one")),
    Route("DELETE", r"/orders/(\w+)", says("cancel")),
)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/orders/last", b"last"),
        ("GET", "/orders/7", b"one 7 None"),
        ("GET", "/orders/7/trades", b"one 7 trades"),
        ("DELETE", "/orders/last", b"cancel last"),
    ],
)
def test_the_first_route_that_fits_answers_with_the_parts_of_its_path(method, path, body):
    assert answer(ROUTES, request(method, path), let_in).body == body


@pytest.mark.parametrize(
    ("method", "path", "status"), [("PUT", "/orders/7", 405), ("GET", "/orders", 404), ("GET", "/orders/7/x/", 404)]
)
def test_what_no_route_takes_is_missing_or_not_allowed(method, path, status):
    with pytest.raises(NoRoute) as caught:
        answer(ROUTES, request(method, path), let_in)
    assert caught.value.status == status


def test_only_open_routes_answer_without_a_login():
    assert answer(ROUTES, request(path="/orders/last"), shut).status == 200
    with pytest.raises(Shut):
        answer(ROUTES, request(path="/orders/7"), shut)
    with pytest.raises(NoRoute):
        answer(ROUTES, request("PUT", "/orders/7"), shut)


def test_of_a_repeated_field_the_last_counts_and_an_empty_one_is_kept():
    assert form_of(request(body=b"a=1&b=&a=2+3&c=%26")) == {"a": "2 3", "b": "", "c": "&"}


def test_a_json_answer_says_that_it_is_one():
    sent = as_json(201, {"a": None})
    assert (sent.status, sent.headers["content-type"], sent.body) == (201, "application/json", b'{"a":null}')


def test_a_csv_file_may_have_no_header():
    assert csv_file(("a", "b"), [(1, "x,y")]) == b'a,b\n1,"x,y"\n'
    assert csv_file(None, [(1, "x,y")]) == b'1,"x,y"\n'
