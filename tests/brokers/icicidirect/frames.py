"""Frames of both streams, as the server writes them."""

import msgspec
from hypothesis import strategies as st

from onebroker.brokers.requests import StreamAddress

ADDRESS = StreamAddress(url="ws://feed")


def event(name, argument):
    return f"42{msgspec.json.encode([name, argument]).decode()}"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**18) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=9),
    max_leaves=12,
)  # fmt: skip
