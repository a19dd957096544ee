"""Which columns of several files are used, and as what: numbers, booleans or categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gapmin._utils.text import counted, quoted

from ._messages import name_columns
from ._values import MOSTLY, Profile, kind_of_dtype, number_blocks, profile
from .schema import Column

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS = 30
_ID_ROWS, _ID_SHARE = 50, 0.9
_FEWEST_NUMBERED = 10
_FEW_NOTES = 5


def choose_columns(frames: Mapping[str, pd.DataFrame], names: Sequence[str], notes: list[str]) -> tuple[Column, ...]:
    """Return the columns to use, and note why the others are dropped; the first frame is the target's."""
    files = list(frames)
    read_as = {
        file: dict(zip(names, map(kind_of_dtype, frame[list(names)].dtypes), strict=True))
        for file, frame in frames.items()
    }
    plain = [name for name in names if all(read_as[file][name] == "number" for file in files)]
    plain_set = set(plain)
    dropped: dict[str, list[str]] = {"empty": [], "constant": [], "date": [], "id": [], "numbering": []}
    differing: list[str] = []
    empty_in: dict[str, list[str]] = {file: [] for file in files}
    usable = set()
    for name, why in _plain_numbers(frames, plain, empty_in).items():
        if not why and _numbers_rows(frames, name):
            dropped["numbering"].append(name)
        elif why:
            dropped[why].append(name)
        else:
            usable.add(name)
    columns = []
    for name in names:
        if name in plain_set:
            if name in usable:
                columns.append(Column(name, "number"))
            continue
        profiles = {file: profile(frames[file][name]) for file in files}
        for file, seen in profiles.items():
            if seen.n_values == 0 and file != files[0]:
                empty_in[file].append(name)
        kind, note = _kind(name, profiles)
        if profiles[files[0]].n_values == 0:
            kind = "empty"
        elif kind in ("number", "boolean", "category") and _is_constant(profiles.values()):
            kind = "constant"
        if kind in dropped:
            dropped[kind].append(name)
        if note and kind not in ("empty", "constant"):
            differing.append(note)
        if kind in ("number", "boolean"):
            columns.append(Column(name, kind))
        elif kind == "category":
            columns.append(Column(name, kind, _levels(profiles.values())))
    notes += [*_drop_notes(dropped, empty_in, files), *differing[:_FEW_NOTES]]
    if len(differing) > _FEW_NOTES:
        notes.append(f"the same or alike in {counted(len(differing) - _FEW_NOTES, 'more column')}")
    many = [column.name for column in columns if len(column.levels) > MOST_LEVELS]
    if many:
        notes.append(f"{name_columns(many)}: more than {MOST_LEVELS} different texts; the rarest are pooled as one")
    return tuple(columns)


def _plain_numbers(
    frames: Mapping[str, pd.DataFrame], names: Sequence[str], empty_in: dict[str, list[str]]
) -> dict[str, str]:
    """Return why each column of numbers is dropped ("empty", "constant"), or "" for those that are kept."""
    least = np.full(len(names), np.inf)
    most = np.full(len(names), -np.inf)
    gaps = np.zeros(len(names), dtype=bool)
    target_empty = np.zeros(len(names), dtype=bool)
    for place, (file, frame) in enumerate(frames.items()):
        start = 0
        for some, block in number_blocks(frame, names):
            part = slice(start, start + len(some))
            start += len(some)
            missing = np.isnan(block)
            empty = np.asarray(missing.all(axis=0))
            gaps[part] |= missing.any(axis=0)
            least[part] = np.fmin(least[part], np.fmin.reduce(block, axis=0))
            most[part] = np.fmax(most[part], np.fmax.reduce(block, axis=0))
            if place == 0:
                target_empty[part] = empty
            else:
                empty_in[file] += [name for name, here in zip(some, empty.tolist(), strict=True) if here]
    constant = (least == most) & ~gaps
    return {name: "empty" if target_empty[j] else "constant" if constant[j] else "" for j, name in enumerate(names)}


