"""``gapmin fit``, ``predict`` and ``explain`` on files made here; test_fit_processes.py has them as processes."""

import dataclasses
import gzip
import hashlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

pytest.importorskip("typer")
pd = pytest.importorskip("pandas")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")

from sklearn.pipeline import Pipeline  # noqa: E402

from gapmin import GapBoostClassifier, TransferClassifierCV  # noqa: E402
from gapmin.cli import explain, fit, predict  # noqa: E402
from gapmin.cli._printing import domain_table, print_json  # noqa: E402
from gapmin.saved import ModelFileError, load_model, save_model  # noqa: E402
from gapmin.saved._archive import pack  # noqa: E402
from gapmin.study import answer, preprocessor, read_study, read_table  # noqa: E402
from gapmin.study.model import StudyFile, StudyModel, with_file_rows  # noqa: E402
from gapmin.transfer import explain as explain_rows  # noqa: E402
from gapmin_support.checks import repeats  # noqa: E402
from gapmin_support.commands import invoke  # noqa: E402

YES, NO = "<script>yes</script>", "[red]no[/red]"
COLOUR, LABEL = "colour [bold]", "<b>kind</b>"


def run(*arguments):
    return invoke([fit, predict, explain], *arguments, COLUMNS="200")


def table(seed, n, *, regression=False, shift=0.0):
    """Rows with a number, a truth, a category, gaps, ids with leading zeros, and a label of known rule."""
    rng = np.random.default_rng(seed)
    size, garden = rng.normal(size=n), rng.random(n) < 0.5
    colour = rng.choice(["red", "green", "[blue]"], n).astype(object)
    score = 2 * size + 1.5 * (colour == "red") + garden + shift + 0.3 * rng.normal(size=n)
    label = np.round(10 + score, 3) if regression else np.where(score > 1, YES, NO)
    size[rng.random(n) < 0.1], colour[rng.random(n) < 0.1] = np.nan, None
    ids = [f"{k:04d}" for k in range(n)]
    return pd.DataFrame({"id": ids, "size": size, COLOUR: colour, "garden": garden, LABEL: label})


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    for name, seed, n, shift in (
        ("t", 0, 24, 0.0),
        ("a [red]", 1, 60, 0.0),
        ("<script>b", 2, 50, 4.0),
        ("new", 3, 15, 0),
    ):
        table(seed, n, shift=shift).to_csv(folder / f"{name}.csv", index=False)
    source = table(1, 61, regression=True)
    source.loc[0, LABEL] = np.nan
    source.to_parquet(folder / "old.parquet")
    table(0, 20, regression=True).to_csv(folder / "rt.csv", index=False)
    table(3, 15, regression=True).to_csv(folder / "rnew.csv", index=False)
    return folder


def options(files):
    sources = ("--source", files / "a [red].csv", "--source", files / "<script>b.csv")
    return ("--target", files / "t.csv", *sources, "--label", LABEL, "--drop", "id", "--jobs", 1)


@pytest.fixture(scope="session")
def fitted(files):
    """The classification, fitted once: the model's file, and what the command said."""
    out = files / "model.skops"
    return out, run("fit", *options(files), "-o", out)


@pytest.fixture(scope="session")
def regression(files):
    out = files / "regression.skops"
    study = ("--target", files / "rt.csv", "--source", files / "old.parquet", "--label", LABEL, "--jobs", 1)
    return out, run("fit", *study, "-o", out, "--json")


def refused(done, command):
    """One line on standard error, nothing on standard output."""
    assert done.exit_code == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"gapmin {command}: ")
    return line


