"""The cells of an option chain, for its tests."""

from onebroker.actors.chain.documents import Cell, Chain


def cells(chain: Chain) -> list[Cell]:
    """Return every cell of a chain, by strike, the call first."""
    return [cell for row in chain.rows for cell in (row.ce, row.pe) if cell is not None]
