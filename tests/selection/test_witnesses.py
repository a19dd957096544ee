"""The same learners with and without sources: who is called, what is heard, and what follows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from gapmin import TransferClassifierCV, TransferRegressorCV
from gapmin.selection import _witnesses  # Testimony by its module: pytest takes its name for tests
from gapmin.selection._candidates import POOLING, TARGET_ONLY, Candidate, Kit, Learner
from gapmin.selection._choice import choose_blend, is_used, share_with_sources
from gapmin.selection._data import Data
from gapmin.selection._held_out import Trial
from gapmin.selection._plan import go_further, look
from gapmin.selection._search import Search
from gapmin.selection._witnesses import Heard, Witnesses, best_of_each_kind, in_standard_errors
from gapmin_support.checks import repeats

RIDGES = [Learner("ridge", Ridge(alpha)) for alpha in (0.1, 10.0)]


def trial(learner, by_fold, **settings):
    method = POOLING if settings else TARGET_ONLY
    return Trial(Candidate(method, learner, settings, None), losses=[np.array(by_fold)], by_fold=list(by_fold))


def test_a_mean_in_standard_errors():
    assert in_standard_errors([0.0, 0.0, 0.0]) == 0
    assert in_standard_errors([0.1, 0.1, 0.1]) == np.inf
    assert in_standard_errors([-0.1, -0.1, -0.1]) == -np.inf
    assert in_standard_errors([0.0, 2.0, 4.0, 6.0]) == pytest.approx(3 / (np.sqrt(20 / 3) / 2))


def test_the_gain_is_the_mean_over_learners_fold_by_fold():
    one, other = Learner("one", None), Learner("other", None)
    pairs = (
        (trial(one, [1.0, 1.0, 1.0]), trial(one, [0.0, 1.0, 1.0], target_share=0.5)),
        (trial(other, [2.0, 2.0, 2.0]), trial(other, [1.0, 1.0, 0.0], target_share=0.5)),
    )
    # Gains 1, 0, 0 and 1, 1, 2: their means are 1, 0.5 and 1.
    assert Witnesses((1,), pairs).gain == pytest.approx(in_standard_errors([1.0, 0.5, 1.0]))


def test_of_each_kind_the_learner_that_does_best_with_and_without():
    good, bad, other = Learner("linear", None), Learner("linear", None), Learner("tree", None)
    alone = [trial(good, [1.0, 1.0]), trial(bad, [1.0, 1.0]), trial(other, [9.0, 9.0])]
    joined = [trial(each, [loss] * 2, target_share=0.5) for each, loss in ((bad, 3.0), (good, 2.0), (other, 9.0))]
    called = [(one.candidate.learner, two.candidate.learner) for one, two in best_of_each_kind(alone, joined)]
    assert all(one is two for one, two in called)
    assert {id(one) for one, _ in called} == {id(good), id(other)}


def search(turned=(), n_sources=1, n_repeats=2):
    rng = np.random.default_rng(0)
    domain = np.repeat([-1, *range(1, n_sources + 1)], [20, *[100] * n_sources])
    X = rng.normal(size=(domain.size, 4))
    score = X @ [2.0, 1.0, 0.5, 0.0] + 0.3 * rng.normal(size=domain.size)
    return Search(Data(X, np.where(np.isin(domain, turned), -score, score), domain, None), 5, n_repeats, None, 0)


def run(made, kit):
    go_further(made, kit, RIDGES, ["pooling"], look(made, kit, RIDGES, ["pooling"]))
    return made.go_on()


def test_witnesses_take_part_to_the_end_and_differ_in_the_sources_alone():
    made = search(n_sources=2)
    run(made, Kit(True, [1, 2]))
    assert [each.sources for each in made.witnesses] == [(1, 2), (1,), (2,)]
    for each in made.witnesses:
        ((alone, joined),) = each.pairs
        assert alone.n_repeats == joined.n_repeats == 2
        assert alone.is_target_only
        assert alone.candidate.learner is joined.candidate.learner
        assert joined.candidate.settings["target_share"] == 0.5
        assert joined.candidate.settings.get("sources", (1, 2)) == each.sources


def test_a_good_source_beside_a_turned_one_is_heard_by_itself():
    made = search(turned=[2], n_sources=2)
    run(made, Kit(True, [1, 2]))
    all_of_them, first, second = (each.gain for each in made.witnesses)
    assert first > max(all_of_them, second)
    assert made.testimony(1.0).trusted == [(1,)]
    kin = made.source_rows.kinship[1].closeness
    needed, support = max(1 - 10 * kin, 1 - 4 * 0.5**0.5), first + min(10 * kin, 9) - 1
    assert made.testimony(1.0).heard[(1,)] == Heard(first, kin, 0.0, pytest.approx(needed), pytest.approx(support))
    assert next(iter(made.testimony(1.0).heard)) == (1,)


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_heard_decides(turned):
    made = search(turned=[1] if turned else [])
    finalists = run(made, Kit(True, [1]))
    chosen, alone, _ = choose_blend(made, finalists, 1.0)
    assert made.testimony(1.0).heard[(1,)].suffices == (not turned)
    assert (chosen is alone) == turned


@pytest.mark.parametrize("blend", [True, *repeats([False])])
@pytest.mark.parametrize("methods", [None, ["pooling"], ["gap weighting"], ["gapBoost", "gap weighting"]])
def test_a_source_that_is_not_trusted_gets_no_weight_beside_those_that_are(methods, blend):
    data = search(turned=[2], n_sources=3).data
    model = TransferRegressorCV(Ridge(), methods=methods, blend=blend, random_state=0)
    model.fit(data.X, data.y, sample_domain=data.domain)
    assert model.domain_weight_.get(2, 0.0) == 0
    if methods in (None, ["pooling"]):
        assert model.domain_weight_[1] + model.domain_weight_[3] > 0.1


def test_of_several_sources_those_that_are_trusted_by_themselves_are_kept():
    made = search(turned=[2], n_sources=3)
    look(made, Kit(True, [1, 2, 3]), RIDGES, ["pooling"])
    assert (1, 2, 3) not in made.testimony(1.0).trusted
    assert made.testimony(1.0).worth_keeping == (1, 3)
    assert made.testimony(1e9).worth_keeping == (1, 2, 3)  # nobody is trusted: nothing to choose from


def gains_of(together, first, second):
    """What follows from these gains of two sources, where a gain of 1 is needed."""
    gains = {(1, 2): together, (1,): first, (2,): second}
    best_first = sorted(gains, key=lambda sources: -gains[sources])
    return _witnesses.Testimony((1, 2), {sources: Heard(gains[sources], 0.5, 0.0, 1.0, 1.0) for sources in best_first})


def test_what_comes_off_best_together_is_kept_together():
    assert gains_of(3.0, 1.5, 0.5).worth_keeping == (1, 2)
    assert gains_of(3.0, 1.5, 0.5).deciding.gain == 3
    assert gains_of(3.0, 4.0, 0.5).worth_keeping == (1,)  # 2 is trusted on 1's back
    assert gains_of(3.0, 4.0, 1.1).worth_keeping == (1, 2)
    assert gains_of(0.9, 1.5, 0.5).deciding.gain == 1.5
    assert _witnesses.Testimony((1, 2), {}).worth_keeping == (1, 2)
    assert _witnesses.Testimony((1, 2), {}).deciding is None


@pytest.mark.slow
def test_a_source_that_is_not_trusted_changes_nothing():
    data = search(turned=[2], n_sources=3).data
    kept = data.domain != 2
    model = TransferRegressorCV(random_state=0).fit(data.X, data.y, sample_domain=data.domain)
    without = TransferRegressorCV(random_state=0).fit(data.X[kept], data.y[kept], sample_domain=data.domain[kept])
    np.testing.assert_array_equal(model.predict(data.X), without.predict(data.X))
    np.testing.assert_array_equal(model.sample_weight_[kept], without.sample_weight_)
    assert not model.sample_weight_[~kept].any()
    assert model.transfer_verdict_.left_out == (2,)
    assert without.transfer_verdict_.left_out == ()


def test_a_model_that_is_clearly_worse_is_not_used_whatever_was_heard():
    made = search()
    run(made, Kit(True, [1]))
    alone = trial(RIDGES[0], [1.0, 1.1, 0.9, 1.0, 1.05])
    assert not is_used(made, trial(RIDGES[0], [3.0, 3.2, 2.9, 3.1, 3.0], target_share=0.5), alone, 1.0)
    assert is_used(made, trial(RIDGES[0], [1.1, 1.0, 1.0, 0.9, 1.2], target_share=0.5), alone, 1.0)


def test_the_verdict_says_what_was_heard():
    made = search()
    data = made.data
    found = TransferRegressorCV(Ridge(), random_state=0).fit(data.X, data.y, sample_domain=data.domain)
    verdict = found.transfer_verdict_
    assert verdict.gain > verdict.gain_needed == pytest.approx(max(1 - 10 * verdict.kinship, 1 - 4 * 0.5**0.5))
    asked = TransferRegressorCV(Ridge(), n_standard_errors=9, random_state=0)
    asked.fit(data.X, data.y, sample_domain=data.domain)
    assert asked.transfer_verdict_.gain_needed == pytest.approx(verdict.gain_needed + 8)
    assert asked.transfer_verdict_.transfers == (verdict.gain > verdict.gain_needed + 8)


def test_without_pooling_the_model_must_win_by_itself():
    data = search().data
    y, quick = (data.y > 0).astype(int), {"n_repeats": 1, "n_splits": 2, "random_state": 0}
    for n_standard_errors, transfers in ((-0.0, True), (1e9, False)):
        model = TransferClassifierCV(
            LogisticRegression(), methods=["gapBoost"], n_standard_errors=n_standard_errors, **quick
        ).fit(data.X, y, sample_domain=data.domain)
        assert np.isnan(model.transfer_verdict_.gain)
        assert model.transfer_verdict_.transfers == (transfers and model.transfer_verdict_.difference < 0)


def test_the_share_of_the_model_with_sources_by_their_support():
    supports, shares = (-3.0, 0.0, 4.0, 5.0, 7.0, 10.0, np.inf), (0.4, 0.4, 0.4, 0.5, 0.7, 1.0, 1.0)
    assert [share_with_sources(support) for support in supports] == pytest.approx(list(shares))


@pytest.mark.slow
def test_in_doubt_the_model_is_the_mean_of_both():
    data = search().data

    def fitted(n_standard_errors):
        model = TransferRegressorCV(Ridge(), n_standard_errors=n_standard_errors, random_state=0)
        return model.fit(data.X, data.y, sample_domain=data.domain)

    verdict = fitted(0).transfer_verdict_
    assert verdict.columns_match is None  # or they would count too
    support, margin = verdict.gain + min(10 * verdict.kinship, 9), verdict.gain - verdict.gain_needed
    assert support > 10.01  # or there were doubt already
    found = {left: fitted(margin - left) for left in (-0.1, 0.01)}
    found |= {doubt: fitted(support - 4 - 6 * (1 - doubt / 0.6)) for doubt in (0.3, 0.051, 0.049)}
    found["sure"] = fitted(support - 10.01)
    assert [model.transfer_verdict_.transfers for model in found.values()] == [False, *[True] * 5]
    doubts = [model.transfer_verdict_.doubt for model in found.values()]
    most = 0.6 * (1 - (support - margin + 0.01 - 4) / 6)
    assert most > 0.3
    assert doubts == pytest.approx([0, most, 0.3, 0.051, 0, 0])  # less than a twentieth is none
    no, yes = (found[left].predict(data.X) for left in (-0.1, "sure"))
    mean, doubt = found[0.3], 0.3
    np.testing.assert_allclose(mean.predict(data.X), doubt * no + (1 - doubt) * yes)
    assert mean.domain_weight_[1] == pytest.approx((1 - doubt) * found["sure"].domain_weight_[1])
    assert f"in doubt, a model without them has {100 * doubt:.0f}% of the say" in str(mean.transfer_verdict_)
    assert mean.transfer_verdict_.method != TARGET_ONLY
    assert "in doubt" not in str(found["sure"].transfer_verdict_)
