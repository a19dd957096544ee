"""From a cell to numbers: the right rows, the right method, the right setting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from gapmin import GapBoostClassifier
from gapmin.datasets import MultitaskProblem, load_thirds
from gapmin.linear import InstanceWeightingClassifier
from gapmin.reproduce import rules, transfer
from gapmin.reproduce.cells import cell
from gapmin.reproduce.measures import find_measure
from gapmin.reproduce.names import DEFAULT, GAPBOOSTR_PRINTED, NETWORK_COLUMNS, REGRESSORS, TRADABOOST_R2_PRINTED

PRINTED_FORMS = (TRADABOOST_R2_PRINTED, GAPBOOSTR_PRINTED)


def test_a_regression_cell_is_the_mean_of_three_thirds_on_pooled_sources():
    one = cell("transfer", "Diabetes", "gapBoostR", 2, 5, resample=True)
    found = transfer.measure(one)
    by_hand = {}
    for k, problem in enumerate(load_thirds("diabetes")):
        split = problem.pooled().split(2, random_state=5)
        assert set(split.sample_domain) == {-1, 1}
        model = transfer.method("gapBoostR", {"resample": True}, one.random_state + k)
        model.fit(split.X, split.y, sample_domain=split.sample_domain)
        by_hand[problem.name] = np.sqrt(np.mean((model.predict(split.X_test) - split.y_test) ** 2))
    assert found.parts == pytest.approx(by_hand, rel=1e-12)
    assert found.error == pytest.approx(np.mean(list(by_hand.values())), rel=1e-12)
    assert (found.n_train, found.n_test) == (25, pytest.approx(442 / 3 - 25))


def test_methods_are_compared_on_the_same_rows_with_seeds_of_their_own():
    cells = [cell("transfer", "Diabetes", method, 0, 0, resample=False) for method in REGRESSORS]
    assert len({each.random_state for each in cells}) == len(cells)
    (low, *_), (again, *_) = (transfer.problems(each) for each in cells[:2])
    np.testing.assert_array_equal(low.split(0).X, again.split(0).X)


def test_friedman_is_drawn_anew_for_each_split_and_seed():
    drawn = [
        transfer.problems(cell("transfer", "Friedman", "gapBoostR", split, seed))[0].y_source[0]
        for split, seed in ((0, 0), (1, 0), (0, 1), (0, 0))
    ]
    assert drawn[0] == drawn[3]
    assert len(set(drawn)) == 3


def test_the_printed_forms_of_the_regressors_and_the_others_are_told_apart():
    forms = {name: transfer.method(name, {"resample": True}, 0) for name in (*REGRESSORS, *PRINTED_FORMS)}
    assert forms[TRADABOOST_R2_PRINTED].error_on == "all"
    assert forms["TrAdaBoost.R2"].error_on == "target"
    assert forms[GAPBOOSTR_PRINTED].stop_when_perfect
    assert not forms["gapBoostR"].stop_when_perfect


@pytest.mark.parametrize("name", [*REGRESSORS, *PRINTED_FORMS])
def test_regressors_boost_fully_grown_trees(name):
    model = transfer.method(name, {"resample": False}, 3)
    assert isinstance(model.estimator, DecisionTreeRegressor)
    assert model.estimator.max_depth is None
    assert model.n_estimators == 20
    assert (model.random_state, model.resample) == (3, False)


def test_the_settings_of_a_cell_reach_the_booster():
    setting = {"resample": True, "exp_rho_source": 0.3, "exp_rho_target": 2.0}
    model = transfer.method("gapBoost", setting, 0)
    assert (model.rho_source, model.rho_target) == (math.log(0.3), math.log(2.0))
    assert model.resample
    # As printed: rho_S = log 1/2, rho_T = 0, the hard vote, all rows alike to begin with.
    plain = transfer.method("gapBoost", {"resample": False}, 0)
    assert {**plain.get_params(), "random_state": None} == GapBoostClassifier().get_params()
    soft = transfer.method("gapBoost soft", {"resample": False}, 0)
    assert (soft.target_share, soft.vote) == (0.8, "soft")
    assert transfer.method("AdaBoost_T", {"resample": False}, 0).train_on == "target"
    assert transfer.method("AdaBoost_T&S", {"resample": False}, 0).train_on == "both"
    pooling = transfer.method("pooling 0.8", {}, 0)
    assert (pooling.gamma, pooling.lam) == (0.8, 0.001)


def test_the_authors_demo_has_raw_features_and_no_penalty(monkeypatch):
    asked = []
    monkeypatch.setattr(transfer, "load_newsgroups", lambda name, scaled: asked.append(scaled))
    for protocol in ({"protocol": transfer.AUTHORS_DEMO}, {}):
        transfer.problems(cell("transfer", "rec vs sci", "gapBoost", 0, 0, resample=True, train=0.1, **protocol))
    assert asked == ["raw", True]
    demo = {"resample": True, "protocol": transfer.AUTHORS_DEMO}
    for name in ("AdaBoost_T", "AdaBoost_T&S", "TrAdaBoost", "TransferBoost", "gapBoost"):
        assert transfer.method(name, demo, 0).estimator.lam == 1e-9
        assert transfer.method(name, {"resample": True}, 0).estimator is None


def test_an_unknown_kind_or_method_is_an_error():
    with pytest.raises(KeyError):
        find_measure("no such kind")
    with pytest.raises(KeyError):
        transfer.method("no such method", {"resample": False}, 0)


def test_rules_compare_what_is_with_what_was():
    parts = {
        "loss_before": 0.7,
        "loss_after": 0.6,
        "largest_weight": 0.2,
        "cap": 0.2,
        "target_share": 0.1,
        "target_rows": 0.1,
        "gap_first": 0.4,
        "gap_last": 0.5,
    }
    assert rules.follows(parts) == {"Rule 1": True, "Rule 2": True, "Rule 3": False, "Rule 4": False}


def test_rule_4_goes_by_the_gap_of_definition_5():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(40, 2)), np.repeat([-1, 1], [10, 30])
    alike, opposite = X[:, 0] > 0, np.where(domain < 0, X[:, 0], -X[:, 0]) > 0
    equal = np.full(40, 1 / 40)
    # Few rows of the target: their own minimiser is that of a stronger penalty, so that the gap is not 0 even here.
    near, far = (rules.weighted_gap(X, y, domain, equal, 0.25) for y in (alike, opposite))
    assert 0 < near < far
    weight = np.where(domain < 0, 0.09, 0.1 / 30)
    moved = InstanceWeightingClassifier(eta=0.25).fit(X, opposite, sample_domain=domain, sample_weight=weight)
    assert rules.weighted_gap(X, opposite, domain, weight, 0.25) == pytest.approx(moved.gap_.value)
    assert moved.gap_.value == pytest.approx(sum(moved.gap_.parts.values()))


def test_the_cells_of_table_1_measure_the_gap_at_the_start_and_at_the_end():
    one = cell("rules", rules.PROBLEM, "AdaBoost_T&S", 0, 0, eta=rules.ETA)
    parts = rules.measure(one).parts
    assert {"gap_first", "gap_last"} <= parts.keys()
    assert parts["gap_first"] > 0
    assert parts["gap_last"] != parts["gap_first"]


@pytest.fixture
def networks(monkeypatch):
    """Three small tasks of two classes in place of the published ones."""
    pytest.importorskip("torch")
    from gapmin.deep import MLP
    from gapmin.reproduce import networks

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)).astype(np.float32)
    tasks = {name: (X[k::3], (X[k::3, 0] > 0).astype(int)) for k, name in enumerate(("c", "a", "b"))}
    aside = {name: (X[:6] + 100, y[:6]) for name, (X, y) in tasks.items()}
    small = networks.Setup(MultitaskProblem("small", tasks, train_size=10), lambda: MLP(4, (8,)), 8, aside)
    monkeypatch.setattr(networks, "setup", lambda name, protocol: small)
    return networks


def test_every_network_is_measured_by_task(networks):
    for method in networks.NETWORK_OBJECTIVES:
        found = networks.measure(cell("multitask", "small", method, 0, 0, train=10, epochs=2))
        assert list(found.parts) == ["c", "a", "b"]
        assert found.error == pytest.approx(np.mean(list(found.parts.values())))
        assert (found.n_train, found.n_test) == (30, 90)
        if "gapMTNN" in method:
            assert np.sum(found.extra["relation"], axis=1) == pytest.approx(np.ones(3), abs=1e-5)


def test_the_relation_is_in_the_order_of_the_parts(networks, monkeypatch):
    fitted = networks.MultitaskClassifier.fit

    def fit(self, *arguments, **options):
        fitted(self, *arguments, **options)
        self.relation_ = np.array([[1, 0, 0], [0, 0, 1], [0.5, 0.5, 0]])  # a, b, c: the network sorts the tasks
        return self

    monkeypatch.setattr(networks.MultitaskClassifier, "fit", fit)
    found = networks.measure(cell("multitask", "small", "gapMTNN", 0, 0, train=10, epochs=1))
    assert found.extra["relation"] == [[0, 0.5, 0.5], [0, 1, 0], [1, 0, 0]]  # c, a, b


def test_an_epoch_of_every_method_is_timed(networks):
    found = networks.measure_epoch(cell("epoch", "small", "all of them", 0, 0, train=10, rounds=3))
    assert list(found.parts) == list(NETWORK_COLUMNS.values())
    assert all(len(seconds) == 3 and min(seconds) >= 0 for seconds in found.extra["seconds"].values())
    assert found.parts == {name: sorted(seconds)[1] for name, seconds in found.extra["seconds"].items()}


@pytest.mark.parametrize("method", ["Uniform", "gapMTNN printed"])
def test_a_network_cell_is_the_same_bit_for_bit_however_often_it_is_run(networks, method):
    import torch

    one = cell("multitask", "small", method, 0, 0, train=10, epochs=2)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = networks.classifier(one)
    assert torch.equal(torch.get_rng_state(), before)  # the stream of whoever calls goes on
    torch.manual_seed(2)
    again = networks.classifier(one)
    for mine, theirs in zip(first.extractor.parameters(), again.extractor.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert networks.measure(one) == networks.measure(one)
    other = networks.classifier(cell("multitask", "small", method, 1, 0, train=10, epochs=2))
    assert not torch.equal(next(first.extractor.parameters()), next(other.extractor.parameters()))


def test_a_validation_cell_trains_on_the_rows_of_the_draw_and_tests_on_rows_set_aside(networks, monkeypatch):
    seen = {}
    fit, predict = networks.MultitaskClassifier.fit, networks.MultitaskClassifier.predict

    def fitted(self, X, y, sample_task):
        seen["fit"] = X
        return fit(self, X, y, sample_task=sample_task)

    def predicted(self, X, sample_task):
        seen["predict"] = X
        return predict(self, X, sample_task=sample_task)

    monkeypatch.setattr(networks.MultitaskClassifier, "fit", fitted)
    monkeypatch.setattr(networks.MultitaskClassifier, "predict", predicted)
    one = cell("validation", "small", "Uniform", 3, 0, train=10, epochs=1)
    found = networks.measure_validation(one)
    np.testing.assert_array_equal(seen["fit"], networks.draw(one).X)
    assert seen["predict"].min() > 50
    assert found.n_test == 18


def test_settings_of_a_cell_reach_the_objective(networks):
    one = cell("multitask", "small", "Adv.H", 0, 0, train=10, epochs=1, lr=1e-3, **{"objective.adversary": 0.03})
    clf = networks.classifier(one)
    assert (clf.lr, clf.objective.adversary) == (1e-3, 0.03)


def test_the_column_of_our_default_is_the_default():
    pytest.importorskip("torch")
    from gapmin.deep import GapMTNN
    from gapmin.reproduce import networks

    assert networks.NETWORK_OBJECTIVES[DEFAULT]().get_params() == GapMTNN().get_params()


def test_a_printed_ablation_changes_in_the_printed_objective_what_it_changes_in_ours():
    pytest.importorskip("torch")
    from gapmin.deep import GapMTNN
    from gapmin.reproduce import networks

    def changes(name):
        printed, full = networks.printed_ablation(name).get_params(), GapMTNN.printed().get_params()
        return {each: printed[each] for each in printed if printed[each] != full[each]}

    assert changes("w/o marginal") == {"lambda_marginal": 0.0}
    assert changes("w/o sem. matching") == {"lambda_semantic": 0.0}
    assert changes("w/o marginal & sem. matching") == {"lambda_semantic": 0.0, "lambda_marginal": 0.0}
    assert changes("w/o cvx opt.") == {"learn_relation": False, "initial_relation": "uniform"}


def test_rows_set_aside_are_in_no_draw():
    pytest.importorskip("torch")
    from gapmin.reproduce import networks

    rng = np.random.default_rng(0)
    tasks = {name: (rng.normal(size=(100, 2)), np.arange(100) % 2) for name in ("a", "b")}
    left, validation = networks._set_aside(MultitaskProblem("whole", tasks, 0.1))
    for name, (X, _) in tasks.items():
        assert [len(left.tasks[name][1]), len(validation[name][1])] == [90, 10]
        both = np.concatenate([left.tasks[name][0], validation[name][0]])
        np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(X, axis=0))


@pytest.mark.data
@pytest.mark.parametrize(
    ("problem", "n_parts", "n_train"),
    [("A -> D", 5, 10), ("Concrete", 3, 25), ("rec vs talk", 1, 193)],
)
def test_published_problems_are_found_by_the_paper_s_names(problem, n_parts, n_train):
    method = "gapBoostR" if problem == "Concrete" else "gapBoost"
    share = {"train": 0.1} if problem in transfer.NEWSGROUPS else {}
    found = transfer.measure(cell("transfer", problem, method, 0, 0, resample=False, **share))
    assert len(found.parts) == n_parts
    assert found.n_train == n_train


def test_the_stranger_has_each_digit_by_the_name_of_the_next():
    pytest.importorskip("gapmin.deep")
    from gapmin.datasets import load_digits_multitask
    from gapmin.reproduce import networks
    from gapmin.reproduce.names import TWO_AND_A_STRANGER

    given, made = load_digits_multitask().tasks, networks.setup(TWO_AND_A_STRANGER).problem.tasks
    X, y = made["stranger"]
    np.testing.assert_array_equal(X, given["digits"][0])
    assert set(zip(given["digits"][1].tolist(), y.tolist(), strict=True)) == {(k, (k + 1) % 10) for k in range(10)}
    halves = np.concatenate([made[each][1] for each in ("first", "second")])
    np.testing.assert_array_equal(np.sort(halves), np.sort(given["mnist"][1]))