def predictions(*arguments):
    done = run("predict", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_a_fit_says_what_was_read_and_what_came_of_it(fitted, files):
    out, done = fitted
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"target  {files / 't.csv'}  24 rows"
    assert lines[2] == f"source  {files / '<script>b.csv'}  50 rows"
    assert "note: dropped column 'id': as asked" in lines
    assert f"Predicting {LABEL} from 3 columns (1 number, 1 boolean, 1 category) ..." in lines
    model = StudyModel.load(out)
    assert model.evidence.decision(worse=False) in lines
    alone = model.evidence.hypotheses[0].scores["error rate"].value
    assert f"{100 * alone:.1f}%" in next(line for line in lines if line.startswith("target alone"))
    weights = {
        line.split("  ")[0]: line.split()
        for line in lines[lines.index("What the model trains on: the target and its 2 sources") :]
        if line.startswith(("t (target)", "a [red]", "<script>b"))
    }
    assert list(weights) == ["t (target)", "a [red]", "<script>b"]
    assert weights["<script>b"][1] == "50"


def test_a_target_that_corrects_models_of_the_sources_is_not_said_to_be_dropped(fitted):
    """Its rows train none of the models, and are still what these are corrected by."""
    model = StudyModel.load(fitted[0])
    (alone, *others) = model.evidence.hypotheses

    def notes(form, weight):
        changed = [dataclasses.replace(each, chosen={"forest": f"Tree(){form}"}, weight=weight) for each in others]
        made = dataclasses.replace(model.evidence, hypotheses=(alone, *changed))
        shown = dataclasses.replace(model, evidence=made)
        return [str(each) for each in domain_table(shown, model.explanation.sources).notes]

    (said,) = notes(", recalibrated", 0.3)
    assert "corrected by the target's rows" in said
    assert notes(", half", 0.3) == notes(", recalibrated", 1e-6) == []


def test_a_model_remembers_how_it_was_made(fitted, files):
    model = StudyModel.load(fitted[0])
    digest = hashlib.sha256((files / "<script>b.csv").read_bytes()).hexdigest()
    assert model.files[2] == StudyFile("source", "<script>b", "<script>b.csv", 50, digest)
    read = {"task": None, "drop": ["id"], "na": [], "keep": [], "text": True}
    assert model.asked == {**read, "seed": 0, "scoring": None, "group": None, "time": None}
    evidence = model.pipeline["model"].evidence_
    assert [each.weight for each in model.evidence.hypotheses] == [each.weight for each in evidence.hypotheses]
    assert [each.name for each in model.evidence.sources] == model.source_names
    weights = [group.share_of_weight for group in model.explanation.sources]
    np.testing.assert_allclose(weights, list(model.pipeline["model"].domain_weight_.values()))
    assert str(files) not in json.dumps(model.about()), "folders are nobody else's concern"


@pytest.mark.slow
def test_it_is_the_pipeline_that_a_user_would_write(fitted, files):
    """Prepared and fitted step by step to save memory, with the same result as `Pipeline.fit`."""
    sources = [files / "a [red].csv", files / "<script>b.csv"]
    study = read_study(files / "t.csv", sources, LABEL, drop=["id"])
    X, y, sample_domain = study.stack()
    model = TransferClassifierCV(aligned=True, random_state=0)
    plain = Pipeline([("prepare", preprocessor(study.schema)), ("model", model)])
    plain.fit(X, y, model__sample_domain=sample_domain)
    ours = StudyModel.load(fitted[0]).pipeline
    np.testing.assert_array_equal(plain.predict_proba(X), ours.predict_proba(X))


def test_many_rows_are_prepared_by_some_of_them(files, monkeypatch):
    """In blocks, each row as the fitted steps have it; the target's rows are always among those fitted to."""
    monkeypatch.setattr(answer, "_ROWS_AT_ONCE", 7)
    study = read_study(files / "t.csv", [files / "a [red].csv", files / "<script>b.csv"], LABEL, drop=["id"])
    X, _, sample_domain = study.stack()
    prepare, matrix = answer.prepared(study.schema, X, sample_domain < 0, 0)
    np.testing.assert_array_equal(matrix, preprocessor(study.schema).fit_transform(X))
    some, fewer = answer.prepared(study.schema, X, sample_domain < 0, 0, at_most=40)
    np.testing.assert_array_equal(fewer, some.transform(X))
    counts = [each.named_transformers_["number"][-1].n_samples_seen_ for each in (prepare, some)]
    assert counts == [134, 24 + 40]


def test_a_file_holds_the_weight_of_each_row_once(fitted):
    n_rows = 24 + 60 + 50
    with zipfile.ZipFile(fitted[0]) as archive:
        arrays = [
            np.load(io.BytesIO(archive.read(n)), allow_pickle=False) for n in archive.namelist() if n[-3:] == "npy"
        ]
    assert [array.shape for array in arrays if array.shape[:1] == (n_rows,)] == [(n_rows,)]


def test_json_of_a_fit_is_one_object(regression):
    out, done = regression
    said = json.loads(done.stdout)
    assert (said["task"], said["classes"], said["model"]) == ("regression", None, str(out))
    assert [each["n_rows"] for each in said["files"]] == [20, 60]
    assert said["evidence"]["hypotheses"][0]["scores"]["root mean squared error"]["value"] > 0
    assert "old.parquet: dropped 1 of 61 rows, which have no label" in said["notes"], "without its folder"
    assert {each["name"] for each in said["explanation"]["sources"]} == {"rt", "old"}


def test_predictions_stand_beside_the_rows_as_they_were_written(fitted, files, tmp_path):
    out = tmp_path / "out.csv"
    done = run("predict", fitted[0], files / "new.csv", "-o", out, "--proba")
    assert done.exit_code == 0
    given = (files / "new.csv").read_text().splitlines()
    made = out.read_text().splitlines()
    assert all(line.startswith(f"{start},") for line, start in zip(made, given, strict=True)), "007 stays 007"
    assert made[0].split(",")[-3:] == [f"predicted_{LABEL}", f"probability_{YES}", f"probability_{NO}"]
    table = read_table(out).frame
    likely = np.where(table[f"probability_{YES}"] > table[f"probability_{NO}"], YES, NO)
    assert table[f"predicted_{LABEL}"].tolist() == likely.tolist()
    np.testing.assert_allclose(table[f"probability_{YES}"] + table[f"probability_{NO}"], 1)
    wrong = int((table[f"predicted_{LABEL}"] != table[LABEL]).sum())
    checked = f"checked on the 15 rows whose {LABEL} is in {files / 'new.csv'}: {wrong} wrong, {100 * wrong / 15:.1f}%"
    assert checked in done.stdout.splitlines()
    note = f"note: {files / 'new.csv'} has 1 column that the model does not use: 'id'"
    assert note in done.stdout.splitlines()
    assert wrong <= 4


def test_only_a_row_itself_decides_its_prediction(fitted, regression, files, tmp_path):
    """Not the order of rows or columns, not other columns, not the label."""
    for model, name in ((fitted[0], "new.csv"), (regression[0], "rnew.csv")):
        whole = predictions(model, files / name)
        frame = read_table(files / name).frame
        order = np.random.default_rng(0).permutation(len(frame))
        shuffled = frame.iloc[order, ::-1].drop(columns=LABEL).assign(more=1)
        shuffled.to_csv(tmp_path / name, index=False)
        other = predictions(model, tmp_path / name)
        key = f"predicted_{LABEL}"
        one, two = np.array(whole["predictions"][key])[order], np.array(other["predictions"][key])
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, two, rtol=1e-12)
        else:
            np.testing.assert_array_equal(one, two)
        assert other["check"] is None
        assert whole["check"]["n_rows"] == 15
        assert any("'more'" in note for note in other["notes"])


