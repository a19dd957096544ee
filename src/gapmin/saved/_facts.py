"""What stands beside the model: format, versions, checksums, and which of them go with what is installed."""

from __future__ import annotations

import io
import json
import platform
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import scipy
import sklearn

from gapmin._utils.extras import install_hint
from gapmin._utils.formats import fault_of_format
from gapmin._utils.text import one_line
from gapmin._version import __version__
from gapmin.saved._archive import COPY_AGAIN, FACTS, SCHEMA, Archive, ContentError, checksum, parse

MODEL_FORMAT = 4
"""The number of the format; a file with a higher one is from a later gapmin."""


def import_skops() -> Any:
    """Return the package, or say what to install."""
    with install_hint("cli", "skops missing"), _no_array_adapters():
        import skops.io
    return skops


@contextmanager
def _no_array_adapters() -> Iterator[None]:
    """Hide scikit-learn's adapters of other array libraries for a while.

    skops looks for estimators in every module of scikit-learn, and to import an adapter is to import its library: 2
    seconds for PyTorch, which no model file needs.
    """
    names = [f"sklearn.externals.array_api_compat.{library}" for library in ("cupy", "dask", "torch")]
    hidden = {name: ModuleType(name) for name in names if name not in sys.modules}
    sys.modules.update(hidden)
    try:
        yield
    finally:
        for name, empty in hidden.items():
            if sys.modules.get(name) is empty:
                del sys.modules[name]


def versions_here() -> dict[str, str]:
    """Return the versions of what makes a model."""
    return {
        "gapmin": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
        "skops": import_skops().__version__,
    }


def read_facts(archive: Archive, newest: int, kinds: dict[str, Any]) -> dict[str, Any]:
    """Return what stands beside the object, its format, versions and checksums checked.

    Parameters
    ----------
    archive : Archive
    newest : int
        The number of the newest format of such files.
    kinds : dict of str to type
        The entries that such files have beside the format, the members and the versions, and of what type.
    """
    facts = parse(archive.read(FACTS), FACTS)
    number = facts.get("format") if isinstance(facts, dict) else None
    if type(number) is not int or number < 1:
        raise ContentError(f"{FACTS} does not say which format it has")
    if number != newest:
        versions = facts.get("versions")
        writer = versions.get("gapmin") if isinstance(versions, dict) else None
        raise ContentError(*fault_of_format(number, newest, writer))
    kinds = {**kinds, "format": int, "members": dict, "versions": dict}
    if set(facts) != set(kinds) or not all(isinstance(facts[key], kind) for key, kind in kinds.items()):
        raise ContentError(f"{FACTS} has not the entries of such a file")
    _check_versions(facts["versions"])
    if set(facts["members"]) != archive.names - {FACTS}:
        raise ContentError(f"its members are not those that {FACTS} lists", COPY_AGAIN)
    for name, wanted in facts["members"].items():
        if checksum(archive.read(name)) != wanted:
            raise ContentError(f"its member {name!r} was altered (checksum)", COPY_AGAIN)
    return facts


def _check_versions(versions: dict[str, Any]) -> None:
    here = versions_here()
    if set(versions) != set(here) or not all(isinstance(each, str) for each in versions.values()):
        raise ContentError(f"{FACTS} does not say which versions made it")
    for name in ("gapmin", "scikit-learn"):
        if _series(versions[name]) != _series(here[name]):
            series = ".".join(_series(versions[name])) or "x"
            raise ContentError(
                f"it was made with {name} {one_line(versions[name])} and this is {here[name]}",
                f'pip install "{name}=={series}.*", or fit the model again',
            )


def _series(version: str) -> tuple[str, ...]:
    """Return major and minor: what may not differ."""
    found = re.match(r"([0-9]{1,6})\.([0-9]{1,6})(?![0-9])", version)
    return found.groups() if found else ()


def check_protocol(root: Any, version: str) -> None:
    """Refuse the nodes of another skops: only those of this one were reviewed."""
    skops = import_skops()
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(0))) as archive:
        ours = json.loads(archive.read(SCHEMA))["protocol"]
    found = root.get("protocol") if isinstance(root, dict) else None
    if type(found) is not int or found != ours:
        raise ContentError(
            f"it has protocol {one_line(found)} of skops {one_line(version)}, and skops {skops.__version__} has {ours}",
            f"pip install skops=={one_line(version)}, or fit the model again",
        )
