import json
from dataclasses import replace

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from gapmin.study import (  # noqa: E402
    ALL_SOURCES,
    BASELINE,
    MODEL,
    TARGET_ONLY,
    Column,
    RowDivision,
    Schema,
    Study,
    compare_study,
)
from gapmin.study.compare import QUICK, check_study  # noqa: E402
from gapmin.transfer import Evidence  # noqa: E402

SETTINGS = {"n_splits": 2}


def made_study(task, n_target=24, n_source=60, seed=0):
    rng = np.random.default_rng(seed)
    weight = np.array([2.0, -1.0, 1.0])

    def domain(n_rows, sign):
        X = rng.normal(size=(n_rows, 3))
        score = sign * X @ weight + 0.3 * rng.normal(size=n_rows)
        y = np.where(score > 0, "yes", "no").astype(object) if task == "classification" else score
        return pd.DataFrame(X, columns=["a", "b", "c"]), y

    classes, kind = (("no", "yes"), "text") if task == "classification" else (None, "number")
    schema = Schema("y", task, kind, classes, tuple(Column(name, "number") for name in "abc"))
    sources = {"good": domain(n_source, 1), "bad": domain(n_source, -1)}
    return Study(domain(n_target, 1), sources, schema, ("a note",), "here")


@pytest.fixture(scope="module")
def compared():
    shares = []
    found = compare_study(
        made_study("regression"), n_jobs=1, on_progress=lambda share, stage: shares.append((share, stage)), **SETTINGS
    )
    return found, shares


@pytest.fixture(scope="module")
def quick():
    return compare_study(made_study("classification"), n_jobs=1, quick=True)


def test_a_source_that_is_reversed_is_left_out(compared):
    found, _ = compared
    assert [each.name for each in found.evidence.sources] == ["good", "bad"]
    assert (found.evidence["good"].verdict, found.evidence["bad"].verdict) == ("use", "leave out")
    assert found.summary.decision == "Use good. Leave out bad."


def test_every_method_is_measured_on_every_target_row(compared):
    found, _ = compared
    assert [each.method for each in found.scores] == [BASELINE, TARGET_ONLY, ALL_SOURCES, MODEL]
    assert found.protocol == "nested"
    assert found.score_of(MODEL).value < found.score_of(TARGET_ONLY).value < found.score_of(BASELINE).value
    for each in found.scores:
        assert each.low <= each.value <= each.high
        assert each.change == pytest.approx(each.value - found.score_of(TARGET_ONLY).value)


def test_the_curve_ends_where_the_table_says(compared):
    found, _ = compared
    assert found.curve.sizes[0] == 10
    assert found.curve.sizes[-1] == 12
    for method in (TARGET_ONLY, MODEL):
        assert found.curve.scores[method][-1].value == found.score_of(method).value
    assert found.saving.n_rows == 12


def test_the_columns_that_count_are_found(compared):
    found, _ = compared
    assert found.importance[0].name == "a"
    assert sorted(each.name for each in found.importance) == ["a", "b", "c"]


def test_the_label_leads_the_drift(compared):
    found, _ = compared
    assert found.drift[0].is_label
    assert [each.worst for each in found.drift[1:]] == sorted((each.worst for each in found.drift[1:]), reverse=True)


def test_progress_rises_to_one_and_says_what_is_done(compared):
    _, told = compared
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert {"preparing columns", "weighing the sources on held-out target rows"} <= {stage for _, stage in told}


def test_json_has_each_error_once(compared):
    found, _ = compared
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert said["headline"] == found.headline
    assert said["verdict"] == found.evidence.verdict
    assert not {"model", "change", "baseline", "headline"} & set(said["evidence"])
    assert all("scores" not in each for each in said["evidence"]["hypotheses"])


