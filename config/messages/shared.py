"""Sentences that every section shares: for parameters (rules 1.7.3), and for what is missing or late inside the service (rules 1.1.6)."""

# Parameters (400)


def must_be_whole_number(name: str) -> str:
    return f"{name} must be a whole number"


def must_be_between(name: str, minimum: int, maximum: int) -> str:
    return f"{name} must be between {minimum} and {maximum}"


def must_be_true_or_false(name: str) -> str:
    return f"{name} must be true or false"


def must_be_date(name: str) -> str:
    return f"{name} must be a date in YYYY-MM-DD format"


def is_required(name: str) -> str:
    return f"{name} is required"


def must_be_given_once(name: str) -> str:
    """Ours: the service does not guess which of two values is meant."""
    return f"{name} must be given once"


# The host name that a request is sent to (421), and the page that it comes from (403). Ours.


def host_not_served(host: str) -> str:
    return f"{host[:100]} is not a name of this service: use its address, or enter the name in service.host_names"


def origin_not_served(origin: str) -> str:
    return f"pages of {origin[:100]} may not open the stream: enter the name in service.host_names if they are yours"


# Inside the service (503, 504). The documents leave these sentences to us, except the first.


def redis_unreadable(error: str) -> str:
    """Rules 2.4.5 and 2.4.7: 503."""
    return f"Redis could not be read: {error}"


def not_running(actor: str) -> str:
    """503: nothing was done."""
    return f"{actor} is not running, so nothing was done; try again in a moment"


def stopped_before_answer(actor: str) -> str:
    """504: the actor had taken up the request, so the outcome is unknown."""
    return f"{actor} stopped before it answered, so this may still have happened"


def busy(actor: str) -> str:
    """503: the request did not reach the actor."""
    return f"{actor} is too busy to take this up, so nothing was done; try again in a moment"


def late(problem: str) -> str:
    """504; `problem` says who did not answer and for how long."""
    return f"{problem}, so this may still happen"
