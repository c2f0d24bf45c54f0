"""The lane answers as the application behind hypercorn does: the same bytes, the same state of the connection, the same counters."""

import pytest
from hypercorn.config import Config

from tests.support.every_case import every_case
from tests.support.lane_twins import (
    DOCUMENTS,
    QUOTE_PATHS,
    SHARE,
    STALE,
    UNREAD,
    Twins,
    document,
    head,
    open_twins,
)

FUNDS, POSITIONS, ORDERS = DOCUMENTS["funds"], DOCUMENTS["positions"], DOCUMENTS["orders"]
COLD = "/api/session/status"
LTP = f"/api/instruments/ltp?instrument_id={SHARE.instrument_id}"
BY_FIELDS = "exchange=nse&segment=equities&symbol=INFY"
HOT = [*DOCUMENTS.values(), *(f"{path}?instrument_id={SHARE.instrument_id}" for path in QUOTE_PATHS)]


# Whole requests, with everything in order


@every_case("method", ["GET", "HEAD"])
@every_case("target", HOT)
async def test_hot_paths_are_answered_by_the_lane(twins: Twins, target: str, method: str):
    before = twins.fast.answered_by_lane()
    heard = await twins.compare(head(target, method=method), head(target, method=method))
    assert heard.answer.startswith(b"HTTP/1.1 200 \r\n")
    assert heard.answer.count(b"HTTP/1.1 200 \r\n") == 2
    assert heard.peers == ((True, False),)
    assert twins.fast.answered_by_lane() == before + 2


@every_case(
    "lines",
    [
        ("User-Agent: curl/8.5.0", "Accept: */*"),
        ("User-Agent: python-requests/2.32.3", "Accept-Encoding: gzip, deflate", "Accept: */*", "Connection: keep-alive"),
        ("User-Agent: Mozilla/5.0", "Connection: keep-alive", "Sec-Fetch-Mode: cors", "Cookie: a=b", "If-None-Match: x"),
        ("Range: bytes=0-9", "If-Modified-Since: Fri, 20 Nov 2026 09:00:00 GMT", "Accept-Charset: latin1"),
        ("X-HTTP-Method-Override: DELETE", "X-Forwarded-For: 10.0.0.1", "Forwarded: for=10.0.0.2", "Origin: http://evil"),
        ("connection: Keep-Alive",),
    ],
)  # fmt: skip
async def test_the_heads_of_common_clients_are_the_lanes(twins: Twins, lines: tuple[str, ...]):
    before = twins.fast.answered_by_lane()
    assert (await twins.compare(head(FUNDS, *lines))).answer.startswith(b"HTTP/1.1 200 ")
    assert twins.fast.answered_by_lane() == before + 1


# The token


@every_case("target", [FUNDS, LTP, ORDERS])
@every_case("method", ["GET", "HEAD"])
@every_case(
    ("token", "lines"),
    [
        (None, ()),
        ("", ()),
        ("wrong", ()),
        ("token-1 ", ()),
        ("TOKEN-1", ()),
        ("t\u00f6ken", ()),
        ("token-1", ("Access-Token: token-1",)),
        ("wrong", ("access-token: token-1",)),
        (None, ("access_token: token-1", "Authorization: Bearer token-1")),
        (None, ("Access-Token:\ttoken-1\t",)),
    ],
)
async def test_a_token_is_judged_alike(twins: Twins, target: str, method: str, token: str | None, lines: tuple[str]):
    sent = head(target, *lines, token=token, method=method)
    heard = await twins.compare(sent, sent, head(FUNDS))
    assert heard.peers == ((True, False),)


async def test_a_wrong_token_takes_the_proof_back_and_is_counted(twins: Twins):
    heard = await twins.compare(head(FUNDS), head(FUNDS, token="wrong"))
    assert heard.peers == ((False, False),)
    assert len(heard.refusals) == 1
    assert twins.fast.answered_by_lane() == 2


