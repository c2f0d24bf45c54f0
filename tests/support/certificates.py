"""Certificates as a firm's own authority gives them: that of the authority, and one of a server that it has signed."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def signed_server(folder: Path) -> tuple[Path, Path, Path]:
    """Write the files of a server for localhost and 127.0.0.1. Return its certificate, its key, and the certificate of the authority."""
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority of the tests")])
    server = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    signer = _begin(authority, authority_key.public_key(), authority).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    signed = (
        _begin(server, server_key.public_key(), authority)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
    )
    files = {
        "server.pem": signed.sign(authority_key, SHA256()).public_bytes(Encoding.PEM),
        "server.key": server_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "authority.pem": signer.sign(authority_key, SHA256()).public_bytes(Encoding.PEM),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder / "server.pem", folder / "server.key", folder / "authority.pem"


def _begin(subject: x509.Name, key: ec.EllipticCurvePublicKey, issuer: x509.Name) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
