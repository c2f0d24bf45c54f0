"""What the quote book knows of feeds that are connected and say nothing. It publishes this for the service's health."""

from collections.abc import Mapping
from typing import TypeAlias

import attrs

Market: TypeAlias = tuple[str, str]
"""Exchange and calendar."""


@attrs.frozen(kw_only=True)
class FeedSilence:
    """The feeds that are silent now."""

    mute: Mapping[str, float] = attrs.field(factory=dict)
    """Code of a broker whose feed says nothing while other feeds send ticks of its instruments -> epoch seconds of its last tick."""
    markets: Mapping[Market, float] = attrs.field(factory=dict)
    """Open market in which no feed reports the trades that a broker shows over REST -> epoch seconds of the last tick from any feed."""
