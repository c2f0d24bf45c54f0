"""What became of rows that were given to a store that already held some (architecture 11)."""

import attrs


@attrs.frozen(kw_only=True)
class Merged:
    """Counts of rows."""

    added: int = 0
    replaced: int = 0
    """Another row stood under the same key."""
    equal: int = 0
    """The same row was there already."""

    def plus(self, other: "Merged") -> "Merged":
        return Merged(
            added=self.added + other.added, replaced=self.replaced + other.replaced, equal=self.equal + other.equal
        )
