import os
import pickle
import zlib

import numpy as np
import pytest

from gapmin.datasets import load_newsgroups
from gapmin.datasets._newsgroups import _words
from gapmin.datasets.catalogue import find_file


@pytest.mark.data
def test_words_of_the_whole_corpus():
    words, group = _words(find_file("20newsgroups/20news-bydate_py3.pkz"))
    assert words.shape == (18846, 26214)
    assert np.unique(group).size == 20
    np.testing.assert_array_equal(np.unique(words.data), [1.0])
    # Six articles is where the last words are cut: no word kept is rarer.
    assert words.sum(axis=0).min() == 6


@pytest.mark.data
def test_features_are_left_singular_vectors_of_both_domains_together():
    scaled, unscaled = load_newsgroups("rec vs sci"), load_newsgroups("rec vs sci", scaled=False)
    X, y, sample_domain = scaled.stack()
    np.testing.assert_allclose(X.std(axis=0), 1)
    largest = np.abs(X).argmax(axis=0)
    assert (X[largest, np.arange(100)] > 0).all()

    Z = unscaled.stack()[0]
    gram = Z.T @ Z
    singular_values = np.sqrt(np.diag(gram))
    np.testing.assert_allclose(gram, np.diag(singular_values**2), atol=1e-8)
    assert (np.diff(singular_values) < 0).all()
    np.testing.assert_allclose(Z / Z.std(axis=0), X, atol=1e-10)
    raw = load_newsgroups("rec vs sci", scaled="raw").stack()[0]
    np.testing.assert_allclose(np.linalg.norm(raw, axis=0), 1)
    np.testing.assert_allclose(raw * singular_values, Z, atol=1e-10)
    with pytest.raises(ValueError, match="scaled is 'unit': use True, False or 'raw'"):
        load_newsgroups("rec vs sci", scaled="unit")

    # The singular values are those of the words of these articles: W' u = s v with v of length one.
    words, group = _words(find_file("20newsgroups/20news-bydate_py3.pkz"))
    parts = [
        np.flatnonzero(np.isin(group, names))
        for names in (("rec.motorcycles", "sci.space"), ("rec.autos", "sci.electronics"))
    ]
    W = words[np.concatenate(parts)]
    left = Z / singular_values
    np.testing.assert_allclose(np.linalg.norm(W.T @ left, axis=0), singular_values)
    assert [rows.size for rows in parts] == [(sample_domain < 0).sum(), (sample_domain > 0).sum()]
    positive = np.isin(group, ("sci.space", "sci.electronics"))
    np.testing.assert_array_equal(y, positive[np.concatenate(parts)])


@pytest.mark.data
def test_all_six_problems():
    problems = load_newsgroups("all")
    sizes = {problem.name: (problem.y_target.size, problem.y_source.size) for problem in problems}
    assert sizes == {
        "comp vs sci": (963 + 991, 982 + 990),
        "rec vs sci": (996 + 987, 990 + 984),
        "comp vs talk": (985 + 775, 973 + 628),
        "comp vs rec": (963 + 996, 982 + 990),
        "rec vs talk": (994 + 940, 999 + 775),
        "sci vs talk": (990 + 775, 987 + 910),
    }
    for problem in problems:
        assert problem.X_target.shape[1] == 100
        split = next(problem.splits(1))
        assert (split.sample_domain < 0).sum() == round(0.1 * problem.y_target.size)


@pytest.mark.parametrize("set_to", [None, "elsewhere"])
def test_a_missing_file_is_named(monkeypatch, tmp_path, set_to):
    if set_to is None:
        monkeypatch.delenv("GAPMIN_DATA", raising=False)
    else:
        monkeypatch.setenv("GAPMIN_DATA", str(tmp_path / set_to))
    with pytest.raises(FileNotFoundError, match=r"GAPMIN_DATA.*20newsgroups/20news-bydate_py3\.pkz"):
        load_newsgroups("comp vs sci")
    with pytest.raises(FileNotFoundError, match="given"):
        load_newsgroups("all", data_home=tmp_path / "given")
    assert not list(tmp_path.iterdir())


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="name is 'sci vs comp'"):
        load_newsgroups("sci vs comp")


class Payload:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.rmdir, (str(self.folder),)


def test_a_corpus_that_would_run_code_is_refused_unrun(tmp_path):
    """The file of scikit-learn's loader is a pickle."""
    victim = tmp_path / "victim"
    victim.mkdir()
    content = pickle.dumps({"train": Payload(victim), "test": 1})
    (tmp_path / "20news-bydate_py3.pkz").write_bytes(zlib.compress(content))
    with pytest.raises(ValueError, match=r"20news-bydate_py3.pkz cannot be read .*rmdir"):
        load_newsgroups("rec vs sci", data_home=tmp_path)
    assert victim.is_dir()
