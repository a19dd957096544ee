"""Never two answers: compare, fit, rank_sources and the estimator say the same of the same files and seed."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("typer")
pd = pytest.importorskip("pandas")
pytest.importorskip("skops")

from gapmin import TransferClassifierCV, TransferRegressorCV, rank_sources  # noqa: E402
from gapmin.cli import compare, fit  # noqa: E402
from gapmin.study import StudyFiles, preprocessor, read_study  # noqa: E402
from gapmin.study.compare import compare_study  # noqa: E402
from gapmin.study.methods import BASELINE, MODEL, TARGET_ONLY  # noqa: E402
from gapmin.study.metrics import read_metric  # noqa: E402
from gapmin.study.model import StudyModel, fit_study  # noqa: E402
from gapmin.study.nested import NestedData, run_fold  # noqa: E402
from gapmin.study.splits import OuterFold  # noqa: E402
from gapmin.transfer import Evidence  # noqa: E402
from gapmin_support.commands import invoke  # noqa: E402

SEED = 3


@dataclass(frozen=True)
class Made:
    """A study to be written: for each source how far its labels are from the target's rule.

    Attributes
    ----------
    noise : tuple of float
        Of each source: 0 follows the target's rule, 1 has labels at random, below 0 has them reversed.
    """

    task: str
    noise: tuple[float, ...]
    mixed: bool = False
    n_target: int = 20
    n_source: int = 50


STUDIES = {
    "three sources": Made("classification", (0.0, 0.5, -1.0)),
    "three sources, numbers": Made("regression", (0.0, 0.5, 1.0)),
    "four sources": Made("regression", (0.0, 0.0, 1.0, -1.0)),
    "opposite": Made("classification", (0.0, -1.0)),
    "opposite, numbers": Made("regression", (0.0, -1.0)),
    "in between": Made("classification", (0.8,), n_target=12),
    "in between, numbers": Made("regression", (0.8,), n_target=12),
    "missing values and categories": Made("classification", (0.0, 1.0), mixed=True),
    "missing values and categories, numbers": Made("regression", (0.0, -1.0), mixed=True),
    "one source": Made("regression", (0.0,)),
}
QUICK = ["one source"]
VERDICTS = {"opposite": ["use", "leave out"], "in between": ["not enough evidence"]}


def table(made, noise, n_rows, rng):
    X = rng.normal(size=(n_rows, 3))
    kind = rng.choice(["a", "b", "c"], n_rows).astype(object)
    score = X @ [2.0, -1.0, 1.0] + 0.3 * rng.normal(size=n_rows) + (kind == "a") * made.mixed
    score = -score if noise < 0 else (1 - noise) * score + 2 * noise * rng.normal(size=n_rows)
    frame = pd.DataFrame(X.round(6), columns=["x", "y", "z"])
    if made.mixed:
        frame.loc[rng.random(n_rows) < 0.1, "x"] = np.nan
        frame["kind"] = kind
        frame.loc[rng.random(n_rows) < 0.1, "kind"] = None
    frame["label"] = np.where(score > 0, "yes", "no") if made.task == "classification" else score.round(6)
    return frame


def write(made, folder):
    rng = np.random.default_rng(1)
    paths = [folder / "target.csv", *(folder / f"source{k}.csv" for k in range(1, len(made.noise) + 1))]
    sizes = [made.n_target, *[made.n_source] * len(made.noise)]
    for path, noise, size in zip(paths, (0.0, *made.noise), sizes, strict=True):
        table(made, noise, size, rng).to_csv(path, index=False)
    return paths


def in_python(paths):
    """Return the evidence of the estimator and of `rank_sources`, as a user of Python would ask."""
    study = read_study(paths[0], paths[1:], "label")
    X, y, sample_domain = study.stack()
    steps = preprocessor(study.schema).fit(X)
    kind = TransferClassifierCV if study.schema.task == "classification" else TransferRegressorCV
    model = kind(aligned=True, random_state=SEED).fit(steps.transform(X), y, sample_domain=sample_domain)
    target, *sources = ((steps.transform(X), y) for X, y in (study.target, *study.sources.values()))
    named = dict(zip(study.sources, sources, strict=True))
    ranked = rank_sources(target, named, task=study.schema.task, aligned=True, random_state=SEED)
    return [model.evidence_.renamed(dict(enumerate(study.sources, start=1))), ranked]


def by_command(paths, folder, jobs):
    """Return the evidence that the two commands print, and the one in the model's file."""
    sources = [part for path in paths[1:] for part in ("--source", path)]
    options = ("--target", paths[0], *sources, "--label", "label", "--seed", SEED, "--jobs", jobs, "--json")
    compared = invoke([compare, fit], "compare", *options, "--quick")
    fitted = invoke([compare, fit], "fit", *options, "-o", folder / f"{jobs}.skops")
    assert (compared.exit_code, fitted.exit_code) == (0, 0), compared.output + fitted.output
    said = Evidence.from_dict(json.loads(fitted.stdout)["evidence"])
    shown = json.loads(compared.stdout)["evidence"]
    for part in ("sources", "hypotheses"):  # compare shows no score of the rows that chose the weights
        for mine, theirs in zip(said.to_dict()[part], shown[part], strict=True):
            assert {**mine, "scores": None} == {**theirs, "scores": None}
    return [said, StudyModel.load(folder / f"{jobs}.skops").evidence]


