"""Six studies whose answer is right by construction: sentence, verdicts, JSON, report and model say the same."""

import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")

from gapmin.reporting import render_html  # noqa: E402
from gapmin.study import (  # noqa: E402
    BASELINE,
    MODEL,
    TARGET_ONLY,
    StudyFiles,
    compare_study,
    read_division,
    read_study,
)
from gapmin.study.model import fit_study  # noqa: E402
from gapmin.study.page import study_report  # noqa: E402

WEIGHTS = np.array([2.0, -1.5, 1.0, 0.5])
N_TARGET, N_SOURCE = 30, 120


def table(rng, n_rows, *, scale=1.0, offset=0.0, noise=0.3, group=None):
    X = rng.normal(size=(n_rows, WEIGHTS.size))
    y = scale * (X @ WEIGHTS + noise * rng.normal(size=n_rows)) + offset
    frame = pd.DataFrame(X.round(4), columns=["age", "size", "speed", "load"])
    if group is not None:
        frame["patient"] = group
    return frame.assign(label=y.round(4))


def helps(rng):
    return table(rng, N_TARGET), table(rng, N_SOURCE)


def hurts(rng):
    return table(rng, N_TARGET), table(rng, N_SOURCE, scale=-1.0)


def nothing(rng):
    """A target that so many rows describe that a source of noise neither helps nor hurts."""
    source = table(rng, 12)
    return table(rng, N_TARGET, noise=3.0), source.assign(label=rng.permutation(source["label"]))


def other_unit(rng):
    return table(rng, N_TARGET), table(rng, N_SOURCE, scale=2.35, offset=40.0)


def other_balance(rng):
    """Ill and well look alike in both files; every second row of the target is ill, and one in ten of the source."""
    target, source = (frame.assign(label=np.where(frame["label"] > 0, "ill", "well")) for frame in _two(rng, 40, 400))
    kept = (source["label"] == "well") | (rng.random(len(source)) < 0.11)
    return target, source[kept]


def _two(rng, n_target, n_source):
    return table(rng, n_target, noise=1.5), table(rng, n_source, noise=1.5)


def leak_by_group(rng):
    """Ten patients with four rows each, whose columns tell who they are and whose labels nothing tells."""
    patient = np.repeat(np.arange(10), 4)
    target = table(rng, 40, group=[f"p{k}" for k in patient])
    columns = ["age", "size", "speed", "load"]
    target[columns] = rng.normal(size=(10, 4))[patient] + 0.01 * rng.normal(size=(40, 4))
    target["label"] = rng.normal(size=10)[patient] + 0.01 * rng.normal(size=40)
    source = table(rng, 60, group=[f"q{k}" for k in range(60)])
    return target, source.assign(label=rng.permutation(source["label"]))


STUDIES = {
    "helps": (helps, {"use"}),
    "hurts": (hurts, {"leave out"}),
    "nothing": (nothing, {"no evidence either way", "leave out"}),
    "other unit": (other_unit, {"use"}),
    "other balance": (other_balance, {"use", "no evidence either way"}),  # another mix of rows is no reason against it
    "leak by group": (leak_by_group, {"no evidence either way", "leave out"}),
}
QUICK = ("helps", "hurts")


def write(name, folder):
    made, _ = STUDIES[name]
    paths = [folder / "here.csv", folder / "there.csv"]
    for path, frame in zip(paths, made(np.random.default_rng(5)), strict=True):
        frame.to_csv(path, index=False)
    return paths


def compared(paths, **options):
    group = "patient" if "patient" in pd.read_csv(paths[0]).columns else None
    drop = [group] if group else []
    study = read_study(paths[0], paths[1:], "label", drop=drop)
    division = read_division(study, paths, group)
    return compare_study(study, division=division, n_jobs=1, n_splits=2, **options), group


def check_agreement(found, model, expected):
    verdict = found.evidence["there"].verdict
    assert verdict in expected
    assert model.evidence["there"].verdict == verdict
    assert model.evidence == found.evidence
    worse = found.metric.loss(found.score_of(MODEL).value) > found.metric.loss(found.score_of(TARGET_ONLY).value)
    said = {
        "use": "there fits the target, but the error does not fall." if worse else "Use there.",
        "leave out": "Leave out there.",
        "no evidence either way": "No evidence either way about there.",
    }[verdict]
    assert found.summary.decision == said
    in_json = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert in_json["evidence"]["sources"][0]["verdict"] == verdict
    assert in_json["headline"] == found.headline
    scores = {each["method"]: each["value"] for each in in_json["scores"]}
    page = render_html(study_report(found))
    assert said in page
    for method in (BASELINE, TARGET_ONLY, MODEL):
        assert scores[method] == found.score_of(method).value
        assert found.metric.shown(found.score_of(method).value).replace("-", "\N{MINUS SIGN}") in page
    if found.curve is not None:
        assert found.curve.scores[MODEL][-1].value == found.score_of(MODEL).value
    used = model.pipeline[-1].domain_weight_[1]
    assert (used > 0.2) >= (verdict == "use")
    assert (used < 0.05) >= (verdict == "leave out")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in STUDIES]
)
def test_everything_about_a_study_agrees_and_is_right(name, tmp_path):
    paths = write(name, tmp_path)
    found, group = compared(paths, quick=name in QUICK)
    files = StudyFiles(paths[0], paths[1:], "label", drop=[group] if group else [])
    check_agreement(found, fit_study(files, n_jobs=1, group=group), STUDIES[name][1])


@pytest.mark.slow
def test_with_groups_a_leak_is_no_skill(tmp_path):
    """Rows of a patient on both sides look like skill; kept together they show that there is none."""
    paths = write("leak by group", tmp_path)
    study = read_study(paths[0], paths[1:], "label", drop=["patient"])
    leaky = compare_study(study, n_jobs=1, quick=True)
    honest, _ = compared(paths, quick=True)
    assert leaky.score_of(MODEL).value < 0.5 * leaky.score_of(BASELINE).value
    assert honest.score_of(MODEL).value > 0.8 * honest.score_of(BASELINE).value


def test_a_rare_class_shows_ranks_baseline_and_a_warning_where_it_is_never_found(tmp_path):
    rng = np.random.default_rng(0)
    paths = [tmp_path / "here.csv", tmp_path / "there.csv"]
    for path, n_rows in zip(paths, (200, 400), strict=True):
        frame = table(rng, n_rows, noise=2.5)
        frame["label"] = np.where(frame["label"] >= frame["label"].nlargest(round(0.03 * n_rows)).min(), "ill", "well")
        frame.to_csv(path, index=False)
    found = compare_study(read_study(paths[0], paths[1:], "label"), n_jobs=1, quick=True)
    details = found.details
    assert details.positive == ("ill",)
    assert details.average_precision_baseline == pytest.approx(0.03)
    assert details.roc_auc > 0.5
    assert found.score_of(BASELINE).value == pytest.approx(0.03)
    page = render_html(study_report(found))
    for text in (f"{details.roc_auc:.3f}", f"{details.average_precision:.3f}", "0.030", "baseline"):
        assert text in page
    recall = dict(zip(details.classes, details.recall, strict=True))["ill"]
    assert (recall > 0) or any("ill" in each or "every row" in each for each in found.warnings)
