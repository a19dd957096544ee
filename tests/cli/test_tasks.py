"""``gapmin tasks`` from a table to predictions of new rows, and tables that cannot be used."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pd = pytest.importorskip("pandas")
pytest.importorskip("skops")

from gapmin._utils.extras import how_to_install  # noqa: E402
from gapmin.cli import explain, predict, tasks  # noqa: E402
from gapmin.saved import ModelFileError, load_model, save_model  # noqa: E402
from gapmin.study import TableError, read_task_table, study_tasks, task_methods  # noqa: E402
from gapmin.study.task_methods import CHOSEN_METHOD, NETWORK, POOLED, SINGLE, Candidate, candidates, fit_tasks  # noqa: E402
from gapmin.study.task_model import TaskModel, load_predictor, network_file  # noqa: E402
from gapmin_support.commands import invoke  # noqa: E402


def run(*arguments):
    return invoke([tasks, predict, explain], *arguments, COLUMNS="160")


def table(n=40, seed=0):
    """Rows of four sites, named as numbers with a zero before; the last one has the other rule."""
    rng = np.random.default_rng(seed)
    site = np.repeat(["01", "02", "03", "10"], n)
    X = rng.normal(size=(4 * n, 4))
    score = X @ [2.0, 1.0, 0.5, 0.0] * np.where(site == "10", -1, 1) + rng.normal(size=4 * n)
    columns = {f"x{i}": X[:, i] for i in range(4)}
    return pd.DataFrame({"site": site, **columns, "score": score.round(3), "ill": np.where(score > 0, "yes", "no")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    table().to_csv(folder / "rows.csv", index=False)
    table(5, seed=1).to_csv(folder / "new.csv", index=False)
    return folder


@pytest.mark.parametrize(("label", "other"), [("score", "ill"), ("ill", "score")])
def test_from_a_table_to_predictions(label, other, folder):
    out, drawn = folder / f"{label}.skops", folder / f"{label}.png"
    asked = ["tasks", "--file", folder / "rows.csv", "--task", "site", "--label", label, "--drop", other]
    found = run(*asked, "--out", out, "--figure", drawn, "--no-network", "--jobs", 1)
    assert found.exit_code == 0, found.output
    for text in (SINGLE, POOLED, CHOSEN_METHOD, "01", "10", "the network is left out, as asked", "teacher", "Next:"):
        assert text in found.output
    assert drawn.read_bytes().startswith(b"\x89PNG")
    predicted = run("predict", out, folder / "new.csv", "--out", folder / "predicted.csv")
    assert predicted.exit_code == 0, predicted.output
    assert "checked on the 20 rows" in predicted.output
    rows = pd.read_csv(folder / "predicted.csv", dtype={"site": str})
    assert rows["site"].tolist()[:1] == ["01"]
    truth, guess = rows[label], rows[f"predicted_{label}"]
    error = np.mean(truth != guess) if label == "ill" else np.mean((truth - guess) ** 2) / np.var(truth)
    assert error < 0.4  # the site with the other rule is predicted its own way
    explained = run("explain", out)
    assert explained.exit_code == 0, explained.output
    decision = next(line for line in found.output.splitlines() if line.startswith("Train "))
    assert decision in explained.output
    assert "Held-out" in explained.output
    assert json.loads(run("explain", out, "--json").output)["decision"] == decision
    refused = run("explain", out, "--target", folder / "rows.csv", "--source", folder / "rows.csv")
    assert refused.exit_code == 2
    assert "was made by gapmin tasks: leave --target and --source out" in refused.output
    again = run(*asked, "--out", out, "--no-network", "--jobs", 1)
    assert again.exit_code == 2
    assert "is there already: name another file, or add --force" in again.output


def test_json_is_all_that_is_printed_and_says_every_pair(folder):
    asked = ["tasks", "--file", folder / "rows.csv", "--task", "site", "--label", "score", "--drop", "ill"]
    found = run(*asked, "--no-network", "--json", "--jobs", 1)
    assert found.exit_code == 0, found.output
    said = json.loads(found.output)
    assert {each["name"] for each in said["tasks"]} == {"01", "02", "03", "10"}
    assert len(said["affinity"]) == 4 * 3
    assert said["overall"]["scores"][POOLED]["value"] > said["overall"]["scores"][SINGLE]["value"]
    gains = {(each["task"], each["teacher"]): each["gain"] for each in said["affinity"]}
    assert all(gains["01", other] > gains["01", "10"] for other in ("02", "03"))


def test_results_do_not_depend_on_processes():
    rows = read_task_table(table(20).drop(columns="ill"), "site", "score")
    one, two = (study_tasks(rows, network=False, n_jobs=n, random_state=3) for n in (1, 2))
    assert one.to_dict() == two.to_dict()
    assert np.array_equal(one.model.coef, two.model.coef)


def test_figures_are_of_rows_that_did_not_train(monkeypatch):
    rows = read_task_table(table(20).drop(columns="ill"), "site", "score")
    seen = []
    fit = task_methods.fit_tasks

    def watched(candidate, X, y, task, classes, seed):
        seen.append(len(y))
        return fit(candidate, X, y, task, classes, seed)

    monkeypatch.setattr("gapmin.study.task_study.fit_tasks", watched)
    study_tasks(rows, network=False, n_jobs=1)
    assert set(seen[:-1]) == {64}  # four fifths
    assert seen[-1] == 80


def test_tasks_may_have_fewer_rows_of_a_class_than_there_are_folds():
    rows = read_task_table(table(5).drop(columns="score"), "site", "ill")
    counts = pd.crosstab(rows.task, rows.y).to_numpy()
    assert counts.max() < 5
    assert study_tasks(rows, network=False, n_jobs=1).overall.n_rows == counts.sum()


def study_of(coefficients, seed=0, n=25):
    """Three tasks of two columns with these coefficients, and noise as large."""
    rng = np.random.default_rng(seed)
    X, site = rng.normal(size=(3 * n, 2)), np.repeat([0, 1, 2], n)
    score = np.einsum("ij,ij->i", X, np.asarray(coefficients)[site]) + rng.normal(size=3 * n)
    columns = {"site": [f"s{each}" for each in site], "x0": X[:, 0], "x1": X[:, 1], "score": score}
    return study_tasks(read_task_table(pd.DataFrame(columns), "site", "score"), network=False, n_jobs=1)


def test_each_task_alone_is_kept_unless_held_out_rows_say_that_training_together_helps():
    same = study_of(np.ones((3, 2)), n=8)
    assert same.loss_change.high < 0
    assert same.method == same.lowest
    assert same.decision().startswith(
        f"Train the tasks together, by {same.method.method}: where the other folds choose the method, the held-out mean"
    )
    near = study_of(np.array([[1.0, 0.5], [0.8, 0.5], [1.0, 0.8]]))
    assert near.lowest.method != SINGLE
    assert near.loss_change.high >= 0
    assert near.method.method == SINGLE
    assert near.decision().startswith(
        "Train each task alone: no evidence that training together helps. The lowest held-out mean squared error is "
        f"that of {near.lowest.method}, but where the other folds choose the method, it changes by "
        f"{near.loss_change.value:+.3g} "
    )


# The methods


@pytest.mark.parametrize("classes", [False, True])
def test_single_and_pooled_are_what_they_say(classes):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(60, 3)), np.repeat(["a", "b"], [20, 40])
    y = (X[:, 0] > 0).astype(float) if classes else X[:, 0] + 0.1 * rng.normal(size=60)
    settings = (("lam", 0.01),)
    single = fit_tasks(Candidate(SINGLE, settings), X, y, task, classes, 0)
    moved = y.copy()
    moved[20:] = moved[20:][::-1]
    other = fit_tasks(Candidate(SINGLE, settings), X, moved, task, classes, 0)
    np.testing.assert_allclose(single.coef[0], other.coef[0], atol=1e-5)  # b's labels do not matter to a
    pooled = fit_tasks(Candidate(POOLED, settings), X, y, task, classes, 0)
    one = fit_tasks(Candidate(POOLED, settings), X, y, np.array(["a", "b"] * 30), classes, 0)
    np.testing.assert_allclose(pooled.coef[0], pooled.coef[1], atol=1e-6)
    np.testing.assert_allclose(pooled.coef[0], one.coef[0], atol=1e-5)  # however the rows are divided


def test_without_pytorch_the_network_is_left_out_and_it_says_so(monkeypatch):
    monkeypatch.setattr(task_methods, "find_spec", lambda name: None)
    notes = []
    assert NETWORK not in {each.method for each in candidates(3, network=True, notes=notes)}
    assert notes == [f"the network is left out: it needs PyTorch: {how_to_install('deep')}"]


def test_a_network_is_kept_beside_the_model(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(task_methods, "_NETWORK_STEPS", 4)
    monkeypatch.setattr(
        "gapmin.study.task_study.candidates", lambda *_, **__: [Candidate(SINGLE, (("lam", 0.1),)), Candidate(NETWORK)]
    )
    monkeypatch.setattr("gapmin.study.task_study.N_FOLDS", 2)
    rows = read_task_table(table(12).drop(columns="score"), "site", "ill")
    found = study_tasks(rows, n_jobs=1)
    X = np.asarray(found.prepare.transform(rows.X), dtype=float)
    network = fit_tasks(Candidate(NETWORK), X, np.asarray(rows.y == "yes", dtype=float), rows.task, True, 0)
    model = TaskModel.of_study(found)
    object.__setattr__(model.pipeline, "model", network)
    path = model.save(tmp_path / "model.skops")
    again = load_predictor(path)
    new = table(4, seed=2)
    assert np.array_equal(again.predict(new), model.predict(new))
    network_file(path).write_bytes(network_file(path).read_bytes() + b" ")
    with pytest.raises(ModelFileError, match="is not the network that it was written with"):
        load_predictor(path)
    network_file(path).unlink()
    with pytest.raises(ModelFileError, match=r"its network is not in model\.skops\.network beside it"):
        load_predictor(path)


# What cannot be used


def small(**columns):
    return table(8).drop(columns="ill").assign(**columns)


HOSTILE = {
    "a task for each row": ({"site": [f"s{i}" for i in range(32)]}, "32 tasks in 32 rows, none with 5 rows"),
    "one task": ({"site": "a"}, "has one task \\('a'\\) in column 'site'"),
    "no task": ({"site": None}, "every row has no task in column 'site'"),
    "no label": ({"score": np.nan}, "every row has no label in column 'score'"),
    "three classes": ({"score": ["a", "b", "c", "a"] * 8}, "has 3 classes in column 'score'"),
    "one class": ({"score": "a"}, "one class"),
    "one class in each task": ({"score": np.repeat(["a", "b"], 16)}, "has 0 tasks that can be learnt"),
    "nothing to predict from": ({f"x{i}": 1.0 for i in range(4)}, "no column is left"),
    "long labels in fractions": ({"score": ["a"] + [0.5] * 31}, "use (kind='classification'|--kind classification)"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_tables_that_cannot_be_used_are_refused_in_one_line(name, tmp_path):
    columns, message = HOSTILE[name]
    with pytest.raises(TableError, match=message):
        read_task_table(small(**columns), "site", "score")
    small(**columns).to_csv(tmp_path / "rows.csv", index=False)
    found = run("tasks", "--file", tmp_path / "rows.csv", "--task", "site", "--label", "score")
    assert found.exit_code == 2
    assert len(found.output.strip().splitlines()) == 1


def test_a_table_of_label_and_task_alone_has_nothing_to_predict_from():
    with pytest.raises(TableError, match="predict 'score' from: there is none beside label and task; keep or add one"):
        read_task_table(small()[["site", "score"]], "site", "score")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"given": 3}, "int is no table: give the path of a file"),
        ({"drop": "x0"}, r"drop is 'x0': give a list, such as \['x0'\]"),
        ({"drop": ["x0"], "keep": ["x0"]}, "'x0' is to be kept and to be dropped"),
        ({"kind": "classification"}, "has fractional labels such as .* use kind='regression'"),
    ],
)
def test_what_python_asks_for_is_checked(given, message):
    with pytest.raises(TableError, match=message):
        read_task_table(**{"given": small(), "task_column": "site", "label": "score"} | given)


def test_the_kind_is_called_as_it_is_given():
    (note,) = [each for each in read_task_table(small(), "site", "score").notes if "overrides" in each]
    assert note.startswith("the kind is regression, because the labels have fractions")
    assert note.endswith("(kind= overrides)")


def test_a_file_that_a_network_would_replace_is_refused_first(folder, tmp_path):
    (tmp_path / "m.skops.network").write_text("mine")
    asked = [
        "tasks",
        "--file",
        folder / "rows.csv",
        "--task",
        "site",
        "--label",
        "score",
        "--out",
        tmp_path / "m.skops",
    ]
    found = run(*asked, "--jobs", 1)
    assert found.exit_code == 2
    assert "m.skops.network is there already: name another file, or add --force" in found.output
    assert (tmp_path / "m.skops.network").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "classification"], "use --kind regression, or put the labels in classes first"),
        (["--task", "sit"], "has no column 'sit' for the tasks"),
        (["--label", "scor"], "has no column 'scor' for the label"),
        (["--label", "site"], "is both the label and the task"),
        (["--drop", "site"], "is also to be dropped"),
        (["--drop", "x9"], "'x9', which was named, is not in"),
        (["--kind", "ranking"], "use classification or regression"),
        (["--jobs", "0"], "--jobs is 0"),
        (["--figure", "picture.gif"], r"ends in .png"),
        (["--file", "gone.csv"], "is not there"),
    ],
)
def test_options_that_are_wrong_are_named(arguments, message, folder):
    asked = {"--file": folder / "rows.csv", "--task": "site", "--label": "score"}
    given = [part for option, value in asked.items() if option != arguments[0] for part in (option, value)]
    found = run("tasks", *given, *arguments)
    assert found.exit_code == 2
    assert message in found.output


def test_small_tasks_rows_without_label_and_lopsided_tasks_are_left_out_and_named():
    rows = table(10).drop(columns="score")
    rows.loc[len(rows)] = ["lone", 0.0, 0.0, 0.0, 0.0, "yes"]
    rows.loc[rows["site"] == "02", "ill"] = "yes"
    rows.loc[0, "ill"] = None
    rows.loc[11, "site"] = None
    found = read_task_table(rows, "site", "ill")
    assert sorted(set(found.task)) == ["01", "03", "10"]
    notes = "\n".join(found.notes)
    for text in (
        "dropped 1 of 41 rows, which have no label",
        "dropped 1 of 40 rows, which have no task",
        "('lone')",
        "('02')",
    ):
        assert text in notes


def test_new_rows_of_unknown_or_missing_tasks_are_refused(folder, tmp_path):
    rows = read_task_table(table(12).drop(columns="ill"), "site", "score")
    model = TaskModel.of_study(study_tasks(rows, network=False, n_jobs=1))
    path = model.save(tmp_path / "model.skops")
    for value, message in (("99", "the unknown task '99' in row 2"), (None, "has no task in column 'site' of row 2")):
        new = table(1)
        new.loc[1, "site"] = value
        new.to_csv(tmp_path / "new.csv", index=False)
        found = run("predict", path, tmp_path / "new.csv")
        assert found.exit_code == 2
        assert message in found.output
    saved = load_model(path)
    for change in ({"coef": [[1.0]]}, {"tasks": ["b", "a"]}, {"level": "0"}, {"network": "0" * 64}, {"unit": None}):
        about = saved.about | {"task_model": saved.about["task_model"] | change}
        save_model(saved.model, tmp_path / "other.skops", schema=saved.schema, about=about)
        with pytest.raises(ModelFileError, match="make it again with gapmin tasks"):
            load_predictor(tmp_path / "other.skops")
