"""Compares the brokers' clocks with this machine's wall clock. Pure; the result is only a warning, nothing acts on it.

If brokers' clocks agree with each other and not with ours, then ours is wrong. A single broker's clock may itself be wrong.
"""

from collections.abc import Mapping, Sequence

import attrs

FAR_SECONDS = 2.0
"""Clocks closer than this count as equal; the exchanges' own times and square-offs are to the second."""


@attrs.frozen(kw_only=True)
class ClockDoubt:
    """Why the wall clock may be wrong."""

    brokers: tuple[str, ...]
    """Brokers whose clocks are far off the wall clock."""
    ours_is_wrong: bool
    """Whether at least two of these brokers agree with each other."""
    text: str


def clock_doubt(ahead: Mapping[str, float | None]) -> ClockDoubt | None:
    """Return the doubt about our clock, or None. `ahead`: seconds by which each broker's clock is ahead of ours (None = unknown)."""
    far = {
        code: seconds for code, seconds in sorted(ahead.items()) if seconds is not None and abs(seconds) > FAR_SECONDS
    }
    if not far:
        return None
    near = sorted(code for code, seconds in ahead.items() if seconds is not None and code not in far)
    agreeing = _agreeing(far)
    said = "; ".join(f"the clock of {code} is {_size(seconds)} this machine's" for code, seconds in far.items())
    if len(agreeing) > 1:
        verdict = f"{_listed(agreeing)} agree, so this machine's is wrong"
    elif near:
        verdict = f"{_listed(near)} agree{'' if len(near) > 1 else 's'} with this machine, so the other may be wrong"
    else:
        verdict = "no other broker agrees with either, so either may be wrong"
    return ClockDoubt(brokers=tuple(far), ours_is_wrong=len(agreeing) > 1, text=f"{said}: {verdict}")


def _agreeing(far: Mapping[str, float]) -> Sequence[str]:
    """Return the largest group of brokers whose clocks are as far off as each other's."""
    groups = [[code for code, seconds in far.items() if 0 <= seconds - least <= FAR_SECONDS] for least in far.values()]
    return max(groups, key=len)


def _size(seconds: float) -> str:
    return f"{abs(seconds):.1f} s {'ahead of' if seconds > 0 else 'behind'}"


def _listed(codes: Sequence[str]) -> str:
    return codes[0] if len(codes) == 1 else f"{', '.join(codes[:-1])} and {codes[-1]}"
