"""Whatever a client sends is understood or refused with a sentence; nothing else can come of it."""

import json
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from onebroker.config.refusal import Refusal
from onebroker.http.live import frames
from onebroker.http.live.client_requests import CHANNELS, read_command, read_id, read_object

KEYS = st.sampled_from(
    (
        "subscribe",
        "unsubscribe",
        "resume",
        "stream",
        "id",
        "mode",
        "instruments",
        "documents",
        "access-token",
        "other",
        "exchange",
        "strikes",
    )
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from((*CHANNELS, "funds", "ltp"))
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


def refusal_of(understand: Callable[[], object]) -> Refusal | None:
    """Return how it is refused, if it is."""
    try:
        understand()
    except Refusal as refused:
        return refused
    return None


@given(message=st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_message_is_a_command_or_a_refusal_and_its_id_can_be_given_back(message: dict[str, object]):
    def understand() -> None:
        given_message = read_object(json.dumps(message))
        frames.message("error", {"id": read_id(given_message)})
        read_command(given_message)

    refused = refusal_of(understand)
    assert refused is None or (refused.status == 400 and refused.sentence)


@given(raw=st.text() | st.binary())
def test_any_text_or_bytes_are_an_object_or_a_refusal(raw: str | bytes):
    refused = refusal_of(lambda: read_object(raw))
    assert refused is None or refused.status == 400
