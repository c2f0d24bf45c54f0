"""Every type that runs as a plan: name -> its preset. Each module in `types/` is one type; nothing else needs to be registered."""

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from onebroker.actors.engine.plan.reading.reading_context import Preset as Expansion
from onebroker.actors.engine.presets import types
from onebroker.actors.engine.presets.preset import Preset


def _found() -> Mapping[str, Preset[Any]]:
    names = sorted(module.name for module in pkgutil.iter_modules(types.__path__))
    found: dict[str, Preset[Any]] = {}
    for name in names:
        preset: Preset[Any] = importlib.import_module(f"{types.__name__}.{name}").PRESET
        if preset.name != name:
            raise RuntimeError(f"the module {name} holds the type {preset.name}")
        found[name] = preset
    return found


PRESETS = _found()
EXPANSIONS = {name: Expansion(preset.expand, preset.setting_names) for name, preset in PRESETS.items()}
"""For `preset` parts of a plan."""
