import json
from dataclasses import replace

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from gapmin._utils.statistics import corrected_t_test  # noqa: E402
from gapmin.base import DomainData  # noqa: E402
from gapmin.study import OURS, POOLED, TARGET_ONLY, Column, Schema, Study, compare_study  # noqa: E402
from gapmin.study.compare import check_study  # noqa: E402
from gapmin.study.folds import Fitted, draw_folds, measure  # noqa: E402
from gapmin.study.method_comparison import compare_methods  # noqa: E402
from gapmin.study.methods import make_method, method_names  # noqa: E402
from gapmin.transfer import Evidence  # noqa: E402

SETTINGS = {"n_splits": 2}


def domain_data(X, y, domain):
    return DomainData(X, y, domain, np.ones(len(y)))


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
    return compare_study(made_study("classification"), n_jobs=1, **SETTINGS)


def test_a_source_that_is_turned_round_is_left_out(compared):
    assert [each.name for each in compared.evidence.sources] == ["good", "bad"]
    assert compared.evidence["bad"].verdict == "leave out"
    assert compared.evidence["good"].evidence > 0 > compared.evidence["bad"].evidence
    assert "Leave out bad" in compared.headline
    assert compared.headline.endswith(".")


def test_the_gap_of_every_source_is_measured(compared):
    assert list(compared.gaps) == ["good", "bad"]
    assert sum(compared.gaps["good"].values()) < sum(compared.gaps["bad"].values())


def test_every_method_is_measured_on_the_same_folds(compared):
    assert [each.method for each in compared.methods] == list(method_names("classification"))
    for each in compared.methods:
        assert len(each.errors) == 2
        assert each.error == pytest.approx(np.mean(each.errors))
        assert 0 <= each.low <= each.error <= each.high <= 100
        assert each.difference == pytest.approx(each.error - compared.entry(TARGET_ONLY).error)
    alone = compared.entry(TARGET_ONLY)
    assert (alone.difference, alone.p_value) == (0, 1)


def test_p_values_are_corrected_for_the_number_of_methods():
    data = domain_data(np.zeros((40, 1)), np.zeros(40), np.repeat([-1, 1], [20, 20]))
    folds = draw_folds(data, "regression", 2, 2, 0)
    errors = {TARGET_ONLY: [1.0, 2.0, 3.0, 4.0], POOLED: [0.5, 1.4, 2.6, 3.5], OURS: [0.9, 2.2, 2.6, 4.1]}
    pairs = [(method, fold) for method in errors for fold in folds]
    fits = [Fitted(each) for found in errors.values() for each in found]
    compared, failures = compare_methods(tuple(errors), pairs, fits, 20, "regression")
    assert not failures
    plain = {
        method: corrected_t_test(np.subtract(found, errors[TARGET_ONLY]), 10, 10) for method, found in errors.items()
    }
    found = {each.method: each.p_value for each in compared}
    assert found[POOLED] == pytest.approx(2 * plain[POOLED].p_value)  # the smaller of two
    assert found[OURS] == pytest.approx(plain[OURS].p_value)
    assert found[TARGET_ONLY] == 1


def test_the_curve_goes_from_few_rows_to_all_that_train(compared):
    assert compared.curve.sizes[0] == 10
    assert compared.curve.sizes[-1] == 12
    assert {TARGET_ONLY, POOLED} <= set(compared.curve.errors) <= {TARGET_ONLY, OURS, POOLED}
    assert (OURS in compared.curve.errors) == bool(compared.evidence.used)
    for errors in compared.curve.errors.values():
        assert np.shape(errors) == (len(compared.curve.sizes), 2)


def test_weights_are_shares_of_the_target_and_each_source_by_round(compared):
    np.testing.assert_allclose(np.sum(compared.mass, axis=1), 1)
    np.testing.assert_allclose(compared.mass[0], np.array([24, 60, 60]) / 144)
    assert sum(each.weight for each in compared.evidence.hypotheses) == pytest.approx(1)


def test_everything_is_json(compared):
    found = json.loads(json.dumps(compared.to_dict(), allow_nan=False))
    assert Evidence.from_dict(found["evidence"]) == compared.evidence
    assert not {"ranking", "verdict"} & set(found)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_processes_change_nothing_and_progress_ends_at_one(task, compared):
    study = made_study(task)
    shares = []
    one = (
        compared
        if task == "classification"
        else compare_study(study, n_jobs=1, on_progress=lambda share, n_steps: shares.append(share), **SETTINGS)
    )
    two = compare_study(study, n_jobs=2, **SETTINGS)
    assert replace(one, seconds=0).to_dict() == replace(two, seconds=0).to_dict()
    if shares:
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0, 1)
        assert [each.method for each in one.methods] == list(method_names("regression"))
        assert one.evidence["bad"].verdict == "leave out"


def test_folds_test_each_target_row_once_a_repeat_and_no_source_row():
    domain = np.repeat([1, -1, 2], [5, 20, 5])
    y = np.tile([0, 1], 15)
    data = domain_data(np.zeros((30, 1)), y, domain)
    folds = draw_folds(data, "classification", 4, 3, seed=1)
    assert len(folds) == 12
    for repeat in range(3):
        tested = np.concatenate([fold.test for fold in folds[4 * repeat : 4 * repeat + 4]])
        assert sorted(tested) == list(range(5, 25))
    for fold in folds:
        assert sorted([*fold.train, *fold.test]) == list(range(5, 25))
        assert y[fold.test].mean() == pytest.approx(0.5, abs=0.11)
    assert [fold.seed for fold in folds] == [fold.seed for fold in draw_folds(data, "classification", 4, 3, seed=1)]


def test_the_rows_of_a_fold_are_not_trained_on():
    """Labels that nothing can tell: whoever saw the tested rows would know them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), rng.normal(size=60)
    data = domain_data(X, y, np.repeat([-1, 1], [30, 30]))
    fold = draw_folds(data, "regression", 3, 1, seed=0)[0]
    model = make_method(POOLED, "regression", 0)
    seen = measure(data, "regression", model, fold.train, fold.train).error
    assert measure(data, "regression", model, fold.train, fold.test).error > 1.5 * seen


def test_sources_that_are_to_be_left_out_train_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    domain = np.repeat([-1, 1, 2], 20)
    y = X[:, 0].copy()
    y[domain == 2] = 1e6
    data = domain_data(X, y, domain)
    model = make_method(POOLED, "regression", 0)
    rows = np.arange(10), np.arange(10, 20)
    assert measure(data, "regression", model, *rows, sources=(1,)).error < 1
    assert measure(data, "regression", model, *rows).error > 1e3


def test_a_method_that_cannot_be_trained_says_why():
    data = domain_data(np.zeros((8, 1)), np.zeros(8), np.repeat([-1, 1], 4))
    model = make_method("gapBoost", "classification", 0)
    found = measure(data, "classification", model, np.arange(3), np.array([3]))
    assert np.isnan(found.error)
    assert "class" in found.failure


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
