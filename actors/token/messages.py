"""What may be asked of the token actor. Both come from routes; what every request needs is read as a published value."""

from typing import TypeAlias

import attrs

from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.store.durable import AccessToken


@attrs.frozen(kw_only=True)
class Connect:
    """Open a session, or return the one that is open. The route has checked key and secret."""

    reply: Reply[AccessToken]
    """The row now stored durably; or Refusal 503 when it cannot be stored."""


@attrs.frozen(kw_only=True)
class Disconnect:
    """End the session for every client."""

    token: bytes = attrs.field(repr=False)
    """As presented; another connect may have replaced it since the route checked it."""
    reply: Reply[None]
    """Refusal 401 when the token is no longer the stored one, Refusal 503 when it cannot be removed."""


TokenMessage: TypeAlias = Connect | Disconnect