def test_the_error_on_known_labels_is_that_of_the_labels(regression, files, tmp_path):
    frame = read_table(files / "rnew.csv").frame
    frame.loc[:4, LABEL] = np.nan
    frame.to_csv(tmp_path / "part.csv", index=False)
    said = predictions(regression[0], tmp_path / "part.csv")
    off = np.array(said["predictions"][f"predicted_{LABEL}"])[5:] - frame[LABEL].to_numpy()[5:]
    assert said["check"]["n_rows"] == 10
    assert said["check"]["root_mean_squared_error"] == pytest.approx(np.sqrt(np.mean(off**2)))
    assert said["check"]["mean_absolute_error"] == pytest.approx(np.mean(np.abs(off)))


def test_an_error_on_a_file_of_the_model_is_said_to_be_too_low(regression, files):
    for name, is_of_model in (("rt.csv", True), ("rnew.csv", False)):
        said = predictions(regression[0], files / name)
        assert said["check"]["n_rows"] > 0
        assert any("the model was made with" in note and "too low" in note for note in said["notes"]) == is_of_model


def test_codes_among_the_labels_of_a_new_file_are_no_labels(regression, files, tmp_path):
    frame = read_table(files / "rnew.csv").frame
    frame.loc[:3, LABEL] = -999
    frame.to_csv(tmp_path / "coded.csv", index=False)
    said = predictions(regression[0], tmp_path / "coded.csv")
    assert said["check"]["n_rows"] == 11
    assert said["check"]["root_mean_squared_error"] < 10
    assert any("'-999' in the label" in note for note in said["notes"])


