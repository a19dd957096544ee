"""Seven studies whose answer is right by construction: sentence, verdicts, JSON, report and model say the same."""

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
from gapmin.study.words import odds  # noqa: E402

WEIGHTS = np.array([2.0, -1.5, 1.0, 0.5])
COLUMNS = ["age", "size", "speed", "load"]
N_TARGET, N_SOURCE = 30, 120


def table(rng, n_rows, *, scale=1.0, offset=0.0, noise=0.3):
    X = rng.normal(size=(n_rows, WEIGHTS.size))
    y = scale * (X @ WEIGHTS + noise * rng.normal(size=n_rows)) + offset
    return pd.DataFrame(X.round(4), columns=COLUMNS).assign(label=y.round(4))


def helps(rng):
    return table(rng, N_TARGET), table(rng, N_SOURCE)


def hurts(rng):
    return table(rng, N_TARGET), table(rng, N_SOURCE, scale=-1.0)


def nothing(rng):
    """Shuffled labels, so few that beside a target that is mostly noise they neither help nor hurt."""
    source = table(rng, 12)
    return table(rng, N_TARGET, noise=3.0), source.assign(label=rng.permutation(source["label"]))


def other_unit(rng):
    return table(rng, N_TARGET), table(rng, N_SOURCE, scale=2.35, offset=40.0)


def other_balance(rng):
    """Ill and well look alike in both files; half of the target's rows are ill, and a tenth of the source's.

    Of thirty columns each says a little, so that forty rows of the target's own are few.
    """

    def half_or_less(n_rows, share):
        ill = rng.random(n_rows) < share
        X = rng.normal(size=(n_rows, 30)) + np.where(ill[:, None], 1, -1) * 1.3 / np.sqrt(30)
        frame = pd.DataFrame(X.round(4), columns=[f"m{k}" for k in range(30)])
        return frame.assign(label=np.where(ill, "ill", "well"))

    return half_or_less(40, 0.5), half_or_less(1000, 0.1)


def leak_by_group(rng):
    """Twenty patients, each of them in both files: columns tell who it is, and no column tells a patient's label."""
    who, label = rng.normal(size=(20, 4)), rng.normal(size=20)

    def visits(times):
        patient = np.repeat(np.arange(20), times)
        frame = pd.DataFrame(who[patient] + 0.01 * rng.normal(size=(patient.size, 4)), columns=COLUMNS)
        frame = frame.assign(label=label[patient] + 0.01 * rng.normal(size=patient.size)).round(4)
        return frame.assign(patient=[f"p{k}" for k in patient])

    return visits(2), visits(3)


STUDIES = {
    "helps": (helps, "use"),
    "hurts": (hurts, "leave out"),
    "nothing": (nothing, "not enough evidence"),
    "other unit": (other_unit, "use"),
    "other balance": (other_balance, "use"),
    "leak by group": (leak_by_group, "not enough evidence"),
}
QUICK = ("helps", "hurts")


def write(name, folder):
    made, _ = STUDIES[name]
    paths = [folder / "ours.csv", folder / "north.csv"]
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
    verdict = found.evidence["north"].verdict
    assert verdict == expected
    assert model.evidence["north"].verdict == verdict
    assert model.evidence == found.evidence
    worse = found.metric.loss(found.score_of(MODEL).value) > found.metric.loss(found.score_of(TARGET_ONLY).value)
    said = {
        "use": "north fits the target, but the error does not fall." if worse else "Use north.",
        "leave out": "Leave out north.",
        "not enough evidence": "Not enough evidence about north.",
    }[verdict]
    losses = {each: found.metric.loss(found.score_of(each).value) for each in (MODEL, TARGET_ONLY, BASELINE)}
    if min(losses[MODEL], losses[TARGET_ONLY]) >= losses[BASELINE]:
        said = f"No model here does better than a constant. {said}"
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


def test_a_source_that_helps_stands_beside_one_of_which_little_is_known(tmp_path):
    """Ten rows whose labels are noisy say nothing; their columns are those of the others."""
    rng = np.random.default_rng(5)
    paths = [tmp_path / f"{name}.csv" for name in ("ours", "north", "south")]
    frames = table(rng, N_TARGET), table(rng, N_SOURCE), table(rng, 10, noise=1.0)
    for path, frame in zip(paths, frames, strict=True):
        frame.to_csv(path, index=False)
    found, _ = compared(paths, quick=True)
    model = fit_study(StudyFiles(paths[0], paths[1:], "label"), n_jobs=1)
    assert model.evidence == found.evidence
    assert [each.verdict for each in found.evidence.sources] == ["use", "not enough evidence"]
    assert found.summary.decision == model.evidence.decision() == "Use north. Not enough evidence about south."
    south = found.evidence["south"]
    assert 1 / 19 < south.bayes_factor < 19
    weight = f"{100 * south.weight:.0f}%"
    assert f"for the model with north (undecided: south at {weight})" in found.summary.effect
    about, *others = found.summary.next_steps
    assert "would decide about south" in about
    assert f"For now its weight in the model is {weight}, by these odds" in about
    assert not any("south" in each or "Check" in each for each in others)
    in_json = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [each["weight"] for each in in_json["evidence"]["sources"]] == pytest.approx(
        [model.pipeline[-1].evidence_[number].weight for number in (1, 2)]
    )
    assert in_json["headline"] == found.headline
    page = render_html(study_report(found))
    for text in (found.summary.decision, about, weight, odds(south.bayes_factor)):
        assert text in page
    used = model.pipeline[-1].domain_weight_
    assert used[1] > used[2] > 0


@pytest.mark.slow
def test_with_groups_a_leak_is_no_help(tmp_path):
    """A patient on both sides makes the source look useful; kept together they show that nothing was learnt."""
    paths = write("leak by group", tmp_path)
    study = read_study(paths[0], paths[1:], "label", drop=["patient"])
    leaky = compare_study(study, n_jobs=1, quick=True)
    honest, _ = compared(paths, quick=True)
    assert leaky.evidence["north"].verdict == "use"
    assert leaky.score_of(MODEL).value < 0.5 * leaky.score_of(BASELINE).value
    assert honest.evidence["north"].verdict == "not enough evidence"
    assert honest.score_of(MODEL).value > 0.8 * honest.score_of(BASELINE).value


def test_a_model_of_one_class_is_told_once_and_of_options_that_there_are(tmp_path):
    """In a comparison as a warning, after a fit as a note; `class_weight` is an option of neither."""
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]) for n in (60, 60)]
    paths = [tmp_path / "ours.csv", tmp_path / "north.csv"]
    for path, frame in zip(paths, frames, strict=True):
        frame.assign(label=np.where(np.arange(60) < 4, "ill", "well")).to_csv(path, index=False)
    found = compare_study(read_study(paths[0], paths[1:], "label"), n_jobs=1, quick=True)
    fitted = fit_study(StudyFiles(paths[0], paths[1:], "label"), n_jobs=1).evidence
    assert fitted == found.evidence
    (after_fit,) = fitted.findings
    assert after_fit.startswith("the model predicts class well for every held-out row")
    assert not any(word in after_fit for word in ("class_weight", "predict_proba"))
    assert [each for each in (*found.notes, *found.warnings) if "predicts class well" in each] == [found.warnings[0]]


def test_a_rare_class_shows_ranks_baseline_and_a_warning_where_it_is_never_found(tmp_path):
    rng = np.random.default_rng(0)
    paths = [tmp_path / "ours.csv", tmp_path / "north.csv"]
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
