"""The messages of the reference actor."""

from typing import TypeAlias

import attrs

from onebroker.actors.kernel.mailbox import Reply


@attrs.frozen(kw_only=True)
class Reload:
    """Read the durable store now: the command line has just written it."""

    reply: Reply[None]
    """Answered when the stored documents are published; refused with Refusal 503 when the durable store cannot be read."""


ReferenceMessage: TypeAlias = Reload
