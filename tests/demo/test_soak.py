"""A short soak: what requests and orders take of files, threads and memory they give back (lesson 34)."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.long

WARM_ROUNDS = 3
"""What a young service still takes up for good: modules, buffers, pools. One round was too few on a slow machine."""
ROUNDS = 3
REQUESTS, ORDERS = 100, 12
SPARE_FILES, SPARE_THREADS = 6, 3
SPARE_KILOBYTES = 30_000
READS = (
    "/api/portfolio/funds",
    "/api/portfolio/positions",
    "/api/orders/details",
    "/api/orders/trades",
    "/api/orders/parents",
    "/api/health",
)


def in_use(demo):
    """Open files, threads, resident kilobytes of the service."""
    process = Path(f"/proc/{demo.pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return len(list((process / "fd").iterdir())), int(status["Threads"]), int(status["VmRSS"].split()[0])


def one_round(demo, together):
    """Reads at the same time, quotes, bad requests, connections that break off, orders placed and cancelled."""
    shares = demo.shares()[:20]
    asked = [together.submit(demo.ask, "GET", READS[number % len(READS)]) for number in range(REQUESTS)]
    asked += [
        together.submit(demo.ask, "GET", "/api/instruments/quote", instrument_id=share["instrument_id"])
        for share in shares
    ]
    assert {each.result().status for each in asked} == {200}
    assert demo.ask("POST", "/api/orders/place", raw=b"{").status == 400
    placed = [together.submit(demo.place, **demo.limit_buy(shares[number], -3)) for number in range(ORDERS)]
    for each in placed:
        assert each.result().status == 200, each.result()
        demo.until_status(each.result().json["order_id"], "OPEN")
        assert demo.cancel(each.result().json["order_id"]).status == 200


def test_files_threads_and_memory_do_not_grow_with_requests_and_orders(demo, together):
    for _ in range(WARM_ROUNDS):
        one_round(demo, together)
    demo.close_clients()
    files, threads, kilobytes = in_use(demo)
    for _ in range(ROUNDS):
        one_round(demo, together)
    demo.close_clients()

    demo.until(lambda: in_use(demo)[0] <= files + SPARE_FILES, f"at most {files} files, now {in_use(demo)[0]}")
    demo.until(lambda: in_use(demo)[1] <= threads + SPARE_THREADS, f"at most {threads} threads, now {in_use(demo)[1]}")
    assert in_use(demo)[2] < kilobytes + SPARE_KILOBYTES
    demo.assert_sent_once()
