"""Sentences of a replica (docs/operations/replica.md)."""


def only_reads(service: str) -> str:
    """403, for every route that a replica does not have."""
    return f"this is a replica, which only reads: ask the service itself, {service}"


def token_not_checked(service: str, reason: str) -> str:
    """503, while no client's token could be shown to the service."""
    return f"the access token could not be checked, because {service} could not be asked: {reason}"


def not_connected(service: str) -> str:
    """503, for what a replica has only while it hears the service."""
    return f"the replica does not hear {service}"


def no_quote(service: str) -> str:
    """503, for an instrument whose quote the service does not serve now."""
    return f"{service} has no quote of this instrument that may be served now"


def only_unfinished(service: str) -> str:
    """403, for a parent that is not among the unfinished parents."""
    return f"a replica shows only unfinished parents: ask the service itself, {service}"