def test_a_quick_comparison_says_what_it_leaves_out_and_the_same_of_the_sources(quick):
    assert quick.simplified == QUICK
    assert quick.protocol == "not nested"
    assert (quick.curve, quick.saving, quick.importance) == (None, None, ())
    assert quick.evidence["bad"].verdict == "leave out"
    assert np.sum(quick.details.confusion) == 24
    assert {each.method for each in quick.scores} == {BASELINE, TARGET_ONLY, ALL_SOURCES, MODEL}


def test_a_time_limit_that_is_too_short_makes_it_quick(quick):
    found = compare_study(made_study("classification"), n_jobs=1, time_limit=1e-3)
    assert found.simplified[0] == "The time limit of 0.001 s leaves no time for more."
    assert found.simplified[1:] == QUICK


@pytest.mark.slow
def test_quick_and_nested_have_one_evidence(quick):
    nested = compare_study(made_study("classification"), n_jobs=1, **SETTINGS)
    assert nested.evidence == quick.evidence


@pytest.mark.slow
def test_processes_change_nothing(compared):
    two = compare_study(made_study("regression"), n_jobs=2, **SETTINGS)
    assert replace(compared[0], seconds=0).to_dict() == replace(two, seconds=0).to_dict()


@pytest.mark.slow
def test_nested_rows_are_known_to_nothing():
    """Labels that no column tells: whatever had seen the tested rows would do better than the mean."""
    rng = np.random.default_rng(0)
    study = made_study("regression", n_target=60)
    study = replace(study, target=(study.target[0].iloc[:60], rng.normal(size=60)))
    found = compare_study(study, n_jobs=1, **SETTINGS)
    assert found.score_of(MODEL).value > 0.9 * found.score_of(BASELINE).value


def test_groups_and_time_reach_the_folds():
    """Rows come in groups with one label each: whoever sees the group of a row knows its label."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 4)
    X = pd.DataFrame(rng.normal(size=(10, 3))[groups] + 0.01 * rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    y = rng.normal(size=10)[groups] + 0.01 * rng.normal(size=40)
    study = made_study("regression")
    study = replace(study, target=(X, y), sources={"good": study.sources["good"]})
    codes = np.concatenate([groups, 100 + np.arange(60)])
    leaky = compare_study(study, n_jobs=1, quick=True)
    honest = compare_study(study, division=RowDivision(codes), n_jobs=1, quick=True)
    assert leaky.score_of(MODEL).value < 0.5 * honest.score_of(MODEL).value
    by_time = compare_study(study, division=RowDivision(time=np.arange(40.0)), n_jobs=1, quick=True)
    assert by_time.evidence.n_target < 40, "the first rows only train"


def test_the_evidence_is_that_of_the_estimator(quick):
    assert isinstance(quick.evidence, Evidence)
    assert sum(each.weight for each in quick.evidence.hypotheses) == pytest.approx(1)


def test_a_target_that_says_nothing_is_refused():
    study = made_study("classification")
    X, y = study.target
    with pytest.raises(ValueError, match=r"^here has 9 labelled rows: a comparison needs 10 or more, so label more"):
        check_study(replace(study, target=(X[:9], y[:9])))
    lonely = np.array(["no"] * 23 + ["yes"], dtype=object)
    with pytest.raises(ValueError, match=r"^here has one row of class 'yes'.*: label more rows of the target$"):
        compare_study(replace(study, target=(X, lonely)))
    regression = made_study("regression")
    with pytest.raises(ValueError, match=r"^every label of here is 1.0: there is nothing to predict$"):
        compare_study(replace(regression, target=(X, np.ones(24))))
    with pytest.raises(ValueError, match=r"^n_splits is 1: use an integer of at least 2$"):
        compare_study(study, n_splits=1)
    with pytest.raises(ValueError, match=r"^time_limit is 0: give seconds above 0, or None$"):
        compare_study(study, time_limit=0)
    with pytest.raises(ValueError, match=r"^'r2' is no metric for a classification"):
        compare_study(study, scoring="r2")
