import numpy as np
import pytest
from scipy.optimize import least_squares
from sklearn.datasets import load_diabetes

from gapmin.datasets import load_thirds, make_friedman_transfer, thirds
from gapmin.datasets._regression import _CONCRETE, _distortion


def toy(n_rows=91, strength=0.4, seed=0):
    """Feature 1 has the wanted correlation with y, 0 and 2 have none, 3 is the row's number."""
    rng = np.random.default_rng(seed)
    noise, feature, *others = rng.normal(size=(4, n_rows))
    y = strength * feature + np.sqrt(1 - strength**2) * noise
    return np.column_stack([others[0], feature, others[1], np.arange(n_rows)]), y


def rows_of(domain):
    return set(domain[0][:, -1].astype(int))


@pytest.mark.parametrize("sign", [1, -1])
def test_sorted_by_the_feature_of_moderate_correlation_cut_in_thirds_and_dropped(sign):
    X, y = toy(strength=sign * 0.4)
    low, medium, high = problems = thirds(X, y, "toy")
    assert [problem.name for problem in problems] == ["toy low", "toy medium", "toy high"]
    domains = [problem.target for problem in problems]
    assert [y.size for _, y in domains] == [31, 30, 30]
    in_order = [X[sorted(rows_of(domain)), 1] for domain in domains]
    assert in_order[0].max() < in_order[1].min()
    assert in_order[1].max() < in_order[2].min()
    assert set.union(*map(rows_of, domains)) == set(range(91))
    for domain_X, domain_y in domains:
        rows = domain_X[:, -1].astype(int)
        np.testing.assert_array_equal(domain_X, X[rows][:, [0, 2, 3]])
        np.testing.assert_array_equal(domain_y, y[rows])
    for problem, others in ((low, (medium, high)), (medium, (low, high)), (high, (low, medium))):
        assert [rows_of(source) for source in problem.sources] == [rows_of(other.target) for other in others]
        assert (problem.task, problem.train_size) == ("regression", 25)
    assert "sorted by feature 1 " in low.description


def test_rows_of_equal_value_keep_their_order():
    X, y = toy(n_rows=300)
    X[:, 1] = np.round(X[:, 1] * 5)
    for problem in thirds(X, y, "toy"):
        rows = problem.X_target[:, -1].astype(int)
        value = X[rows, 1]
        assert (np.diff(rows)[np.diff(value) == 0] > 0).all()


def test_a_feature_of_few_values_is_not_sorted_by_however_well_it_correlates():
    few = np.tile(np.arange(20.0), 30)
    many, noise = np.random.default_rng(0).normal(size=(2, few.size))
    y = 0.4 * (few - few.mean()) / few.std() + 0.8 * many + 0.4 * noise
    assert "sorted by feature 1 " in thirds(np.column_stack([few, many]), y, "toy")[0].description
    few[0] = 20  # one value more makes it continuous
    assert "sorted by feature 0 " in thirds(np.column_stack([few, many]), y, "toy")[0].description
    with pytest.raises(ValueError, match="none of the 1 features has more than 20 distinct values"):
        thirds(few[1:, None], y[1:], "toy")


@pytest.mark.parametrize(
    ("name", "sizes", "n_features", "feature"),
    [
        ("diabetes", [148, 147, 147], 9, "s3"),
        ("housing", [169, 169, 168], 12, "CRIM"),
        ("autompg", [131, 131, 130], 6, "acceleration"),
    ],
)
def test_the_three_data_sets(name, sizes, n_features, feature):
    problems = load_thirds(name)
    assert [problem.y_target.size for problem in problems] == sizes
    for problem in problems:
        assert problem.X_target.shape[1] == n_features
        assert problem.y_target.size + problem.y_source.size == sum(sizes)
        assert np.isfinite(problem.stack()[0]).all()
        assert f"sorted by {feature} " in problem.description


def test_diabetes_is_cut_where_the_rule_says():
    bunch = load_diabetes()
    sizes = np.abs([np.corrcoef(column, bunch.target)[0, 1] for column in bunch.data.T])
    feature = np.argmin(np.abs(sizes - 0.4))
    low, _, high = load_thirds("diabetes")
    kept = np.delete(np.arange(10), feature)
    of_row = {tuple(row[kept]): row[feature] for row in bunch.data}
    assert max(of_row[tuple(row)] for row in low.X_target) <= np.quantile(bunch.data[:, feature], 0.34)
    assert min(of_row[tuple(row)] for row in high.X_target) >= np.quantile(bunch.data[:, feature], 0.66)


HEADER = ",".join((*_CONCRETE, "strength"))


def write_concrete(path, table, header=HEADER):
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in table.tolist())]) + "\n")


@pytest.fixture
def concrete(monkeypatch, tmp_path):
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path))
    return tmp_path / "uci/concrete.csv", np.random.default_rng(0).normal(size=(1030, 9)).round(3)


