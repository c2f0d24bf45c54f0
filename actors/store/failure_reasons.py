"""Explains why the store cannot be used, in words for callers: without the socket's path or local file names, which only the log has."""

import errno
import os
import re
import socket
import ssl
from collections.abc import Iterator

import redis

_OUT_OF_FILES = {errno.EMFILE, errno.ENFILE}

_CANNOT_SERVE = re.compile(r"\b(READONLY|LOADING|MASTERDOWN|MISCONF|OOM|NOREPLICAS|BUSY|UNKILLABLE|NOAUTH)\b")
_CANNOT_SERVE_CLASSES = (
    redis.exceptions.ReadOnlyError,
    redis.exceptions.OutOfMemoryError,
    redis.exceptions.MasterDownError,
)
"""redis-py takes the first word off these refusals."""

NO_FILE_LEFT = "this process may open no more files"


def is_out_of_files(error: BaseException) -> bool:
    """Tell whether a connection failed because this process can open no more files, which says nothing about the server."""
    return any(isinstance(cause, OSError) and cause.errno in _OUT_OF_FILES for cause in _causes(error))


def cannot_serve(refusal: redis.ResponseError) -> bool:
    """Tell whether a refusal is about the server, not about the command: the store counts as lost until a check succeeds again."""
    return isinstance(refusal, _CANNOT_SERVE_CLASSES) or _CANNOT_SERVE.search(str(refusal)) is not None


def reason_of(error: BaseException) -> str:
    """Return why a command or a connection failed."""
    if is_out_of_files(error):
        return NO_FILE_LEFT
    for cause in _causes(error):
        # Both are OSError, with numbers that are not the system's.
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the server's certificate is refused: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS connection ({(cause.reason or 'refused').replace('_', ' ').lower()})"
        if isinstance(cause, socket.gaierror):
            return f"no connection ({cause.strerror})"
    number = next((cause.errno for cause in _causes(error) if isinstance(cause, OSError) and cause.errno), None)
    if number is not None:
        return f"no connection ({os.strerror(number)})"
    return str(error) if isinstance(error, redis.RedisError) else type(error).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes; redis-py wraps the system's errors."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
