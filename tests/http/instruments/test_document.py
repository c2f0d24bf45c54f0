"""What the OpenAPI document tells of the instrument routes is what they take and answer. That answers fit it is checked by the client of every test."""

import pytest

from tests.support.described import document, misfits

PATHS = {
    "segments": {}, "master": {"exchange": "all", "segment": "all"},
    "search": {"exchange": "nse", "segment": "equity_options", "query": "I"},
    "details": {"exchange": "nse", "segment": "equities", "symbol": "INFY"},
    "additional_details": {"exchange": "nse", "segment": "equities", "symbol": "INFY"},
}  # fmt: skip


def told(path, method="get"):
    return document()["paths"][f"/api/instruments/{path}"][method]


@pytest.mark.parametrize("path", PATHS)
async def test_answers_fit_the_document(office, path):
    response = await office.get(path, **PATHS[path])
    assert response.status_code == 200


@pytest.mark.parametrize("path", ["details", "additional_details"])
async def test_bodies_and_answers_of_the_post_form_fit_the_document(office, path):
    body = {"instruments": [PATHS[path], {"instrument_id": "x"}], "date": "2026-11-20"}
    place = f"/paths/~1api~1instruments~1{path}/post/requestBody/content/application~1json/schema"
    assert list(misfits(place, body)) == []
    assert (await office.post(path, body)).status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_every_parameter_and_status_is_told(path):
    operation = told(path)
    names = [(row["name"], row["required"]) for row in operation["parameters"]]
    where = [("exchange", True), ("segment", True)]
    assert names == {
        "segments": [],
        "master": [*where, ("date", False)],
        "search": [*where, ("query", True), ("limit", False), ("date", False)],
    }.get(path, names)
    statuses = {"200", "401", "421", "503"} if path == "segments" else {"200", "400", "401", "404", "421", "503", "504"}
    assert set(operation["responses"]) == statuses | {"405", "500"}


def test_the_search_limit_has_its_bounds():
    (limit,) = [row for row in told("search")["parameters"] if row["name"] == "limit"]
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 200}