def check_same(first, *others):
    for other in others:
        assert other.headline() == first.headline()
        assert [(each.name, each.verdict) for each in other.sources] == [
            (each.name, each.verdict) for each in first.sources
        ]
        assert [each.sources for each in other.hypotheses] == [each.sources for each in first.hypotheses]
        for part in ("weight", "evidence", "prior"):
            mine, theirs = ([getattr(each, part) for each in one.hypotheses] for one in (first, other))
            np.testing.assert_allclose(theirs, mine, rtol=0, atol=1e-9)
        factors = [[each.bayes_factor for each in one.sources] for one in (first, other)]
        np.testing.assert_allclose(*factors, rtol=1e-9)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in STUDIES]
)
def test_everybody_says_the_same_with_one_process(name, tmp_path):
    """How the scores are measured changes nothing in the answer."""
    paths = write(STUDIES[name], tmp_path)
    compared = compare_study(read_study(paths[0], paths[1:], "label"), quick=True, n_jobs=1, random_state=SEED)
    model = fit_study(StudyFiles(paths[0], paths[1:], "label"), n_jobs=1, random_state=SEED)
    for each in compared.evidence.sources:
        assert each.name in compared.summary.decision
    if name.partition(",")[0] in VERDICTS:
        assert [each.verdict for each in compared.evidence.sources] == VERDICTS[name.partition(",")[0]]
    check_same(compared.evidence, model.evidence, *in_python(paths))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["opposite", "in between, numbers", "missing values and categories"])
def test_commands_say_it_too_with_one_process_and_with_two(name, tmp_path):
    paths = write(STUDIES[name], tmp_path)
    first, *others = in_python(paths)
    check_same(first, *others, *by_command(paths, tmp_path, 1), *by_command(paths, tmp_path, 2))


@pytest.mark.slow
def test_sources_with_more_rows_than_are_evaluated(tmp_path, monkeypatch):
    """The same rows are drawn for all; compare reads no fewer than fit."""
    for kind in (TransferClassifierCV, TransferRegressorCV):
        initialise = kind.__init__.__wrapped__
        monkeypatch.setattr(initialise, "__kwdefaults__", {**initialise.__kwdefaults__, "max_search_rows": 60})
    paths = write(STUDIES["opposite"], tmp_path)
    compared = compare_study(read_study(paths[0], paths[1:], "label"), quick=True, n_jobs=1, random_state=SEED)
    model = fit_study(StudyFiles(paths[0], paths[1:], "label"), n_jobs=1, random_state=SEED)
    check_same(compared.evidence, model.evidence, *in_python(paths))
    assert compared.evidence["source1"].n_rows == 50


