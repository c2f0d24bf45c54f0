"""Values of a plan's body, shared by its objects. An optional field may be null, which counts as absent."""

from typing import Annotated, TypeAlias

import msgspec

from onebroker.actors.engine.plan.reading.conditions import POSITION_PRODUCTS
from onebroker.config.schema_marks import UUID, one_of

MOST_UNITS = 2**53 - 1

Rupees: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
"""Above zero; a price is in whole ticks of the instrument."""
AboveZero: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
NotNegative: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
Units: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Ticks: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Percent: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=100)]
Slices: TypeAlias = Annotated[int, msgspec.Meta(ge=2, le=60)]
Randomise: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=50)]
InstrumentId: TypeAlias = Annotated[str, UUID]
TimeOfDay: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$")]
"""HH:MM or HH:MM:SS, India time."""
MinuteOfDay: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
PositionProduct: TypeAlias = Annotated[str, one_of(POSITION_PRODUCTS)]
