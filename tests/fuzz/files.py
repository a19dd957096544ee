"""Mutate the files that gapmin reads, and look at what reading them does.

Model files, checkpoints of boosting, files of networks and checkpoints of their training are changed in their bytes and
in their JSON values, sealed again where they have a seal, and read in a child forked from a warm parent, under limits.
No mutant may run code, crash the interpreter, hang past 20 s, take more than 1 GB above the parent, or raise anything
but the documented error. A mutant that is still a valid file loads; what it predicts then may be anything, or fail with
an ordinary exception, but may not crash either.

    python tests/fuzz/files.py                      # 2,000 mutants of each kind
    python tests/fuzz/files.py --kind model --mutants 200 --seed 7
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import numpy as np

from gapmin_support.crafted import read_members, seal_members
from gapmin_support.mutation import change_bytes, change_member
from gapmin_support.sandbox import run_forked
from gapmin_support.tensorfiles import change_tensor_file

BAD = ("executed", "crashed", "hung", "memory", "undocumented")


@dataclass
class Kind:
    """Files of one kind, and how each is read.

    Attributes
    ----------
    files : list of (file, work)
        A whole file, and what reads it once it was changed; the work returns a word.
    mutate : callable
        Makes another file of one.
    documented : tuple of exception types
    """

    files: list[tuple[Path, Callable[[], str]]]
    mutate: Callable[[Path, random.Random], bytes]
    documented: tuple[type[Exception], ...] = (ValueError,)


def rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] + rng.normal(size=60) > 0, "yes", "no"), np.repeat([-1, 1], [20, 40])


def models(folder: Path) -> Kind:
    """Saved models: trees, forests, boosting of every kind, encoders, our own estimators."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    import gapmin
    from gapmin.saved import ModelFileError, load_model, save_model

    X, y, sample_domain = rows()
    number = X[:, 0] + X[:, 1]
    words = np.array(["a", "b", "c"], dtype=object)[np.arange(60) % 3, None]
    transfer = {"sample_domain": sample_domain}
    fitted = [
        (DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), X),
        (RandomForestRegressor(3, max_depth=2, random_state=np.random.RandomState(0)).fit(X, number), X),
        (GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y), X),
        (HistGradientBoostingRegressor(max_iter=2).fit(X, number), X),
        (
            make_pipeline(OneHotEncoder(max_categories=2), gapmin.linear.WeightedLogisticRegression()).fit(words, y),
            words,
        ),
        (
            make_pipeline(
                ColumnTransformer([("scale", StandardScaler(), [0, 1])], remainder="passthrough"),
                gapmin.linear.WeightedLogisticRegression(),
            ).fit(X, y),
            X,
        ),
        (gapmin.GapBoostClassifier(n_estimators=2, random_state=0).fit(X, y, **transfer), X),
        (gapmin.GapBoostRegressor(n_estimators=2, random_state=0).fit(X, number, **transfer), X),
        (gapmin.linear.InstanceWeightingClassifier().fit(X, y, **transfer), X),
        (gapmin.transfer.WeightedPoolingClassifier().fit(X, y, **transfer), X),
        (gapmin.TransferRegressorCV(Ridge(), n_splits=2, n_repeats=1, random_state=0).fit(X, number, **transfer), X),
    ]
    files = []
    for place, (model, given) in enumerate(fitted):
        path = save_model(model, folder / f"model-{place}.skops", schema={"columns": ["a"]}, about={"n": 1})

        def work(path: Path = path, given: Any = given) -> str:
            model = load_model(path).model
            return used(lambda: model.predict(given[:5]))

        files.append((path, work))
    return Kind(files, mutate_sealed, (ModelFileError,))


def boosting_checkpoints(folder: Path) -> Kind:
    """Checkpoints of boosters: our own learner, trees, and a learner that is not on the list."""
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    import gapmin

    X, y, sample_domain = rows()
    files = []
    for learner in (None, DecisionTreeClassifier(max_depth=2), GaussianNB()):
        own = folder / f"rounds-{type(learner).__name__}"
        settings = {"random_state": 0, "checkpoint_dir": own}
        gapmin.GapBoostClassifier(learner, n_estimators=2, **settings).fit(X, y, sample_domain=sample_domain)

        def work(learner: Any = learner, settings: Any = settings) -> str:
            booster = gapmin.GapBoostClassifier(learner, n_estimators=3, **settings)
            booster.fit(X, y, sample_domain=sample_domain)
            return used(lambda: booster.predict(X[:5]))

        files += [(path, work) for path in sorted(own.iterdir())]
    return Kind(files, mutate_sealed)


