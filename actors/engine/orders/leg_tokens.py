"""Leg tokens: the text in a broker's tag field by which an order can be found again (order-engine 2.4). Pure."""

import hashlib
import string

PREFIX = "ob"
DIGITS = 12
LEAST_DIGITS = 6
"""A shorter beginning of a token identifies nothing."""
_ALPHABET = string.digits + string.ascii_lowercase


def leg_token(intent_id: str, path: str, number: int, run: int = 1) -> str:
    """Return `ob` and 12 base-36 digits. They are the same for the same intent, part path and running number of the leg in one run of the
    engine. Another run makes other tokens, so a token that the store has forgotten is never made again."""
    words = [intent_id, path, str(number), *([str(run)] if run > 1 else [])]
    digest = hashlib.sha256("|".join(words).encode()).digest()
    value = int.from_bytes(digest[:16], "big")
    digits = []
    for _ in range(DIGITS):
        value, digit = divmod(value, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return PREFIX + "".join(digits)


def may_be_cut(tag: str | None) -> bool:
    """Whether a broker's tag may be the beginning of a token of ours. It must be long enough not to match by chance."""
    if tag is None or not len(PREFIX) + LEAST_DIGITS <= len(tag) < len(PREFIX) + DIGITS:
        return False
    return looks_like_token(tag.ljust(len(PREFIX) + DIGITS, "0"))


def looks_like_token(tag: str | None) -> bool:
    """Whether a broker's tag may be a token of ours (upper and lower case count as equal)."""
    if tag is None or len(tag) != len(PREFIX) + DIGITS:
        return False
    lowered = tag.lower()
    return lowered.startswith(PREFIX) and all(letter in _ALPHABET for letter in lowered)
