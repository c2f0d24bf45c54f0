"""NATS keys on the server's side: reads a user's public key from text, and checks whether the user signed a nonce."""

import base64
import binascii

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_USER = 160
"""First byte of a user's key. It makes the first character a U."""
_LENGTH = 56


def public_key(text: str) -> bytes | None:
    """Return the 32 bytes of a user's key, or None for any other text. The text is prefix, key and checksum in base 32."""
    if len(text) != _LENGTH:
        return None
    try:
        data = base64.b32decode(text + "=" * (-len(text) % 8))
    except binascii.Error:
        return None
    if len(data) != 35 or data[0] != _USER or _check_sum(data[:33]) != int.from_bytes(data[33:], "little"):
        return None
    return data[1:33]


def signed(key: bytes, nonce: str, signature: object) -> bool:
    """Tell whether `signature` (base 64, standard or URL-safe) is the nonce's signature."""
    if not isinstance(signature, str):
        return False
    try:
        raw = base64.b64decode(signature.replace("-", "+").replace("_", "/") + "=" * (-len(signature) % 4))
        Ed25519PublicKey.from_public_bytes(key).verify(raw, nonce.encode())
    except (binascii.Error, ValueError, InvalidSignature):
        return False
    return True


def _check_sum(data: bytes) -> int:
    """CRC-16 with polynomial 0x1021, starting from zero, highest bit first."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc
