"""Long bodies that are complete in memory: the same bytes, with their length, in slices."""

import pytest

from onebroker.http.bodies.whole_body_out import SLICE_BYTES, parts_answer


@pytest.mark.parametrize(
    "middle", [0, 1, SLICE_BYTES - 3, SLICE_BYTES - 2, SLICE_BYTES, 3 * SLICE_BYTES, 3 * SLICE_BYTES + 7]
)
async def test_a_body_has_all_bytes_its_length_and_no_long_slice(middle):
    parts = (b"{", bytes(n % 251 for n in range(middle)), b"}")
    response = parts_answer(parts)
    assert response.headers["Content-Length"] == str(middle + 2)
    assert (response.content_type, response.headers["Cache-Control"]) == ("application/json", "no-store")
    async with response.response as body:
        slices = [slice_ async for slice_ in body]
    assert b"".join(slices) == b"".join(parts)
    assert max(map(len, slices)) <= SLICE_BYTES
