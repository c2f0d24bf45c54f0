"""The one exception for "no, and this is why". Actors and parsing raise it; the routes render it as `{"error":
sentence, ...extra}` with its status (rules 1.1.5, 1.7.1). Sentences come from `config.messages`.
"""

from collections.abc import Mapping
from types import MappingProxyType


class Refusal(Exception):
    """A request is refused: HTTP status, the sentence for `error`, and the optional keys next to it (rules 1.7.1)."""

    def __init__(self, status: int, sentence: str, extra: Mapping[str, object] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.extra: Mapping[str, object] = MappingProxyType(dict(extra or {}))

    def body(self) -> dict[str, object]:
        """Return the failure's JSON object."""
        return {"error": self.sentence, **self.extra}
