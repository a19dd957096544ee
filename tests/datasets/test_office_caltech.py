import numpy as np
import pytest
from scipy.io import savemat
from sklearn.decomposition import PCA

from gapmin.datasets import load_office_caltech

NAMES = {"A": "amazon", "C": "Caltech10", "D": "dslr", "W": "webcam"}


def pictures(n_rows, seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, size=(n_rows, 800)).astype(np.uint8)
    return counts, rng.permutation(np.arange(n_rows) % 10 + 1).astype(np.uint8)[:, np.newaxis]


@pytest.fixture
def files(monkeypatch, tmp_path):
    """The four files in the published format, of other sizes."""
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path))
    folder = tmp_path / "office_caltech10"
    folder.mkdir()
    content = {letter: pictures(n_rows, n_rows) for letter, n_rows in zip("ACDW", (300, 400, 100, 120), strict=True)}
    for letter, (fts, labels) in content.items():
        savemat(folder / f"{NAMES[letter]}_SURF_L10.mat", {"fts": fts, "labels": labels})
    return content


def by_hand(files, source, target, classes):
    rows = []
    for letter in (target, source):
        fts, labels = files[letter]
        rows.append(fts[np.isin(labels[:, 0], classes)].astype(float))
    shares = np.concatenate([each / each.sum(axis=1, keepdims=True) for each in rows])
    scale = shares.std(axis=0)
    return (shares - shares.mean(axis=0)) / np.where(scale > 0, scale, 1)


def test_the_five_problems_of_a_pair(files):
    problems = load_office_caltech("A", "C")
    assert [problem.name for problem in problems] == [
        f"A -> C, {classes}" for classes in ("1 vs 2", "3 vs 4", "5 vs 6", "7 vs 8", "9 vs 10")
    ]
    for problem, first in zip(problems, (1, 3, 5, 7, 9), strict=True):
        assert problem.train_size == 10
        for (X, y), (_, labels) in (
            (problem.target, files["C"]),
            (problem.sources[0], files["A"]),
        ):
            labels = labels[:, 0][np.isin(labels[:, 0], (first, first + 1))]
            np.testing.assert_array_equal(y, labels - first)
            assert X.shape == (labels.size, min(100, problem.y_target.size + problem.y_source.size - 1))


@pytest.mark.parametrize("pair", [("A", "C"), ("D", "W")])
def test_features_are_principal_components_of_the_problems_own_rows(files, pair):
    whitened, plain = (load_office_caltech(*pair, whitened=choice)[1] for choice in (True, False))
    X = whitened.stack()[0]
    Z = plain.stack()[0]
    np.testing.assert_allclose(X.std(axis=0), 1)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(X.shape[1]), atol=1e-10)
    np.testing.assert_allclose(Z / Z.std(axis=0), X)
    assert (X[np.abs(X).argmax(axis=0), np.arange(X.shape[1])] > 0).all()
    standardised = by_hand(files, *pair, (3, 4))
    expected = PCA(X.shape[1], svd_solver="full").fit_transform(standardised)
    np.testing.assert_allclose(np.abs(Z), np.abs(expected), atol=1e-8)
    if len(X) <= 100:  # all there is: distances are those of the standardised histograms
        np.testing.assert_allclose(Z @ Z.T, standardised @ standardised.T, atol=1e-8)


@pytest.mark.usefixtures("files")
def test_all_pairs():
    everything = load_office_caltech("all")
    assert list(everything)[:4] == ["A -> C", "A -> D", "A -> W", "C -> A"]
    assert len(everything) == 12
    again = load_office_caltech("W", "D")[4]
    np.testing.assert_array_equal(everything["W -> D"][4].X_target, again.X_target)


@pytest.mark.parametrize("pair", [("A", "A"), ("A",), ("B", "A"), ("all", "A"), ("amazon", "webcam")])
def test_other_letters_are_refused(pair):
    with pytest.raises(ValueError, match=f"source is '{pair[0]}' and target .*: use two different letters"):
        load_office_caltech(*pair)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fts": np.ones((300, 799))}, r"fts of shape \(300, 799\) and 300 labels: expected 800 counts"),
        ({"labels": np.ones((299, 1))}, r"fts of shape \(300, 800\) and 299 labels"),
        ({"labels": np.arange(300)[:, None] % 10}, r"holds the labels 0, 1, 2, 3, 4, 5, 6, 7, 8, 9: expected"),
        ({"fts": np.zeros((300, 800))}, "a picture with counts below 0 or none above"),
        ({"fts": np.full((300, 800), np.nan)}, "a picture with counts below 0 or none above"),
    ],
)
def test_other_content_is_refused(files, tmp_path, changes, message):
    fts, labels = files["A"]
    savemat(tmp_path / "office_caltech10/amazon_SURF_L10.mat", {"fts": fts, "labels": labels, **changes})
    with pytest.raises(ValueError, match=rf"amazon_SURF_L10\.mat holds.*{message}|amazon_SURF_L10\.mat {message}"):
        load_office_caltech("A", "C")


def test_damaged_and_missing_files_are_named(files, tmp_path):
    path = tmp_path / "office_caltech10/amazon_SURF_L10.mat"
    savemat(path, {"fts": files["A"][0]})
    for content in (path.read_bytes(), b"", b"nothing of the kind" * 10):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"amazon_SURF_L10\.mat cannot be read"):
            load_office_caltech("A", "C")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"amazon_SURF_L10\.mat is not there.*geodesic flow kernel"):
        load_office_caltech("A", "C")


@pytest.mark.data
def test_the_published_pictures():
    everything = load_office_caltech()
    assert {pair: sum(problem.y_target.size for problem in five) for pair, five in everything.items()} == {
        f"{source} -> {target}": size
        for target, size in {"A": 958, "C": 1123, "D": 157, "W": 295}.items()
        for source in "ACDW"
        if source != target
    }
    assert everything["A -> C"][0].X_target.shape == (261, 100)
    assert everything["D -> W"][0].X_target.shape[1] == 50 + 33 - 1