@every_case("target", [FUNDS, ORDERS, LTP])
async def test_a_token_that_is_over_or_not_read_yet(twins: Twins, target: str):
    world, held = twins.world, twins.world.token.value
    heard = await twins.compare(world.expire, head(target), head(target, token="wrong"))
    assert heard.answer.startswith(b"HTTP/1.1 401 ")
    heard = await twins.compare(lambda: world.token.set(None), head(target), head(target, token=None))
    assert heard.answer.startswith(b"HTTP/1.1 503 ")
    world.token.set(held)


# The documents


@every_case("method", ["GET", "HEAD"])
@every_case("resource", list(DOCUMENTS))
@every_case(
    ("usable", "age_seconds", "status"),
    [(False, 0.0, 502), (True, 30.0, 200), (True, 300.5, 503), (False, 300.5, 503), (None, 0.0, 503)],
)
async def test_a_document_that_may_not_be_served(
    twins: Twins, method: str, resource: str, usable: bool | None, age_seconds: float, status: int
):
    epoch = twins.world.clock.epoch()
    held = None if usable is None else document(resource, epoch, usable=usable, age_seconds=age_seconds)
    twins.world.documents[resource].set(held)
    sent = head(DOCUMENTS[resource], method=method)
    assert (await twins.compare(sent, sent)).answer.startswith(b"HTTP/1.1 %d " % status)
    twins.world.well()


async def test_a_newer_document_is_answered_at_once(twins: Twins):
    bodies = []
    for _ in range(2):
        heard = await twins.compare(head(POSITIONS), head(POSITIONS))
        bodies.append(heard.answer)
        twins.world.now += 1
        twins.world.well()
    assert bodies[0] != bodies[1]


@every_case("target", list(DOCUMENTS.values()))
@every_case("query", ["?", "?x", "?limit=1", "?limit=no", "?limit=", "?status=open&cursor=0", "?%6cimit=1", "??", "?#"])
async def test_a_document_with_a_query(twins: Twins, target: str, query: str):
    await twins.compare(head(target + query), head(target))


# Quotes


@every_case("path", QUOTE_PATHS)
@every_case(
    "query",
    [
        f"instrument_id={SHARE.instrument_id}",
        f"instrument_id={SHARE.instrument_id.upper()}",
        f"instrument_id=%20{SHARE.instrument_id}+",
        f"instrument_id={SHARE.instrument_id}&instrument_id=nonsense",
        f"instrument_id=nonsense&instrument_id={SHARE.instrument_id}",
        f"instrument_id=&{BY_FIELDS}",
        f"x=%ff&instrument_id={SHARE.instrument_id}",
        f"x=1;y=2&&=&instrument_id={SHARE.instrument_id}&",
        f"instrument%5Fid={SHARE.instrument_id}",
        BY_FIELDS,
        "exchange=nse&segment=nse_equities&symbol=infy",
        "exchange=nse&segment=equities&symbol=IN%46Y",
        "exchange=nse&segment=equities",
        "exchange=nse&segment=nonsense&symbol=INFY",
        "exchange=nse&segment=equity_options&underlying_symbol=NIFTY&expiry_date=2026-11-26&strike_price=1e3&option_type=CE",
        f"instrument_id={STALE.instrument_id}",
        f"instrument_id={UNREAD.instrument_id}",
        "instrument_id=0f8fad5b-d9cb-469f-a165-70867728950e",
        "instrument_id=nonsense",
        "",
        "x=1",
    ],
)
async def test_a_quote_named_in_any_way(twins: Twins, path: str, query: str):
    target = f"{path}?{query}"
    await twins.compare(head(target), head(target), head(target, token=None))


async def test_a_quote_that_is_read_is_watched(twins: Twins, mock_clock):
    for _ in range(2):
        heard = await twins.compare(head(LTP), head(LTP))
        assert [asked.split("(")[0] for asked in heard.asked] == ["Touched"]
        assert (await twins.compare(head(LTP))).asked == ()
        mock_clock.jump(30)
    assert twins.fast.answered_by_lane() == 6


async def test_a_stale_quote_comes_from_a_broker(twins: Twins):
    heard = await twins.compare(head(f"/api/instruments/ltp?instrument_id={STALE.instrument_id}"))
    assert b'"source":"broker"' in heard.answer
    assert len(heard.asked) == 2
    assert twins.fast.answered_by_lane() == 0


