"""Panics of libraries written in Rust (polars, obstore, cryptography). Python sees one as a BaseException that is no Exception, so it would pass
everything that contains faults, and end the service. Here it counts as the fault of one call that it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager

_MODULE = "pyo3_runtime"
"""Each library has a class of its own, with this module; there is no common one to import."""


class LibraryPanicked(Exception):
    """A library found a mistake of its own, and gave the call up."""


def is_panic(error: BaseException) -> bool:
    return type(error).__module__ == _MODULE


def is_fault(error: BaseException) -> bool:
    """Whether it is a fault of some work, and not a cancellation, an interrupt or the end of the program."""
    return isinstance(error, Exception) or is_panic(error)


@contextmanager
def panics_as_faults() -> Iterator[None]:
    """Raise LibraryPanicked for a panic in the block."""
    try:
        yield
    except BaseException as error:
        if is_panic(error):
            raise LibraryPanicked(str(error)) from error
        raise


def as_fault(faults: BaseExceptionGroup) -> Exception:
    """Return a group of faults as an Exception, also when panics are among them."""
    if isinstance(faults, Exception):
        return faults
    fault = LibraryPanicked(str(_first(faults)))
    fault.__cause__ = faults
    return fault


def _first(group: BaseExceptionGroup) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