def test_a_metric_chooses_the_settings_of_all_of_them(tmp_path):
    """With scikit-learn's own scorer the estimator finds the same evidence, and it is another than without."""
    paths = write(Made("classification", (0.5,)), tmp_path)
    study = read_study(paths[0], paths[1:], "label")
    compared = compare_study(study, scoring="accuracy", quick=True, n_jobs=1, random_state=SEED)
    model = fit_study(StudyFiles(paths[0], paths[1:], "label"), scoring="accuracy", n_jobs=1, random_state=SEED)
    X, y, sample_domain = study.stack()
    steps = preprocessor(study.schema).fit(X)
    asked, plain = (
        TransferClassifierCV(aligned=True, scoring=scoring, random_state=SEED)
        .fit(steps.transform(X), y, sample_domain=sample_domain)
        .evidence_
        for scoring in ("accuracy", None)
    )
    others = [each.evidence.renamed({1: "source1"}) for each in (model, compared)]
    for other in others:
        assert [each.weight for each in other.hypotheses] == [each.weight for each in asked.hypotheses]
        assert [each.chosen for each in other.hypotheses] == [each.chosen for each in asked.hypotheses]
    assert [each.chosen for each in plain.hypotheses] != [each.chosen for each in asked.hypotheses]
    assert StudyModel.load(model.save(tmp_path / "model.skops")).asked["scoring"] == "accuracy"


@pytest.mark.parametrize("name", ["in between", "one source"])
def test_fit_and_a_quick_comparison_show_the_same_scores(name, tmp_path):
    """The baseline too, of two classes of one size, which is that of the nested comparison as well."""
    paths = write(STUDIES[name], tmp_path)
    frames = [pd.read_csv(path) for path in paths]
    if STUDIES[name].task == "classification":
        few = frames[0]["label"].value_counts().min()
        frames[0] = frames[0].groupby("label").head(few)
    study = read_study(frames[0], frames[1:], "label")
    quick = compare_study(study, quick=True, n_jobs=1, random_state=SEED)
    evidence = fit_study(StudyFiles(frames[0], frames[1:], "label"), n_jobs=1, random_state=SEED).evidence
    metric = evidence.metrics[0]
    for method, said in (
        (MODEL, evidence.model),
        (TARGET_ONLY, evidence.hypotheses[0].scores),
        (BASELINE, evidence.baseline),
    ):
        mine = quick.score_of(method)
        np.testing.assert_allclose((mine.value, mine.low, mine.high), list(vars(said[metric]).values()))
    nested = compare_study(study, n_splits=2, n_jobs=1, random_state=SEED)
    assert nested.score_of(BASELINE).value == pytest.approx(quick.score_of(BASELINE).value)
    if study.schema.task == "classification":
        assert quick.score_of(BASELINE).value == 0.5


def test_a_nested_fold_is_the_estimator_with_that_metric(tmp_path):
    paths = write(Made("classification", (0.5,)), tmp_path)
    study = read_study(paths[0], paths[1:], "label")
    frame, y, domain = study.stack()
    codes = (y == "yes").astype(int)
    target = np.flatnonzero(domain < 0)
    fold = OuterFold(np.setdiff1d(np.arange(len(y)), target[:6]), target[:6])
    metric = read_metric("accuracy", "classification")
    data = NestedData(frame, codes, domain, None, study.schema, None, (), (), metric, SEED)
    found = run_fold(data, fold).predicted[MODEL, 0]
    train = fold.train
    steps = preprocessor(study.schema).fit(frame.iloc[train])
    asked, plain = (
        TransferClassifierCV(aligned=True, scoring=scoring, random_state=SEED)
        .fit(steps.transform(frame.iloc[train]), codes[train], sample_domain=domain[train])
        .predict_proba(steps.transform(frame.iloc[fold.test]))
        for scoring in ("accuracy", None)
    )
    np.testing.assert_allclose(found, asked, rtol=0, atol=1e-12)
    assert np.abs(found - plain).max() > 1e-3
