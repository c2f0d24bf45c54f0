"""Requests are counted by the path of the route table: no word of a client becomes a label."""

from collections import Counter

import pytest

from tests.http.metrics.shown import shown

pytestmark = pytest.mark.usefixtures("token")


def counted(services) -> Counter[str]:
    return Counter(
        {
            name.removeprefix("http_requests_total "): value
            for name, value in shown(services.metrics.requests.collect()).items()
            if name.startswith("http_requests_total") and "connect" not in name
        }
    )


async def test_a_request_counts_under_its_path_method_and_status(client, services):
    for _ in range(2):
        await client.get("/health?anything=1")
    await client.get("/api/health")
    assert counted(services) == {"/health GET 200": 2, "/api/health GET 401": 1}
    shows = shown(services.metrics.requests.collect())
    assert shows["http_seconds_count /health"] == 2
    assert shows["http_seconds_sum /health"] >= 0


async def test_a_path_with_a_variable_is_one_route(client, services):
    for word in ("one", "two"):
        await client.get(f"/api/orders/intents/{word}")
    assert counted(services) == {"/api/orders/intents/<intent_id> GET 401": 2}


async def test_unknown_paths_and_methods_have_one_label(client, services):
    for number in range(3):
        await client.get(f"/nothing/{number}")
        await client.open(f"/nothing/{number}", method=f"WORD{number}")
    await client.post("/health")
    assert counted(services) == {"unknown GET 404": 3, "unknown other 404": 3, "unknown POST 405": 1}


async def test_a_host_of_another_site_is_counted(client, services):
    answer = await client.get("/health", headers={"Host": "evil.example"})
    assert answer.status_code == 421
    assert counted(services) == {"/health GET 421": 1}