@pytest.mark.parametrize("name", ["out.csv.gz", "out.parquet", *repeats(["out.tsv", "out.PQ"])])
def test_the_ending_says_how_to_write(fitted, files, tmp_path, name):
    out = tmp_path / name
    assert run("predict", fitted[0], files / "new.csv", "-o", out).exit_code == 0
    made = pd.read_parquet(out) if name.lower().endswith(("parquet", "pq")) else read_table(out).frame
    wanted = predictions(fitted[0], files / "new.csv")["predictions"][f"predicted_{LABEL}"]
    assert made[f"predicted_{LABEL}"].tolist() == wanted
    assert len(made.columns) == 6
    assert [path.name for path in tmp_path.iterdir()] == [name]
    if name.endswith("tsv"):
        assert out.read_text().startswith("id\tsize\t")


def test_without_a_place_predictions_are_printed_alone(fitted, files, tmp_path):
    out = tmp_path / "out.csv"
    run("predict", fitted[0], files / "new.csv", "-o", out)
    for place in ([], ["-o", "-"]):
        done = run("predict", fitted[0], files / "new.csv", *place)
        assert done.stdout == out.read_text()
        assert "does not use: 'id'" in done.stderr


def test_cells_of_other_ways_of_writing(regression, tmp_path):
    """Semicolons, decimal commas, words that pandas takes for gaps, quotes, and a name that is taken."""
    text = f'id;size;{COLOUR};garden;predicted_{LABEL};note\n007;1,5;red;true;x;NA\n\n008;-0,5;NULL;false;y;"a;b"\n'
    (tmp_path / "new.csv").write_text(text)
    done = run("predict", regression[0], tmp_path / "new.csv")
    assert done.exit_code == 0
    made = [line.rsplit(",", 1)[0] for line in done.stdout.splitlines()]
    assert made[1:] == ["007,1.5,red,true,x,NA", "008,-0.5,NULL,false,y,a;b"]
    assert done.stdout.splitlines()[0].endswith(f",predicted_{LABEL}_2")


