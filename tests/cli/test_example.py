import io
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("mlxtend")
pd = pytest.importorskip("pandas")

from gapmin.cli import example  # noqa: E402
from gapmin.datasets.examples import EXAMPLES, LITRES_PER_100_KM, cars, digits  # noqa: E402
from gapmin.study import compare_study, read_study, read_table  # noqa: E402
from gapmin_support.commands import invoke  # noqa: E402

FILES = {"README.txt", "europe.csv", "fleet.csv", "new-answers.csv", "new.csv", "target.csv", "usa.csv"}


def run(*arguments):
    return invoke([example], "example", *arguments)


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_the_files_are_written_and_named(tmp_path):
    folder = tmp_path / "made" / "cars"
    done = run(folder)
    assert done.exit_code == 0
    assert names(folder) == FILES
    assert f"{folder / 'target.csv'}  30 rows" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == f"  {cars().commands['compare']}"
    readme = (folder / "README.txt").read_text()
    for command in cars().commands.values():
        assert f"  {command}\n" in readme
    assert "30 Japanese cars" in readme


def test_the_whole_path_reads_them(tmp_path):
    run(tmp_path)
    sources = [tmp_path / name for name in ("europe.csv", "usa.csv", "fleet.csv")]
    study = read_study(tmp_path / "target.csv", sources, "mpg")
    assert study.schema.task == "regression"
    assert len(study.schema.columns) == 6
    assert len(study.notes) == 1, "nothing is dropped"
    new, notes = study.schema.conform(read_table(tmp_path / "new.csv").frame, "new.csv")
    answers = read_table(tmp_path / "new-answers.csv").frame
    assert len(new) == len(answers) == 49
    assert notes == ()


def test_every_car_is_in_one_file_with_its_own_numbers(tmp_path):
    """The files together are the data set, up to the units of the one that hurts."""
    from gapmin.datasets._mlxtend import mlxtend_data

    run(tmp_path)
    X, mpg = mlxtend_data("autompg_data")
    frames = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in ("target", "europe", "usa", "fleet", "new")}
    frames["new"]["mpg"] = pd.read_csv(tmp_path / "new-answers.csv")["mpg"]
    litres = frames["fleet"].pop("mpg")
    rows = np.concatenate([frame.iloc[:, :6].to_numpy() for frame in frames.values()])
    assert sorted(map(tuple, rows)) == sorted(map(tuple, X[:, :6]))
    known = np.concatenate([frame["mpg"] for frame in frames.values() if "mpg" in frame])
    back = LITRES_PER_100_KM / litres
    np.testing.assert_allclose(np.sort(np.concatenate([known, back])).mean(), mpg.mean(), atol=0.02)


def test_europe_helps_and_the_fleet_hurts(tmp_path):
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline

    from gapmin.study import preprocessor

    run(tmp_path)
    sources = [tmp_path / name for name in ("europe.csv", "usa.csv", "fleet.csv")]
    study = read_study(tmp_path / "target.csv", sources, "mpg")
    new = study.schema.conform(read_table(tmp_path / "new.csv").frame)[0]
    answers = read_table(tmp_path / "new-answers.csv").frame["mpg"]

    def error(*parts):
        model = make_pipeline(preprocessor(study.schema), RidgeCV(np.logspace(-2, 3, 11)))
        model.fit(pd.concat([X for X, _ in parts]), np.concatenate([y for _, y in parts]))
        return np.abs(model.predict(new) - answers).mean()

    alone = error(study.target)
    assert error(study.target, study.sources["fleet"]) > 2 * alone
    assert error(study.target, study.sources["europe"]) < 0.8 * alone


def test_files_that_are_there_are_kept(tmp_path):
    (tmp_path / "new.csv").write_text("mine")
    (tmp_path / "other.csv").write_text("mine too")
    done = run(tmp_path)
    assert done.exit_code == 2
    assert done.stderr == (
        f"gapmin example: {tmp_path} has new.csv already: name another folder, or add --force to replace\n"
    )
    assert names(tmp_path) == {"new.csv", "other.csv"}
    assert run(tmp_path, "--force").exit_code == 0
    assert (tmp_path / "new.csv").read_text().startswith("cylinders,")
    assert names(tmp_path) == FILES | {"other.csv"}
    assert (tmp_path / "other.csv").read_text() == "mine too"


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        done = run(place)
        assert done.exit_code == 2
        assert done.stderr.startswith(f"gapmin example: {place} cannot be written to (")
    (tmp_path / "new.csv").mkdir()
    done = run(tmp_path, "--force")
    assert (done.exit_code, done.stderr) == (
        2,
        f"gapmin example: {tmp_path / 'new.csv'} is a folder: remove it, or name another folder\n",
    )


def test_json_and_the_same_bytes_each_time(tmp_path):
    done = run(tmp_path / "a", "--json")
    said = json.loads(done.stdout)
    assert {file["path"] for file in said["files"]} == {str(tmp_path / "a" / name) for name in FILES}
    assert said["label"] == "mpg"
    assert said["next"] == cars().commands
    run(tmp_path / "b")
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_command_knows_every_example(tmp_path):
    assert set(example.STUDIES) == set(EXAMPLES)
    done = run(tmp_path, "--study", "digits", "--json")
    said = json.loads(done.stdout)
    assert {file["path"] for file in said["files"]} == {str(tmp_path / name) for name in digits().files}
    assert said["label"] == "parity"
    assert run(tmp_path / "digits").exit_code == 0
    assert names(tmp_path / "digits") == set(digits().files), "the study that is called as the folder"
    assert run(tmp_path / "digits", "--study", "cars", "--force").exit_code == 0
    assert names(tmp_path / "digits") > FILES
    refused = run(tmp_path / "other", "--study", "boats")
    assert (refused.exit_code, refused.stderr) == (2, "gapmin example: --study is boats: use cars or digits\n")


def test_the_digits_are_those_of_the_data_set_and_one_file_has_the_labels_swapped(tmp_path):
    from sklearn.datasets import load_digits

    run(tmp_path, "--study", "digits")
    names = ("target", "city", "branch", "new", "swapped")
    frames = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in names}
    frames["new"]["parity"] = pd.read_csv(tmp_path / "new-answers.csv")["parity"]
    X, y = load_digits(return_X_y=True)
    known = {tuple(x): "odd" if digit % 2 else "even" for x, digit in zip(X.tolist(), y, strict=True)}
    rows = [tuple(row) for frame in frames.values() for row in frame.iloc[:, :-1].to_numpy(dtype=float).tolist()]
    assert len(rows) == len(set(rows))
    for name, frame in frames.items():
        truth = [known[tuple(row)] for row in frame.iloc[:, :-1].to_numpy(dtype=float).tolist()]
        assert (frame["parity"] == truth).all() if name != "swapped" else (frame["parity"] != truth).all()
    assert frames["branch"]["parity"].value_counts().tolist() == [2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_one_office_helps_one_hurts_and_of_one_nothing_is_known(seed):
    made = digits(seed)
    tables = {name: pd.read_csv(io.StringIO(made.files[name])) for name in ("target.csv", *made.sources)}
    target = tables.pop("target.csv")
    found = compare_study(read_study(target, tables, made.label), quick=True, n_jobs=1)
    verdicts = {each.name: each.verdict for each in found.evidence.sources}
    assert verdicts == {
        "city.csv": "use",
        "swapped.csv": "leave out",
        "branch.csv": "not enough evidence",
    }