def _numbers_rows(frames: Mapping[str, pd.DataFrame], name: str) -> bool:
    """Whether a column has whole numbers, in no order but without a gap, none in two files: it tells files apart.

    Some rows may have gone, for want of a label: up to half of the numbers may lack.
    """
    spans = []
    for frame in frames.values():
        values = frame[name]
        if values.dtype.kind not in "iu" or len(values) < _FEWEST_NUMBERED or not values.is_unique:
            return False
        spans.append((int(values.min()), int(values.max())))
        if spans[-1][1] - spans[-1][0] + 1 > 2 * len(values):
            return False
    spans.sort()
    return all(one[1] < other[0] for one, other in pairwise(spans))


def _is_constant(profiles: Iterable[Profile]) -> bool:
    """Whether a column has one value everywhere; where it is also missing, that tells something."""
    every = list(profiles)
    return not any(seen.n_missing for seen in every) and len({text for seen in every for text in seen.counts}) == 1


def _kind(name: str, profiles: Mapping[str, Profile]) -> tuple[str, str]:
    """Return what a column is, "date" and "id" for those that cannot be used, and a note where files differ."""
    full = {file: seen for file, seen in profiles.items() if seen.n_values}
    if not full:
        return "empty", ""
    read_as = {seen.read_as for seen in full.values()}
    if read_as == {"date"} or min(seen.share("date") for seen in full.values()) >= MOSTLY:
        return "date", ""
    truths = min(seen.share("boolean") for seen in full.values())
    if truths == 1:
        return "boolean", ""
    shares = {file: seen.share("number") for file, seen in full.items()}
    mixed_truths = {file for file, seen in full.items() if seen.share("boolean") == 1}
    if mixed_truths and all(shares[file] >= MOSTLY for file in full if file not in mixed_truths):
        first = sorted(mixed_truths)[0]
        return "number", f"column {quoted(name)} is true and false in {first} but numbers elsewhere: taken as 1 and 0"
    if min(shares.values()) >= MOSTLY:
        return "number", ""
    largest = max(full.values(), key=lambda seen: seen.n_values)
    is_id = largest.n_values > _ID_ROWS and len(largest.counts) >= _ID_SHARE * largest.n_values
    numbers = [file for file, share in shares.items() if share >= MOSTLY]
    words = [file for file in full if file not in numbers]
    if numbers:
        note = f"column {quoted(name)} has numbers in {numbers[0]} but texts in {words[0]}"
        if is_id:
            return "dropped", f"{note}, too many to be a category: dropped; write it alike in every file to use it"
        return "category", f"{note}: taken as a category; write it alike in every file if it is a number"
    if is_id:
        return "id", ""
    partly = max(shares.values())
    if partly > 0:
        most = max(shares, key=lambda file: shares[file])
        return (
            "category",
            f"column {quoted(name)} mixes numbers ({partly:.0%} in {most}) and texts: taken as a category",
        )
    return "category", ""


def _levels(profiles: Iterable[Profile]) -> tuple[str, ...]:
    """Return the texts of a column over all files, the most common first."""
    totals: Counter[str] = Counter()
    for seen in profiles:
        totals.update(seen.counts)
    return tuple(sorted(totals, key=lambda text: (-totals[text], text)))


def _drop_notes(dropped: Mapping[str, list[str]], empty_in: Mapping[str, list[str]], files: Sequence[str]) -> list[str]:
    reasons = {
        "empty": f"without a value in the target {files[0]}",
        "constant": "with the same value in every row",
        "date": "with dates or times (to use one, turn it into numbers first, such as the year or the days since)",
        "id": "in which nearly every row has a text of its own, such as ids, names or free text",
        "numbering": "which number the rows, in each file from elsewhere on",
    }
    notes = [f"dropped {name_columns(dropped[why])}: {reason}" for why, reason in reasons.items() if dropped[why]]
    gone = set(dropped["empty"])
    for file, names in empty_in.items():
        kept = [name for name in names if name not in gone]
        if kept:
            notes.append(f"{file} has no value in {name_columns(kept)}: filled in as the other files suggest")
    return notes
