"""Hot requests that were damaged in any way: both listeners give the same answer, and leave the connection alike."""

import trio
from hypothesis import HealthCheck, find, given
from hypothesis import strategies as st

from tests.support.further import searched
from tests.support.lane_twins import DOCUMENTS, SHARE, Step, head, new_world, open_twins
from tests.support.patience import PATIENCE_SECONDS

ANY = searched(100, 1_500, suppress_health_check=list(HealthCheck))
WHOLE = [
    *(head(path) for path in DOCUMENTS.values()),
    head(f"/api/instruments/quote?instrument_id={SHARE.instrument_id}"),
    head(DOCUMENTS["orders"], method="HEAD"),
    head(DOCUMENTS["funds"], "User-Agent: x", "Connection: keep-alive", token="wrong"),
    head("/api/session/status"),
    head("/echo", "Content-Length: 4", method="POST") + b"\r\n\r\n",
]
PIECES = st.sampled_from(
    [
        b"\r\n", b"\n", b"\r", b"\r\n\r\n", b" ", b":", b"\x00", b"\t", b"%", b"?", b"/", b"#", b"0", b"\xff", b",", b"\r\n ",
        b"\r\nHost: x", b"\r\nConnection: close", b"\r\nContent-Length: 1", b"\r\nTransfer-Encoding: chunked", b"\r\nExpect: 100-continue",
        b"\r\nAccess-Token: token-1", b"HTTP/1.0", b"GET ", b"HEAD ",
    ]
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """One to four whole requests, up to three times changed: a piece put in, bytes or lines taken out, doubled or replaced."""
    sent = b"".join(draw(st.lists(st.sampled_from(WHOLE), min_size=1, max_size=4)))
    for _ in range(draw(st.integers(0, 3))):
        at, length = draw(st.integers(0, len(sent))), draw(st.sampled_from([0, 0, 1, 2, 5, 40]))
        taken = sent[at : at + length]
        put = draw(st.one_of(PIECES, st.just(b""), st.just(taken + taken), st.binary(min_size=1, max_size=3)))
        sent = sent[:at] + put + sent[at + length :]
        if draw(st.booleans()):
            lines = sent.split(b"\r\n")
            line = draw(st.integers(0, len(lines) - 1))
            lines[line : line + 1] = [lines[line]] * draw(st.sampled_from([0, 2]))
            sent = b"\r\n".join(lines)
    return sent


@st.composite
def in_pieces(draw: st.DrawFn) -> list[Step]:
    sent = draw(damaged())
    cuts = sorted(draw(st.lists(st.integers(0, len(sent)), max_size=4)))
    return [sent[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(sent)], strict=True) if begin < end]


@ANY
@given(steps=in_pieces())
def test_both_answer_alike(steps: list[Step]):
    async def play() -> None:
        with trio.fail_after(PATIENCE_SECONDS):
            async with open_twins(new_world()) as twins:
                await twins.compare(*steps)

    trio.run(play)


def test_the_lane_answers_some_of_them():
    async def answered(steps: list[Step]) -> int:
        async with open_twins(new_world()) as twins:
            await twins.compare(*steps)
            return twins.fast.answered_by_lane()

    assert find(in_pieces(), lambda steps: trio.run(answered, steps) == 3)
