"""The rule itself: both inequalities, and what must not change it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapmin.transfer import Evidence, Hypothesis
from gapmin.transfer.constants import LEAVE_OUT, NOT_NEEDED, PRIOR_ALONE, UNDECIDED, USE
from gapmin.transfer.evidence import (
    bayes_factor,
    candidate_sets,
    combine_brackets,
    judge,
    posterior_weights,
    prior_weights,
)

numbers = st.floats(-60, 60)


def all_sets(n_sources):
    return [tuple(k + 1 for k in range(n_sources) if code >> k & 1) for code in range(2**n_sources)]


@given(st.integers(1, 5))
def test_priors_of_all_sets_sum_to_one_and_the_targets_own_is_its_constant(n_sources):
    prior = prior_weights(all_sets(n_sources), n_sources)
    assert prior.sum() == pytest.approx(1)
    assert prior[0] == pytest.approx(PRIOR_ALONE)


@given(st.integers(1, 5), st.data())
def test_what_columns_take_from_a_set_goes_to_the_target_alone(n_sources, data):
    doubtful = data.draw(st.sets(st.integers(1, n_sources)))
    prior = prior_weights(all_sets(n_sources), n_sources, permuted=doubtful)
    assert prior.sum() == pytest.approx(1)
    assert prior[0] >= PRIOR_ALONE - 1e-12


@given(st.integers(1, 4), st.data())
@settings(max_examples=200)
def test_the_weighted_evidence_is_never_below_the_log_of_the_targets_prior(n_sources, data):
    """Whatever the numbers are, and whichever hypotheses are not evaluated."""
    sets = all_sets(n_sources)
    kept = [(), *data.draw(st.lists(st.sampled_from(sets[1:]), unique=True))]
    evidence = np.array([0.0, *(data.draw(numbers) for _ in kept[1:])])
    prior = prior_weights(kept, n_sources, permuted=data.draw(st.sets(st.integers(1, n_sources))))
    weight = posterior_weights(prior, evidence)
    assert weight.sum() == pytest.approx(1)
    assert weight @ evidence >= math.log(PRIOR_ALONE) - 1e-9


@given(st.integers(1, 3), st.integers(1, 20), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_in_sequence_the_mixture_loses_at_most_the_log_of_the_prior(n_sources, n_rows, seed):
    """The shipped weights, used row by row, against every hypothesis."""
    rng = np.random.default_rng(seed)
    sets = all_sets(n_sources)
    prior = prior_weights(sets, n_sources)
    predictions = rng.uniform(0.001, 1, size=(n_rows, len(sets)))
    so_far, loss = np.zeros(len(sets)), 0.0
    for row in predictions:
        loss -= math.log(posterior_weights(prior, so_far - so_far[0]) @ row)
        so_far += np.log(row)
    assert (loss <= -so_far - np.log(prior) + 1e-9).all()


def test_five_rows_count_as_if_nothing_were_known_and_at_most_half():
    assert combine_brackets(1.0, 0.0, 100) == pytest.approx(0.95)
    assert combine_brackets(1.0, 0.0, 6) == pytest.approx(0.5)


def hypotheses(evidence, n_sources):
    prior = prior_weights(list(evidence), n_sources)
    weight = posterior_weights(prior, np.array(list(evidence.values())))
    return [
        Hypothesis(members, 0.0, value, value, value, 0.1, float(p), float(w))
        for (members, value), p, w in zip(evidence.items(), prior, weight, strict=True)
    ]


def verdicts(evidence, n_sources):
    names = {k: f"s{k}" for k in range(1, n_sources + 1)}
    made = judge(hypotheses(evidence, n_sources), names, dict.fromkeys(names, 10))
    return [each.verdict for each in made]


@pytest.mark.parametrize(("value", "said"), [(5.0, USE), (-5.0, LEAVE_OUT), (1.0, UNDECIDED), (-1.0, UNDECIDED)])
def test_of_one_source_the_bayes_factor_is_the_exponential_of_the_evidence(value, said):
    made = hypotheses({(): 0.0, (1,): value}, 1)
    factor = bayes_factor(
        1, [(), (1,)], np.array([PRIOR_ALONE, 1 - PRIOR_ALONE]), np.array([each.weight for each in made])
    )
    assert factor == pytest.approx(math.exp(value))
    assert verdicts({(): 0.0, (1,): value}, 1) == [said]


def test_opposite_verdicts_on_two_sources():
    assert verdicts({(): 0.0, (1,): 8.0, (2,): -8.0, (1, 2): -2.0}, 2) == [USE, LEAVE_OUT]


def test_a_source_that_another_makes_superfluous_is_not_needed():
    assert verdicts({(): 0.0, (1,): 20.0, (2,): 5.0, (1, 2): 15.0}, 2) == [USE, NOT_NEEDED]


def test_nothing_is_superfluous_beside_sources_without_weight():
    assert verdicts({(): 0.0, (1,): 0.3, (2,): -3.0, (1, 2): -2.0}, 2) == [UNDECIDED, UNDECIDED]


def evidence_of(values, n_sources):
    names = {k: f"s{k}" for k in range(1, n_sources + 1)}
    made = hypotheses(values, n_sources)
    return Evidence(tuple(made), judge(made, names, dict.fromkeys(names, 10)), "classification", 30)


@pytest.mark.parametrize("n_sources", [2, 3, 6])
def test_equally_good_sources_are_used_together_though_neither_is_needed(n_sources):
    sets = candidate_sets(range(1, n_sources + 1))
    found = evidence_of({members: 40.0 if members else 0.0 for members in sets}, n_sources)
    assert {each.verdict for each in found.sources} == {UNDECIDED}
    assert found.verdict == USE
    assert found.used == found.together == tuple(f"s{k}" for k in range(1, n_sources + 1))
    assert found.decision().startswith("Use s1")
    assert found.decision(worse=True).startswith("s1")
    assert "10,000+ to 1" in found.decision()
    assert "No evidence" not in found.decision()
    weak = evidence_of({members: 1.0 if members else 0.0 for members in sets}, n_sources)
    assert (weak.verdict, weak.used) == (UNDECIDED, ())


def test_a_source_that_is_left_out_is_not_among_those_that_help_together():
    values = {(): 0.0, (1,): 9.0, (2,): 9.0, (3,): -9.0, (1, 2, 3): -2.0, (1, 2): 9.0}
    found = evidence_of(values, 3)
    assert found.together == ("s1", "s2")
    assert found.decision().endswith("Leave out s3.")
    values[1, 2] = 20.0  # both are needed: each has clear odds of its own
    assert evidence_of(values, 3).together == ()
    assert evidence_of(values, 3).used == ("s1", "s2")


def test_the_odds_of_all_sources_are_of_the_evidence_where_there_is_one():
    assert evidence_of({(): 0.0, (1,): 2.5}, 1).bayes_factor == pytest.approx(math.exp(2.5))


def test_sets_without_a_prior_take_no_part():
    sets, prior = [(), (1,), (2,), (1, 2)], np.array([0.6, 0.1, 0.0, 0.0])
    weight = posterior_weights(prior, np.array([0.0, 3.0, 50.0, 50.0]))
    assert weight[2:].tolist() == [0.0, 0.0]
    assert bayes_factor(1, sets, prior, weight) == pytest.approx(math.exp(3.0))
    assert bayes_factor(2, sets, prior, weight) == 0.0


def test_the_order_of_sources_does_not_matter():
    one = verdicts({(): 0.0, (1,): 8.0, (2,): -3.0, (1, 2): 6.0}, 2)
    other = verdicts({(): 0.0, (1,): -3.0, (2,): 8.0, (1, 2): 6.0}, 2)
    assert one == other[::-1]


def test_each_set_is_evaluated_once():
    assert candidate_sets([7]) == [(), (7,)]
    assert candidate_sets([3, 5, 9]) == [(), (3,), (5,), (9,), (3, 5, 9)]