def test_a_row_without_any_value_gets_a_prediction(fitted, tmp_path):
    (tmp_path / "new.csv").write_text(f"size,{COLOUR},garden\n,,\n1,red,true\n")
    said = predictions(fitted[0], tmp_path / "new.csv", "--proba")
    assert said["rows"] == 2
    assert set(said["predictions"][f"predicted_{LABEL}"]) <= {YES, NO}
    assert np.isfinite(said["predictions"][f"probability_{YES}"]).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"size,{COLOUR}\n1,red\n", "lacks column 'garden', which the model was made with"),
        (
            f"size,{COLOUR},garden\nbig,red,true\nsmall,red,true\n",
            "has 'big' at row 1 below the header in column 'size'",
        ),
        (f"size,{COLOUR},garden\n1,red,perhaps\n", "where the model expects true or false"),
        (f"size,{COLOUR},garden\n", "has a header but no rows"),
        ("", "is empty"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_is_written(fitted, tmp_path, text, said):
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    new.write_text(text)
    assert said in refused(run("predict", fitted[0], new, "-o", out), "predict")
    assert not out.exists()


def test_places_that_cannot_be_written_are_refused_first(fitted, regression, files, tmp_path):
    new = files / "new.csv"
    before = new.read_bytes()
    assert "which is read" in refused(run("predict", fitted[0], new, "-o", new), "predict")
    assert "ends in one of" in refused(run("predict", fitted[0], new, "-o", tmp_path / "out.xlsx"), "predict")
    assert "no folder" in refused(run("predict", "no.skops", new, "-o", tmp_path / "no" / "out.csv"), "predict")
    assert "leave it out" in refused(run("predict", regression[0], new, "--proba"), "predict")
    assert new.read_bytes() == before


def test_a_fit_is_refused_before_any_work(fitted, files, tmp_path):
    out, _ = fitted
    before = out.read_bytes()
    assert "is there already" in refused(run("fit", *options(files), "-o", out), "fit")
    assert out.read_bytes() == before
    target = files / "t.csv"
    assert "which is read" in refused(run("fit", *options(files), "-o", target, "--force"), "fit")
    missing = ("--target", "no.csv", "--source", "no.csv", "--label", "y")
    for place, said in ((tmp_path, "a folder"), (tmp_path / "no" / "model.skops", "there is no folder")):
        assert said in refused(run("fit", *missing, "-o", place), "fit"), "before the files are looked at"
    place = tmp_path / "model.skops"
    assert "take at least 1" in refused(run("fit", *missing, "-o", place, "--jobs", 0), "fit")
    assert "--seed is -1" in refused(run("fit", *missing, "-o", place, "--seed", -1), "fit")
    assert "use classification or regression" in refused(run("fit", *options(files), "-o", place, "--task", "x"), "fit")
    wrong = ("--target", files / "t.csv", "--source", files / "new.csv", "--label", "no\nsuch")
    assert "has no column 'no\\nsuch' for the label" in refused(run("fit", *wrong, "-o", place), "fit")
    strange = ("--target", tmp_path / "a\n\x1b[31m.csv", "--source", target, "--label", LABEL)
    assert "/a\\n\\x1b[31m.csv is not there" in refused(run("fit", *strange, "-o", place), "fit")
    assert list(tmp_path.iterdir()) == []


def test_a_stored_explanation_is_shown(fitted):
    done = run("explain", fitted[0])
    assert done.exit_code == 0
    model = StudyModel.load(fitted[0])
    lines = done.stdout.splitlines()
    assert lines[0] == model.evidence.decision(worse=False)
    assert f"Rows of the sources by {LABEL}" in lines
    assert {line.split("  ")[0] for line in lines} >= {YES, NO, "t (target)", "a [red]", "<script>b"}


def test_weights_by_column_are_those_of_the_rows(fitted, files):
    """In any order of the sources; by a column that the model does not have too."""
    sources = ("--source", files / "<script>b.csv", "--source", files / "a [red].csv")
    by = ("--by", COLOUR, "--by", "garden", "--by", "id", "--by", "size")
    done = run("explain", fitted[0], "--target", files / "t.csv", *sources, *by, "--json")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    stored = StudyModel.load(fitted[0])
    assert said["sources"] == stored.explanation.to_dict()["sources"]
    frames = [read_table(files / name).frame for name in ("a [red].csv", "<script>b.csv")]
    weight = stored.pipeline["model"].sample_weight_[24:]
    together = pd.concat(frames, ignore_index=True).assign(
        weight=weight / stored.pipeline["model"].sample_weight_.sum()
    )
    found = {(each["column"], each["name"]): each for each in said["columns"]}
    for colour, rows in together.groupby(COLOUR):
        assert found[COLOUR, colour]["n_rows"] == len(rows)
        assert found[COLOUR, colour]["share_of_weight"] == pytest.approx(rows["weight"].sum())
    assert found[COLOUR, "missing"]["n_rows"] == together[COLOUR].isna().sum()
    assert found["garden", "true"]["n_rows"] == together["garden"].sum()
    assert sum(each["n_rows"] for key, each in found.items() if key[0] == "id") == 110
    shown = run("explain", fitted[0], "--target", files / "t.csv", *sources, "--by", COLOUR).stdout
    assert f"Rows of the sources by {COLOUR}" in shown.splitlines()
    assert any(line.startswith("[blue] ") for line in shown.splitlines())


def test_files_that_changed_are_named(fitted, files, tmp_path):
    changed = tmp_path / "<script>b.csv"
    changed.write_text((files / "<script>b.csv").read_text() + "\n")
    first = ("explain", fitted[0], "--target", files / "t.csv", "--source", files / "a [red].csv")
    assert f"{changed} has changed since the model was fitted" in refused(run(*first, "--source", changed), "explain")
    first_changed = run("explain", fitted[0], "--target", files / "new.csv", *first[4:], "--source", changed)
    assert f"{files / 'new.csv'} is no file" in refused(first_changed, "explain")
    other = files / "new.csv"
    assert f"{other} is no file that the model was made with" in refused(run(*first, "--source", other), "explain")
    assert "give 'a [red].csv', '<script>b.csv'" in refused(run(*first), "explain")
    assert "--by needs the files" in refused(run("explain", fitted[0], "--by", "size"), "explain")
    assert "go together" in refused(run("explain", fitted[0], "--target", files / "t.csv"), "explain")
    unknown = run(*first, "--source", files / "<script>b.csv", "--by", "colr [bold]")
    assert f"no file has a column 'colr [bold]'; did you mean '{COLOUR}'?" in refused(unknown, "explain")
    assert "--rows is -1" in refused(run("explain", fitted[0], "--rows", -1), "explain")


def test_rows_are_numbered_as_in_their_file():
    """Of a booster, whose rows differ in weight; the first file lost its first three rows, which had no label."""
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(90, 2)), np.repeat([-1, 1, 2], [30, 30, 30])
    y = X[:, 0] > 0
    y[domain == 2] ^= True
    booster = GapBoostClassifier(n_estimators=5).fit(X, y, sample_domain=domain)
    found = explain_rows(booster, X, y, sample_domain=domain, source_names=["one", "two"], n_rows=100)
    files = [
        StudyFile(role, name, f"{name}.csv", 30, "") for role, name in zip("tss", ("new", "one", "two"), strict=True)
    ]
    rows = {"one": np.arange(3, 33), "two": np.arange(30)}
    made = with_file_rows(found, domain, files, rows)
    assert made.sources[0].name == "new"
    weight = booster.sample_weight_ * 90 / booster.sample_weight_.sum()
    for use in made.used:
        place = 30 + use.row - 4 if use.source == "one" else 60 + use.row - 1
        assert use.ratio == pytest.approx(weight[place])
        assert use.label == y[place]
    assert {use.row for use in made.dropped if use.source == "one"} == set(range(4, 34))