def test_concrete_is_read_as_it_was_written(concrete):
    path, table = concrete
    table[:, 4] += 0.4 * table[:, 8]
    write_concrete(path, table)
    problems = load_thirds("concrete")
    assert [problem.name for problem in problems] == ["concrete low", "concrete medium", "concrete high"]
    assert "sorted by superplasticizer " in problems[0].description
    X, y, _ = problems[0].stack()
    order = np.argsort(table[:, 4], kind="stable")
    np.testing.assert_array_equal(y, table[order, 8])
    np.testing.assert_array_equal(X, np.delete(table[order, :8], 4, axis=1))


def test_other_tables_are_refused(concrete):
    path, table = concrete
    write_concrete(path, table[:-1])
    with pytest.raises(ValueError, match=r"concrete\.csv holds 1029 rows below the header .* expected 1030 below"):
        load_thirds("concrete")
    write_concrete(path, table, header="a,b,c,d,e,f,g,h,i")
    with pytest.raises(ValueError, match="below the header 'a,b,c,d,e,f,g,h,i': expected 1030 below 'cement,slag,"):
        load_thirds("concrete")
    table[5, 5] = np.nan
    write_concrete(path, table)
    with pytest.raises(ValueError, match="numbers that are not finite"):
        load_thirds("concrete")
    for content in ("", "cement\n1,2\n3\n", "cement\none\n"):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"concrete\.csv cannot be read"):
            load_thirds("concrete")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"uci/concrete\.csv is not there.*archive\.ics\.uci\.edu"):
        load_thirds("concrete")


@pytest.mark.data
def test_the_published_concrete():
    problems = load_thirds("concrete")
    assert [problem.y_target.size for problem in problems] == [344, 343, 343]
    assert all("sorted by superplasticizer (correlation 0.37 " in problem.description for problem in problems)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="name is 'wine'"):
        load_thirds("wine")


def friedman(X, a, b, c):
    """The formula as printed in the paper, for one domain."""
    x = X.T
    return (
        a[0] * 10 * np.sin(np.pi * (b[0] * x[0] + c[0]) * (b[1] * x[1] + c[1]))
        + a[1] * 20 * (b[2] * x[2] + c[2] - 0.5) ** 2
        + a[2] * 10 * (b[3] * x[3] + c[3])
        + a[3] * 5 * (b[4] * x[4] + c[4])
    )


def test_friedman_sizes_and_ranges():
    problem = make_friedman_transfer()
    assert problem.X_target.shape == (600, 10)
    assert [X.shape for X, _ in problem.sources] == [(100, 10)] * 5
    assert (problem.task, problem.train_size) == ("regression", 25)
    X = problem.stack()[0]
    assert 0 <= X.min() < 0.01
    assert 0.99 < X.max() <= 1


def test_friedman_target_is_the_undistorted_function():
    X, y = make_friedman_transfer(noise=0).target
    np.testing.assert_allclose(y, friedman(X, np.ones(4), np.ones(5), np.zeros(5)))


def test_friedman_noise_is_standard_normal():
    noiseless, noisy = (
        make_friedman_transfer(n_target_rows=5000, noise=0),
        make_friedman_transfer(n_target_rows=5000),
    )
    np.testing.assert_array_equal(noisy.X_target, noiseless.X_target)
    residual = noisy.y_target - noiseless.y_target
    assert abs(residual.mean()) < 0.06
    assert abs(residual.std() - 1) < 0.05


def test_each_friedman_source_is_the_function_with_other_coefficients():
    problem = make_friedman_transfer(noise=0)
    start = np.r_[np.ones(9), np.zeros(5)]
    for X, y in problem.sources:

        def residual(z, X=X, y=y):
            return friedman(X, z[:4], z[4:9], z[9:]) - y

        assert np.abs(residual(start)).max() > 0.5
        fitted = least_squares(residual, start, xtol=1e-12, ftol=1e-12, gtol=1e-12)
        assert np.abs(fitted.fun).max() < 1e-4


def test_the_spread_of_the_coefficients():
    rng = np.random.default_rng(0)
    a, b, c = (np.array(draws) for draws in zip(*(_distortion(rng) for _ in range(4000)), strict=True))
    assert (a.shape[1], b.shape[1], c.shape[1]) == (4, 5, 5)
    for draws, mean, spread in ((a, 1, 0.1), (b, 1, 0.1), (c, 0, 0.05)):
        np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.01)
        np.testing.assert_allclose(draws.std(axis=0), spread, rtol=0.06)


def test_friedman_domains_do_not_depend_on_each_other():
    small, large = make_friedman_transfer(2, 10, 30), make_friedman_transfer(3, 10, 60)
    for (X, y), (other_X, other_y) in zip(small.sources, large.sources, strict=False):
        np.testing.assert_array_equal(X, other_X)
        np.testing.assert_array_equal(y, other_y)
    assert not np.array_equal(small.sources[0][0], small.sources[1][0])
    assert not np.array_equal(small.X_target, make_friedman_transfer(2, 10, 30, random_state=1).X_target)
