"""A comparison with every part, made by hand, whose names are as bad as names get."""

import numpy as np

from gapmin.study.curve import LabelSaving
from gapmin.study.drift import ColumnDrift
from gapmin.study.methods import COMPARED, MODEL, TARGET_ONLY
from gapmin.study.metrics import MethodScore, class_scores, read_metric, value_scores
from gapmin.study.result import LearningCurve, StudyComparison
from gapmin.study.words import summarise
from gapmin.transfer import Evidence, Hypothesis, Score, SourceVerdict
from gapmin.transfer.importance import ColumnImportance

EVIL = "<script>alert(1)</script>"


def made_comparison(task="classification", names=("old", EVIL, "a" * 60), transfers=True):
    said = ("use" if transfers else "not enough evidence", "not needed beside the others", "leave out")
    sources = tuple(
        SourceVerdict(k, name, 1000 + k, verdict, factor, nats, 0.5, ("its labels look reversed",) * (k == 3))
        for k, name, verdict, factor, nats in zip(
            (1, 2, 3), names, said, (40.0, 0.5, 0.0), (6.0, 1.0, -np.inf), strict=True
        )
    )
    sets = [(), (1,), (2,), (3,), (1, 2, 3)]
    hypotheses = tuple(Hypothesis(each, -9.0, 6.0, 5.0, 5.5, 1.0, 0.2, 0.2) for each in sets)
    evidence = Evidence(hypotheses, sources, task, 100)
    metric = read_metric(None, task)
    scores = tuple(
        MethodScore(name, 0.4 - k / 10, 0.3 - k / 10, 0.5 - k / 10, (1 - k) / 10, -0.3, 0.2)
        for k, name in enumerate(COMPARED)
    )
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=100) if task == "classification" else rng.normal(size=100)
    share = rng.random(100)
    details = (
        class_scores(np.column_stack([1 - share, share]), y, ("no", EVIL))
        if task == "classification"
        else value_scores(y + share, y, 0)
    )
    files = (EVIL, *names)
    examples = dict.fromkeys(files, ("1.5", "a value that is very long, so long that it is cut"))
    shares = dict.fromkeys(files, (0.5, 0.25, 0.25))
    distance, missing = dict.fromkeys(names, 0.4), dict.fromkeys(files, 0.1)
    drift = (
        ColumnDrift(EVIL, "category", True, distance, {}, examples, (), ("a", "b", EVIL), shares),
        ColumnDrift("b" * 60, "number", False, distance, missing, examples, (0.0, 1.0, 2.0, 3.0), (), shares),
        *(ColumnDrift(f"x{k}", "number", False, distance, missing, examples) for k in range(20)),
    )
    curve = {method: tuple(Score(0.5 - j / 10, 0.2, 0.6) for j in range(3)) for method in (TARGET_ONLY, MODEL)}
    return StudyComparison(
        summary=summarise(evidence, metric, scores),
        warnings=("The model finds no row of class x: its recall is 0.",),
        target_name=EVIL,
        label=EVIL,
        task=task,
        n_target=100,
        n_columns=21,
        n_features=25,
        source_sizes=dict.fromkeys(names, 1000),
        evidence=evidence,
        protocol="nested",
        simplified=(),
        metric=metric,
        scores=scores,
        details=details,
        importance=tuple(ColumnImportance(f"x{k}", 0.1 / k, 0.05 / k - 0.02, 0.2 / k) for k in range(1, 20)),
        curve=LearningCurve((10, 28, 80), curve) if transfers else None,
        saving=LabelSaving(80, 200, "extrapolated") if transfers else None,
        drift=drift,
        notes=(f"dropped column '{EVIL}': a date", "old.csv: 1,000 of its 9,000 rows drawn at random (seed 0)"),
        n_splits=5,
        random_state=0,
        seconds=12.0,
    )
