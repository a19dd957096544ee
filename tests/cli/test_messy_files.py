"""Files as people have them, from the command line: a workbook, dates, free text, marks and codes of missing values."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pd = pytest.importorskip("pandas")
pytest.importorskip("skops")
openpyxl = pytest.importorskip("openpyxl")

from gapmin.cli import compare, explain, fit, predict  # noqa: E402
from gapmin.study import read_study  # noqa: E402
from gapmin.study.model import StudyModel  # noqa: E402
from gapmin_support.commands import invoke  # noqa: E402

N_TARGET, N_SOURCE = 16, 40


def run(*arguments):
    return invoke([compare, fit, predict, explain], *arguments, COLUMNS="200")


def flats(seed, n, site):
    rng = np.random.default_rng(seed)
    size = rng.uniform(30, 120, size=n).round(1)
    view = rng.random(n) < 0.5
    floor = rng.integers(0, 9, size=n).astype(object)
    floor[:2], floor[2:4] = "?", "k.A."
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, size=n), unit="D")
    text = [f"flat number {k} with {'a view' if each else 'no lift'}" for k, each in enumerate(view)]
    return pd.DataFrame(
        {
            "site": site,
            "row": range(1, n + 1),
            "size": size,
            "floor": floor,
            "listed": days.strftime("%d.%m.%Y"),
            "text": text,
            "rent": (9 * size + 200 * view + rng.normal(size=n)).round(2),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messy")
    target = flats(0, N_TARGET, "ulm")
    book = openpyxl.Workbook()
    for row in [list(target.columns), *target.to_numpy(dtype=object).tolist()]:
        book.active.append(row)
    book.save(folder / "target.xlsx")
    flats(1, N_SOURCE, "bonn").to_csv(folder / "old.csv", index=False, sep=";", decimal=",")
    flats(2, 10, "ulm").drop(columns=["rent", "row"]).to_csv(folder / "new.csv", index=False)
    return folder


def options(files):
    study = ("--target", files / "target.xlsx", "--source", files / "old.csv", "--label", "rent", "--jobs", 1)
    return (*study, "--na", "k.A.", "--keep", "site")


def test_what_is_not_right_is_one_line_before_any_work(files):
    done = run("compare", *options(files), "--keep", "sit")
    assert done.exit_code != 0
    assert "column 'sit', which is to be kept, is in none of the files; did you mean 'site'?" in done.stderr


def test_a_model_of_messy_files_predicts_and_explains(files):
    out = files / "model.skops"
    done = run("fit", *options(files), "-o", out, "--json")
    assert done.exit_code == 0, done.output
    made = json.loads(done.stdout)
    kinds = {column["name"]: column["kind"] for column in made["columns"]}
    assert kinds == {"site": "category", "size": "number", "floor": "number", "listed": "date", "text": "text"}
    assert made["asked"]["na"] == ["k.A."]
    notes = " | ".join(made["notes"])
    assert "dropped column 'row': which count the rows" in notes
    assert "'?' in column 'floor', among numbers or dates: taken as missing" in notes

    model = StudyModel.load(out)
    assert model.schema.missing == ("k.a.",)
    predicted = run("predict", out, files / "new.csv", "--json")
    assert predicted.exit_code == 0, predicted.output
    content = json.loads(predicted.stdout)
    new = pd.read_csv(files / "new.csv")
    np.testing.assert_allclose(content["predictions"]["predicted_rent"], model.predict(new))

    told = run("explain", out, "--target", files / "target.xlsx", "--source", files / "old.csv", "--by", "floor")
    assert told.exit_code == 0, told.output
    assert "floor" in told.stdout


def test_the_report_says_how_the_files_were_read(files, tmp_path):
    out = tmp_path / "report.html"
    done = run("compare", *options(files), "--quick", "--no-text", "--report", out)
    assert done.exit_code == 0, done.output
    text = out.read_text()
    assert "--na k.A. --keep site --no-text" in text
    assert "na=[&#39;k.A.&#39;]" in text
    assert "text=False" in text
    assert "with free text: as asked" in text


def test_messages_name_options_as_they_are_typed_here_and_as_parameters_in_python(files):
    done = run("compare", *options(files)[:8], "--quick")
    assert "--keep uses one" in done.stdout or "--no-text" in done.stdout
    assert "(--task overrides)" in done.stdout
    notes = read_study(files / "target.xlsx", [files / "old.csv"], "rent").notes
    assert any("(task= overrides)" in note for note in notes)
    assert not [note for note in notes if "--" in note]
