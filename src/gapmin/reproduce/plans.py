"""How each experiment in a folder was last run, so that its page can show all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path

from gapmin._utils.io import write_atomically

from . import NAMES
from .experiment import PAPER, SMALL, Plan
from .store import StoreError

PLANS = "plans.json"


def read_plans(folder: Path) -> dict[str, Plan]:
    """Return the plans of a folder, in the order of the paper; what another version added to them is passed over."""
    path = folder / PLANS
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text())
        if not isinstance(kept, dict):
            raise ValueError(f"it holds {kept!r}")
        plans = {name: _plan(kept[name]) for name in NAMES if name in kept}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise StoreError(f"{path} is damaged ({error}): move it away, it only says what the page shows") from error
    return plans


def _plan(kept: Mapping[str, object]) -> Plan:
    # Plans of before there were two protocols do not name theirs.
    values = {each.name: kept.get(each.name, each.default) for each in fields(Plan)}
    for name, value in values.items():
        if type(value) is not {"quick": bool, "protocol": str, "device": str}.get(name, int):
            raise ValueError(f"{name} is {value!r}")
    if values["protocol"] not in (SMALL, PAPER):
        raise ValueError(f"protocol is {values['protocol']!r}")
    return Plan(**values)  # type: ignore[arg-type]


def write_plans(folder: Path, plans: Mapping[str, Plan]) -> None:
    """Write the plans, whole or not at all."""
    ordered = {name: asdict(plans[name]) for name in NAMES if name in plans}
    write_atomically(json.dumps(ordered, indent=1) + "\n", folder / PLANS)