def altered(path, out, change):
    """A file with what stands beside the model changed, sealed anew as somebody bent on it would."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    facts = json.loads(members["gapmin.json"])
    change(facts)
    members["gapmin.json"] = json.dumps(facts).encode()
    out.write_bytes(pack(members))
    return out


def rename_column(facts):
    facts["schema"]["columns"][0]["name"] = "weight"


def swap_columns(facts):
    facts["schema"]["columns"].reverse()


def swap_classes(facts):
    facts["schema"]["classes"].reverse()


def add_a_class(facts):
    facts["schema"]["classes"].append("x")


def forget_the_weights(facts):
    del facts["about"]["explanation"]["sources"]


def number_for_text(facts):
    facts["about"]["evidence"]["headline"] = 3


def another_verdict(facts):
    facts["about"]["evidence"]["sources"][0]["verdict"] = "buy"


def headline_of_its_own(facts):
    facts["about"]["evidence"]["headline"] = "Use everything."


def evidence_of_other_files(facts):
    facts["about"]["evidence"]["sources"].reverse()


def text_for_number(facts):
    facts["about"]["explanation"]["classes"][0]["share_of_weight"] = "much"


def list_for_dictionary(facts):
    facts["about"]["files"] = 7


@pytest.mark.parametrize(
    "change",
    [
        rename_column,
        swap_classes,
        text_for_number,
        another_verdict,
        *repeats(
            [
                headline_of_its_own,
                evidence_of_other_files,
                swap_columns,
                add_a_class,
                forget_the_weights,
                number_for_text,
                list_for_dictionary,
            ]
        ),
    ],
)
def test_what_stands_beside_a_model_is_not_believed(fitted, files, tmp_path, change):
    path = altered(fitted[0], tmp_path / "altered.skops", change)
    load_model(path)  # it is whole as a file
    for command in (("predict", path, files / "new.csv"), ("explain", path)):
        line = refused(run(*command), command[0])
        assert str(path) in line
        assert line.endswith("fit the model again")


class Bomb:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return open, (str(self.place), "w")


def test_no_code_comes_out_of_a_model_file(fitted, files, tmp_path):
    """An altered file, a pickle under either name, a pickle inside, and what is no model at all."""
    loud = tmp_path / "executed"
    content = bytearray(fitted[0].read_bytes())
    content[len(content) // 2] ^= 1
    payload = pickle.dumps(Bomb(loud))
    with zipfile.ZipFile(fitted[0]) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    files_of = {
        "flipped.skops": bytes(content),
        "pickle.skops": payload,
        "gzipped.skops": gzip.compress(payload),
        "inside.skops": pack({**members, "1.npy": payload}),
        "empty.skops": b"",
    }
    for name, written in files_of.items():
        path = tmp_path / name
        path.write_bytes(written)
        for command in (("predict", path, files / "new.csv"), ("explain", path)):
            assert str(path) in refused(run(*command), command[0])
    assert "does not exist" in refused(run("explain", tmp_path / "no.skops"), "explain")
    assert "is a folder" in refused(run("predict", tmp_path, files / "new.csv"), "predict")
    assert not loud.exists()
    pickle.loads(payload).close()
    assert loud.exists(), "the payload would have worked"


def test_another_kind_of_model_is_sent_to_python(tmp_path):
    model = GapBoostClassifier(n_estimators=2).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    save_model(model, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"was not made by gapmin fit: use it in Python"):
        StudyModel.load(tmp_path / "model.skops")


def test_nothing_is_left_of_a_model_that_cannot_be_written(fitted, tmp_path):
    with pytest.raises(ModelFileError, match="no folder"):
        StudyModel.load(fitted[0]).save(tmp_path / "no" / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_help_ends_with_an_example():
    for command in ("fit", "predict", "explain"):
        said = run(command, "--help").stdout
        assert f"Example: gapmin {command} " in said.split("--help")[-1]


@pytest.mark.slow
def test_texts_are_texts_also_where_all_of_them_could_be_numbers(tmp_path):
    rng = np.random.default_rng(0)

    def rows(n, n_kinds):
        kind = rng.integers(n_kinds, size=n)
        frame = {"zip": np.array(["01", "02", "X1"])[kind], "flag": np.array(["true", "false", "unknown"])[kind]}
        # Names that one-hot columns have too.
        more = {"flag_true": rng.normal(size=n), "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))}
        return pd.DataFrame(
            {**frame, **more, "missingindicator_size": rng.normal(size=n), "y": np.array([1, 5, 9])[kind]}
        )

    for name, n, n_kinds in (("t", 24, 3), ("s", 60, 3), ("all", 30, 3), ("some", 30, 2)):
        rows(n, n_kinds).to_csv(tmp_path / f"{name}.csv", index=False)
    out = tmp_path / "m.skops"
    study = ("--target", tmp_path / "t.csv", "--source", tmp_path / "s.csv", "--label", "y", "--jobs", 1)
    done = run("fit", *study, "--task", "regression", "-o", out)
    assert done.exit_code == 0, done.output
    for name in ("all", "some"):
        found = predictions(out, tmp_path / f"{name}.csv")
        assert found["check"]["root_mean_squared_error"] < 1
        assert not [note for note in found["notes"] if "not seen" in note]
    huge = rows(12, 3).assign(flag_true=[1e90] * 12)
    huge.to_csv(tmp_path / "huge.csv", index=False)
    assert "huge.csv cannot be used (X has a value of" in refused(run("predict", out, tmp_path / "huge.csv"), "predict")


def test_json_of_a_name_that_is_no_utf_8(capsysbinary):
    print_json({"file": "caf\udce9"})
    assert json.loads(capsysbinary.readouterr().out) == {"file": "caf\udce9"}