async def test_quotes_before_any_instrument_was_mapped(twins: Twins):
    empty = type(twins.world.catalogue.value)(latest=None, published_today=False, reason="")
    twins.world.catalogue.set(empty)
    assert (await twins.compare(head(LTP), head(LTP, token="wrong"))).answer.startswith(b"HTTP/1.1 503 ")


# Names of the host


@every_case("target", [FUNDS, LTP, FUNDS + "?", COLD])
@every_case(
    "host",
    [
        "localhost", "LOCALHOST", "localhost:8000", "localhost.", "127.0.0.1", "127.0.0.1:1", "127.9.9.9", "[::1]", "[::1]:80",
        "trading.example", "Trading.Example.:443", "other.example", "127.0.0.1.nip.io", "", " ", ":80", "localhost:80:80",
        "evil@localhost", "[", "l\u00f6calhost", None,
    ],
)  # fmt: skip
async def test_a_host_name_is_judged_alike(twins: Twins, target: str, host: str | None):
    await twins.compare(head(target, host=host), head(target), head(target, host=host, token="wrong"))


@every_case("others", [("Host: localhost",), ("host: other.example",), ("Host: localhost", "HOST: localhost")])
async def test_more_than_one_host(twins: Twins, others: tuple[str, ...]):
    heard = await twins.compare(head(FUNDS, *others))
    assert heard.closed
    await twins.compare(head(FUNDS, *others[::-1], host=None))


# What becomes of the connection


@every_case("target", [FUNDS, COLD])
@every_case(
    "version", ["HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 ", "HTTP/1", ""]
)
@every_case("host", ["localhost", None])
async def test_another_version(twins: Twins, target: str, version: str, host: str | None):
    await twins.compare(head(target, version=version, host=host), head(target))


@every_case("target", [FUNDS, LTP])
@every_case(
    "line",
    [
        "Connection: close", "connection: CLOSE", "Connection: keep-alive", "Connection: keep-alive, close", "Connection: foo",
        "Connection: keep-alive\r\nConnection: close", "Connection: close\r\nConnection: keep-alive", "Connection:", "Connection: ,",
        "Connection: Upgrade\r\nUpgrade: websocket", "Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AA", "Upgrade: websocket",
        "Connection: keep-alive, Upgrade\r\nUpgrade: foo", "Keep-Alive: timeout=5, max=1", "Proxy-Connection: close",
        "Expect: 100-continue", "Expect: 200-ok", "TE: trailers", "Trailer: X", "Connection: access-token",
    ],
)  # fmt: skip
async def test_a_header_about_the_connection(twins: Twins, target: str, line: str):
    await twins.compare(head(target, line), head(target))
    await twins.compare(head(target, line) + head(target))


