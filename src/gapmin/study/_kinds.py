"""Which columns of several files are used, and as what: numbers, booleans, categories, dates or free text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.options import option
from gapmin._utils.text import quoted

from ._dates import days_come_first
from ._left_out import FEWEST_COUNTED, counts_rows, is_identifier
from ._messages import first_notes, name_columns
from ._missing import find_codes, mark_notes, marks_in
from ._values import MOSTLY, Profile, as_numbers, kind_of_dtype, number_blocks, parse_number, profile
from .schema import Column

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS = 30
_ID_ROWS, _ID_SHARE = 50, 0.9
_TEXT_SHARE, _FEWEST_WORDS = 0.5, 3
"""Free text: at least half of the rows of the largest file have one of their own, of three words on average."""
_FIRST_COMPACT_DATE, _LAST_COMPACT_DATE = 19000101, 20991231


@dataclass(frozen=True)
class _InFile:
    """What a file has in a column.

    Attributes
    ----------
    only : str or None
        The value, where every row that has one has the same.
    n_values, n_missing : int
    """

    only: str | None
    n_values: int
    n_missing: int


def choose_columns(
    frames: Mapping[str, pd.DataFrame],
    names: Sequence[str],
    notes: list[str],
    keep: Collection[str] = (),
    *,
    text: bool = True,
) -> tuple[Column, ...]:
    """Return the columns to use, and note why the others are left out; the first frame is the target's.

    Of ids, row counters and columns that name the file, those in `keep` are used; without `text`, no free text is.
    """
    files = list(frames)
    plain = _plain_numbers(frames, names)
    left_out: dict[str, list[str]] = {why: [] for why in ("empty", "constant", "id", "text", "numbering", "file")}
    differing: list[str] = []
    marks: dict[str, frozenset[str]] = {}
    found: dict[str, dict[str, _InFile]] = {}
    columns: list[Column] = []
    for name in names:
        profiles: dict[str, Profile] = {}
        kind, note = "number", ""
        if name in plain:
            here = plain[name]
        else:
            profiles = {file: profile(frames[file][name]) for file in files}
            kind, note, profiles, missing = _kind_and_marks(name, profiles)
            here = {file: _summary(seen) for file, seen in profiles.items()}
            if missing:
                marks[name] = missing
        why = _why_left_out(frames, name, here, keep) or ("" if kind != "id" or name in keep else kind)
        if not why and (kind == "dropped" or (kind == "text" and not text)):
            why = kind
        if note and why in ("", "dropped"):
            differing.append(note)
        found[name] = here
        if why:
            left_out.setdefault(why, []).append(name)
            continue
        levels = _levels(profiles.values()) if kind in ("category", "id") else ()
        day_first = kind == "date" and _day_first(name, profiles.values(), notes)
        missing_marks = tuple(sorted(marks.get(name, ())))
        columns.append(Column(name, "category" if kind == "id" else kind, levels, missing_marks, day_first))
    notes += [
        *_drop_notes(left_out, found, files),
        *mark_notes(_of(columns, marks)),
        *first_notes(differing, "the same or alike"),
    ]
    texts = [column.name for column in columns if column.kind == "text"]
    if texts:
        notes.append(
            f"{name_columns(texts)}: free text; its most common words are used ({option('no-text')} leaves it out)"
        )
    many = [column.name for column in columns if len(column.levels) > MOST_LEVELS]
    if many:
        notes.append(f"{name_columns(many)}: more than {MOST_LEVELS} different texts; the rarest are pooled as one")
    notes += _constant_notes([column.name for column in columns], found)
    notes += _compact_date_notes(frames, [column.name for column in columns if column.kind == "number"])
    codes = find_codes(frames, [column.name for column in columns if column.kind == "number"], notes)
    return tuple(replace(each, missing=(*each.missing, *codes.get(each.name, ()))) for each in columns)


def _day_first(name: str, profiles: Iterable[Profile], notes: list[str]) -> bool:
    day_first, undecided = days_come_first(text for seen in profiles for text in seen.counts)
    if undecided:
        order = "day before month" if day_first else "month before day"
        notes.append(f"column {quoted(name)} has dates such as {quoted(undecided)}: read as {order}")
    return day_first


def _of(columns: Iterable[Column], marks: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    return {column.name: marks[column.name] for column in columns if column.name in marks}


def _plain_numbers(frames: Mapping[str, pd.DataFrame], names: Sequence[str]) -> dict[str, dict[str, _InFile]]:
    """Return what each file has in the columns that every file has as numbers."""
    kinds = [frame[list(names)].dtypes.map(kind_of_dtype) for frame in frames.values()]
    plain = [name for name in names if all(each[name] == "number" for each in kinds)]
    found: dict[str, dict[str, _InFile]] = {name: {} for name in plain}
    for file, frame in frames.items():
        for some, block in number_blocks(frame, plain):
            n_missing = np.isnan(block).sum(axis=0)
            least: NDArray[np.float64] = np.fmin.reduce(block, axis=0)
            most = np.fmax.reduce(block, axis=0)
            for name, low, high, n_gone in zip(some, least.tolist(), most.tolist(), n_missing.tolist(), strict=True):
                found[name][file] = _InFile(f"{low:g}" if low == high else None, len(block) - n_gone, n_gone)
    return found


def _summary(seen: Profile) -> _InFile:
    return _InFile(next(iter(seen.counts)) if len(seen.counts) == 1 else None, seen.n_values, seen.n_missing)


def _why_left_out(
    frames: Mapping[str, pd.DataFrame], name: str, here: Mapping[str, _InFile], keep: Collection[str]
) -> str:
    """Return why a column is of no use whatever its kind, or "". Where it is also missing, that tells something."""
    in_files = list(here.values())
    if in_files[0].n_values == 0:
        return "empty"
    if all(each.only is not None and not each.n_missing for each in in_files):
        values = {each.only for each in in_files}
        return "constant" if len(values) == 1 else "" if name in keep else "file"
    if name in keep:
        return ""
    return "numbering" if counts_rows(frames, name) else "id" if is_identifier(frames, name) else ""


def _kind_and_marks(name: str, profiles: dict[str, Profile]) -> tuple[str, str, dict[str, Profile], frozenset[str]]:
    """Return what a column is, a note, its profiles without marks of missing values, and these marks.

    A mark means a missing value where all else is numbers; among texts it is a text like any other.
    """
    marks = marks_in(profiles.values())
    if marks:
        bare = {file: seen.without(marks) for file, seen in profiles.items()}
        kind, note = _kind(name, bare)
        if kind in ("number", "date", "empty"):
            return kind, note, bare, marks
    return *_kind(name, profiles), profiles, frozenset()


def _kind(name: str, profiles: Mapping[str, Profile]) -> tuple[str, str]:
    """Return what a column is, "id" and "dropped" for those that cannot be used, and a note where files differ."""
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
    if _is_measure(full, shares):
        return "number", ""
    largest = max(full.values(), key=lambda seen: seen.n_values)
    is_id = largest.n_values > _ID_ROWS and len(largest.counts) >= _ID_SHARE * largest.n_values
    numbers = [file for file, share in shares.items() if share >= MOSTLY]
    words = [file for file in full if file not in numbers]
    if numbers:
        note = f"column {quoted(name)} has numbers in {numbers[0]} but texts in {words[0]}"
        if is_id:
            return "dropped", f"{note}, too many to be a category: dropped; write it alike in every file to use it"
        hint = _one_word_hint(full) or "write it alike in every file if it is a number"
        return "category", f"{note}: taken as a category; {hint}"
    if max(shares.values()) < _TEXT_SHARE and _is_free_text(largest):
        return "text", ""
    if is_id:
        return "id", ""
    partly = max(shares.values())
    if partly > 0:
        most = max(shares, key=lambda file: shares[file])
        note = f"column {quoted(name)} mixes numbers ({partly:.0%} in {most}) and texts: taken as a category"
        hint = _one_word_hint(full)
        return "category", f"{note}; {hint}" if hint else note
    return "category", ""


def _is_free_text(largest: Profile) -> bool:
    n_distinct = len(largest.counts)
    if n_distinct <= MOST_LEVELS or n_distinct < _TEXT_SHARE * largest.n_values:
        return False
    return sum(len(text.split()) for text in largest.counts) >= _FEWEST_WORDS * n_distinct


def _is_measure(full: Mapping[str, Profile], shares: Mapping[str, float]) -> bool:
    """Whether a column is of numbers, with stray words here and there.

    Either hardly any value of any file is a word. Or at least half of the files are so clean, in no file do words
    outnumber numbers, and there are more different numbers than a category may have levels: dirt of some files.
    """
    n_clean = sum(share >= MOSTLY for share in shares.values())
    if n_clean == len(shares):
        return True
    if 2 * n_clean < len(shares) or min(shares.values()) <= 0.5:
        return False
    numbers = {text for seen in full.values() for text in seen.counts if not np.isnan(parse_number(text))}
    return len(numbers) > MOST_LEVELS


def _one_word_hint(full: Mapping[str, Profile]) -> str:
    """Return what to do where a single word stands among numbers."""
    words = {text for seen in full.values() for text in seen.counts if np.isnan(parse_number(text))}
    return f"if {quoted(*words)} means missing, add {option('na', *words)}" if len(words) == 1 else ""


def _levels(profiles: Iterable[Profile]) -> tuple[str, ...]:
    """Return the texts of a column over all files, the most common first."""
    totals: Counter[str] = Counter()
    for seen in profiles:
        totals.update(seen.counts)
    return tuple(sorted(totals, key=lambda text: (-totals[text], text)))


def _constant_notes(names: Sequence[str], found: Mapping[str, Mapping[str, _InFile]]) -> list[str]:
    """Say where a column has one value in a file and several in others: a value that was never measured, perhaps."""
    notes = []
    for name in names:
        varies = any(each.only is None and each.n_values for each in found[name].values())
        for file, each in found[name].items():
            if varies and each.only is not None and each.n_values >= max(FEWEST_COUNTED, each.n_missing):
                notes.append(
                    f"column {quoted(name)} has no value but {quoted(each.only)} in {file}, and varies elsewhere: "
                    f"kept; if it means missing, add {option('na', f'{name}={each.only}')}"
                )
    return first_notes(notes, "the same")


def _compact_date_notes(frames: Mapping[str, pd.DataFrame], names: Sequence[str]) -> list[str]:
    """Say which columns of numbers are dates such as 20240131 in every file."""
    notes = []
    for name in names:
        first = as_numbers(next(iter(frames.values()))[name])
        if not np.fmin.reduce(first, initial=np.inf) >= _FIRST_COMPACT_DATE:  # as nearly all columns
            continue
        numbers = np.concatenate([as_numbers(frame[name]) for frame in frames.values()])
        numbers = numbers[~np.isnan(numbers)]
        days, months = numbers % 100, numbers // 100 % 100
        fits = (numbers % 1 == 0) & (days >= 1) & (days <= 31) & (months >= 1) & (months <= 12)
        if numbers.size and fits.all() and ((numbers >= _FIRST_COMPACT_DATE) & (numbers <= _LAST_COMPACT_DATE)).all():
            text = f"{numbers[0]:.0f}"
            notes.append(
                f"column {quoted(name)} has numbers such as {text}, which look like dates: taken as numbers; write "
                f"{text[:4]}-{text[4:6]}-{text[6:]} to use year, month and weekday"
            )
    return notes


def _drop_notes(
    left_out: Mapping[str, list[str]], found: Mapping[str, Mapping[str, _InFile]], files: Sequence[str]
) -> list[str]:
    keep = f"; {option('keep')} uses one"
    reasons = {
        "empty": f"without a value in the target {files[0]}",
        "constant": "with the same value in every row",
        "id": f"in which nearly every row has a value of its own, such as ids or names{keep}",
        "text": "with free text: as asked",
        "numbering": f"which count the rows{keep}",
        "file": f"with one value in each file and another in others, which name the file{keep}",
    }
    notes = [f"dropped {name_columns(left_out[why])}: {reason}" for why, reason in reasons.items() if left_out[why]]
    gone = {name for names in left_out.values() for name in names}
    for file in files[1:]:
        empty = [name for name, here in found.items() if name not in gone and here[file].n_values == 0]
        if empty:
            notes.append(f"{file} has no value in {name_columns(empty)}: filled in as the other files suggest")
    return notes