def networks(folder: Path) -> Kind:
    """Files of networks."""
    from gapmin.deep import GapMTNNClassifier, MultitaskClassifier

    X, y, task = multitask_rows()
    files = []
    for place, model in enumerate(
        (
            GapMTNNClassifier(extractor="mlp", epochs=1, batch_size=16, random_state=0),
            MultitaskClassifier("amtnn", extractor="mlp", epochs=1, batch_size=16, random_state=0),
        )
    ):
        path = folder / f"network-{place}.safetensors"
        model.fit(X, y, sample_task=task).save(path)

        def work(path: Path = path, fitted: Any = model) -> str:
            model = type(fitted).load(path)
            return used(lambda: model.predict(X[:5], sample_task=task[:5]))

        files.append((path, work))
    return Kind(files, mutate_tensors)


def network_checkpoints(folder: Path) -> Kind:
    """Checkpoints of the training of networks."""
    from gapmin.deep import GapMTNNClassifier

    X, y, task = multitask_rows()
    own = folder / "training"
    settings = {"batch_size": 16, "random_state": 0, "checkpoint_dir": own}
    GapMTNNClassifier(extractor="mlp", epochs=1, **settings).fit(X, y, sample_task=task)

    def work() -> str:
        model = GapMTNNClassifier(extractor="mlp", epochs=2, **settings).fit(X, y, sample_task=task)
        return used(lambda: model.predict(X[:5], sample_task=task[:5]))

    files = [(path, work) for path in sorted(own.rglob("*")) if path.is_file()]
    return Kind(files, mutate_tensors)


def multitask_rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int), np.arange(40) % 2


def used(predict: Callable[[], Any]) -> str:
    """A file that is well formed may hold a model that makes no sense: it fails as Python fails, or predicts."""
    try:
        predict()
    except MemoryError:
        raise
    except Exception:
        return "loaded, and fails when it predicts"
    return "loaded"


def mutate_sealed(path: Path, rng: random.Random) -> bytes:
    """Change a sealed zip: its bytes as they are, or a member, and then every checksum."""
    if rng.random() < 0.1:
        return change_bytes(path.read_bytes(), rng)
    members = read_members(path)
    for _ in range(20):
        try:
            return seal_members(change_member(members, rng))
        except ValueError:  # text that is no JSON any more has no place for checksums
            continue
    return change_bytes(path.read_bytes(), rng)


def mutate_tensors(path: Path, rng: random.Random) -> bytes:
    """Change the bytes of a safetensors file, or its header."""
    return change_tensor_file(path.read_bytes(), rng)


KINDS: dict[str, Callable[[Path], Kind]] = {
    "model": models,
    "boosting-checkpoint": boosting_checkpoints,
    "network": networks,
    "network-checkpoint": network_checkpoints,
}


def fuzz(name: str, n_mutants: int, seed: int, report: Callable[[str], None] = lambda line: None) -> Counter[str]:
    """Return how many mutants of a kind ended how; `report` is told of each that ended badly."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = KINDS[name](Path(place))
        for path, work in kind.files:  # the parent warms up, and the whole file must load
            before = {each: each.read_bytes() for each, _ in kind.files}
            outcome, line = run_forked(work, place, kind.documented)
            if outcome != "loaded":
                raise AssertionError(f"{path.name} is whole, and reading it ended as {outcome}: {line}")
            restore(before, Path(place))
        whole = {each: each.read_bytes() for each, _ in kind.files}
        for number in range(n_mutants):
            rng = random.Random(f"{name} {seed} {number}")
            path, work = rng.choice(kind.files)
            path.write_bytes(kind.mutate(path, rng))
            outcome, line = run_forked(work, place, kind.documented)
            outcomes[outcome] += 1
            if outcome in BAD:
                report(f"{name} {seed} {number} ({path.name}): {outcome}: {line}")
            restore(whole, Path(place))
    return outcomes


def restore(whole: dict[Path, bytes], place: Path) -> None:
    """Put every file back as it was, and remove what a fit that went on has added."""
    for path in [each for each in place.rglob("*") if each.is_file() and each not in whole]:
        path.unlink()
    for path, content in whole.items():
        path.write_bytes(content)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    bad = 0
    for name in options.kind or KINDS:
        outcomes = fuzz(name, options.mutants, options.seed, report=lambda line: print(line, flush=True))
        bad += sum(outcomes[each] for each in BAD)
        print(f"{name}: {options.mutants} mutants, {dict(outcomes)}", flush=True)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
