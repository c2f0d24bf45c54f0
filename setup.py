"""Finds the packages: each of the four folders is a part of `onebroker`, and so is every folder below it that holds modules.

pyproject.toml holds everything else. Setuptools' own search cannot be told that a folder has another name inside the package.
"""

from pathlib import Path

from setuptools import setup

FOLDERS = ("actors", "brokers", "config", "http")


def packages() -> list[str]:
    """Return the import name of every folder that holds a module."""
    root = Path(__file__).parent
    folders = {module.parent.relative_to(root) for name in FOLDERS for module in (root / name).rglob("*.py")}
    return sorted(".".join(("onebroker", *folder.parts)) for folder in folders)


if __name__ == "__main__":
    setup(
        packages=packages(),
        package_dir={f"onebroker.{name}": name for name in FOLDERS},
        package_data={
            "*": ["py.typed"],
            "onebroker.http.docs_page": ["swagger_ui/*"],
            "onebroker.http.dashboard": ["static/*", "vendor/*"],
        },
    )