@every_case("target", [FUNDS, LTP])
@every_case("method", ["GET", "HEAD", "POST"])
@every_case(
    ("lines", "body"),
    [
        (("Content-Length: 0",), b""),
        (("Content-Length: 5",), b"12345"),
        (("Content-Length: 5",), b"123"),
        (("Content-Length: 5",), b"12345" + head(FUNDS)),
        (("Content-Length: -1",), b""),
        (("Content-Length: 5", "Content-Length: 6"), b"123456"),
        (("Content-Length: 5, 5",), b"12345"),
        (("Transfer-Encoding: chunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"3\r\nabc\r\n0\r\nX: y\r\n\r\n" + head(FUNDS)),
        (("Transfer-Encoding: chunked", "Content-Length: 3"), b"3\r\nabc\r\n0\r\n\r\n"),
        (("Transfer-Encoding: gzip",), b"abc"),
        (("Transfer-Encoding: chunked",), b"zz\r\n"),
    ],
)
async def test_a_body(twins: Twins, target: str, method: str, lines: tuple[str, ...], body: bytes):
    await twins.compare(head(target, *lines, method=method) + body, head(target))
    await twins.compare(head(target, *lines, method=method), body, head(target))


# Other spellings of the path and of the method


@every_case(
    "target",
    [
        "/api/portfolio/%66unds", "/api/portfolio/funds%20", "/api/portfolio/funds/", "//api/portfolio/funds", "/api//portfolio/funds",
        "/API/portfolio/funds", "/api/portfolio/funds;x=1", "/api/portfolio/funds#x", "/api/portfolio/../portfolio/funds", "/api/portfolio",
        "http://localhost/api/portfolio/funds", "http://other.example/api/portfolio/funds", "api/portfolio/funds", "*", "/", "",
        "/api/portfolio/funds%3f", "/api/portfolio/funds\\", "/api/portfolio/funds\u00e9", "/api/portfolio/\tfunds", "/api/portfolio/funds x",
    ],
)  # fmt: skip
async def test_another_spelling_of_the_path(twins: Twins, target: str):
    await twins.compare(head(target), head(FUNDS))


@every_case(
    "method",
    [
        "get",
        "Get",
        "head",
        "OPTIONS",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "TRACE",
        "CONNECT",
        "PRI",
        "GETT",
        "G\u00c9T",
        "",
    ],
)
@every_case("target", [FUNDS, LTP])
async def test_another_method(twins: Twins, method: str, target: str):
    await twins.compare(head(target, method=method), head(target))


# Bytes that are no request


@every_case(
    "line",
    [
        "NoColon", ": empty name", "Space : x", " folded", "\tfolded", "X: a\r\n folded", "X: \x00", "X: a\x00b", "X: a\rb", "X\u00e9: y",
        "X: \u00e9", "X: \x01", "Access-Token : token-1", "X(y): z", "X: a\nY: b", "X: a\r\n\tAccess-Token: other", "X:", "X: \t ",
    ],
)  # fmt: skip
@every_case("target", [FUNDS, COLD])
async def test_an_odd_header_line(twins: Twins, line: str, target: str):
    await twins.compare(head(target, line), head(target))
    await twins.compare(head(target, line) + head(target))


def _bare(sent: bytes) -> bytes:
    return sent.replace(b"\r\n", b"\n")


GET = head(FUNDS)
ODD = [
    _bare(GET),
    _bare(GET) + GET,
    GET + _bare(GET),
    GET[:-2] + b"\n",
    GET[:-4] + b"\n\r\n",
    GET[:-4] + b"\n\n" + GET,
    GET[:-4] + b"\r\r\n",
    b"\r\n" + GET,
    b"\r\n\r\n" + GET,
    b"\n" + GET,
    b"\r" + GET,
    b"\x00" + GET,
    b" " + GET,
    GET + b"\r\n" + GET,
    GET + b"\r\n",
    GET + b"garbage",
    GET + b"garbage\r\n\r\n",
    GET + b"\x16\x03\x01",
    GET + b"\x00\x00\r\n\r\n" + GET,
    GET.replace(b" HTTP/1.1", b"  HTTP/1.1"),
    GET.replace(b"GET ", b"GET  "),
    GET.replace(b" HTTP/1.1", b"\tHTTP/1.1"),
    GET.replace(b": ", b":"),
    GET.replace(b": ", b" :"),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET\r\n\r\n",
    b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
]


@every_case("sent", ODD)
async def test_odd_bytes(twins: Twins, sent: bytes):
    await twins.compare(sent)
    await twins.compare(head(LTP), sent, head(LTP))


@every_case("target", [FUNDS, COLD])
@every_case("length", [3_500, 4_000, 4_096, 5_000, 16_300, 16_500, 70_000])
async def test_a_long_head(twins: Twins, target: str, length: int):
    await twins.compare(head(target, "X: " + "x" * length), head(target))
    await twins.compare(head(target, *(f"X-{number}: y" for number in range(length // 10))), head(target))
    await twins.compare(head(target) * 40 + head(target, "X: " + "x" * length))


# Pieces


@every_case("cut", range(1, len(GET)))
async def test_a_head_in_two_pieces(twins: Twins, cut: int):
    heard = await twins.compare(GET[:cut], GET[cut:], GET)
    assert heard.answer.count(b"HTTP/1.1 200 ") == 2


@every_case("cut", range(1, len(GET), 7))
async def test_half_a_head_behind_a_whole_one(twins: Twins, cut: int):
    assert (await twins.compare(GET + GET[:cut], GET[cut:], GET)).answer.count(b"HTTP/1.1 200 ") == 3


async def test_a_head_byte_by_byte(twins: Twins):
    assert (await twins.compare(*(GET[place : place + 1] for place in range(len(GET))), GET)).answer.count(
        b" 200 "
    ) == 2


@every_case("cut", range(0, len(GET), 5))
async def test_the_stream_ends_within_a_head(twins: Twins, cut: int):
    await twins.compare(probe=GET[:cut])
    await twins.compare(GET, probe=GET[:cut])


async def test_a_client_that_closes_its_side_behind_a_hot_request_gets_its_answer(twins: Twins):
    # hypercorn cancels the request when it reads the end before the application has answered.
    _, fast = await twins.converse([], probe=GET + head(LTP))
    assert fast.after.count(b"HTTP/1.1 200 ") == 2


# Several requests of one connection

MIXED = [FUNDS, COLD, LTP, ORDERS, f"{ORDERS}?limit=1", POSITIONS, "/health", "/nothing"]


@every_case("number", [2, 3, 8, 20, 50])
@every_case("start", range(4))
async def test_requests_sent_at_once_are_answered_in_their_order(twins: Twins, number: int, start: int):
    targets = (MIXED[start:] + MIXED)[:8] * 7
    heard = await twins.compare(b"".join(head(target) for target in targets[:number]), GET)
    assert heard.answer.count(b"HTTP/1.1 ") == number + 1
    wrong = [None if place % 3 else "wrong" for place in range(number)]
    await twins.compare(b"".join(head(targets[place], token=token) for place, token in enumerate(wrong)))


@every_case("hot", [GET, head(LTP), head(FUNDS, method="HEAD"), GET * 3, GET + GET[:20]])
async def test_a_hot_request_waits_for_the_request_before_it(twins: Twins, hot: bytes):
    slow, gate = head("/slow"), twins.world.gate
    heard = await twins.compare(slow, hot, gate.open, GET[20:] if hot.endswith(GET[:20]) else b"", GET)
    assert heard.answer.index(b'"slow"') < heard.answer.index(b"Z" if b"Z" in heard.answer else b"HTTP/1.1 ", 20)
    await twins.compare(slow + hot + hot, gate.open)
    await twins.compare(GET + slow + GET, GET, gate.open, GET)


async def test_nothing_is_answered_while_an_earlier_request_is_in_progress(twins: Twins):
    heard = await twins.compare(head("/slow"), GET)
    assert heard.answer == b""
    assert heard.peers == ((False, True),)


async def test_a_hot_request_behind_a_body(twins: Twins):
    post = head("/echo", "Content-Length: 5", method="POST")
    assert (await twins.compare(post, b"12", GET[:3], GET)).answer
    assert (await twins.compare(post + b"12345" + GET, GET)).answer.count(b" 200 ") == 3
    chunked = head("/echo", "Transfer-Encoding: chunked", method="POST")
    await twins.compare(chunked, b"5\r\n12345\r\n", b"0\r\n", b"\r\n" + GET, GET)
    await twins.compare(head("/echo", "Content-Length: 5", "Expect: 100-continue", method="POST"), b"12345" + GET)


@pytest.mark.parametrize("batch", [1, 7])
async def test_the_last_request_of_a_connection_ends_it(world, monkeypatch: pytest.MonkeyPatch, batch: int):
    monkeypatch.setattr(Config, "keep_alive_max_requests", 50)
    for cold in (range(0), range(0, 60, 5), range(49, 50), range(48, 49)):
        async with open_twins(world) as twins:
            sent = [head(COLD) if place in cold else GET for place in range(52)]
            heard = await twins.compare(*(b"".join(sent[place : place + batch]) for place in range(0, 52, batch)))
            assert heard.closed
            assert heard.answer.count(b"HTTP/1.1 200 ") == 50
            assert heard.answer.count(b"connection: close") == 1


async def test_the_thousandth_request_ends_the_connection(twins: Twins):
    heard = await twins.compare(*[GET * 100] * 10, GET)
    assert heard.closed
    assert heard.answer.count(b"HTTP/1.1 200 ") == 1_000
