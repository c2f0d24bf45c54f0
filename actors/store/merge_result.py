"""The result of giving rows to a store that already held some (architecture 11)."""

import attrs


@attrs.frozen(kw_only=True)
class Merged:
    """Counts of rows."""

    added: int = 0
    replaced: int = 0
    """A different row had the same key."""
    equal: int = 0
    """The same row was already stored."""

    def plus(self, other: "Merged") -> "Merged":
        return Merged(
            added=self.added + other.added, replaced=self.replaced + other.replaced, equal=self.equal + other.equal
        )
