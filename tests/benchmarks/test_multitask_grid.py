"""The tables of the multitask benchmarks, from figures small enough to check by hand."""

from __future__ import annotations

from importlib import import_module

import pytest
from benchmarks.multitask_grid import beside_the_lowest, table


def fits(errors, setting="s"):
    return [
        {"setting": setting, "method": method, "seed": seed, "a": error, "relation": ""}
        for method, found in errors.items()
        for seed, error in enumerate(found)
    ]


def test_table_pairs_by_seed_and_needs_no_uniform():
    found = table(fits({"Uniform": [10.0, 20.0], "ours": [9.0, 17.0]}), "s", ["a"], ["Uniform", "ours"], level=0.5)
    assert "| minus Uniform, 50% |  | -2.00 [-3.00, -1.00] |" in found  # 1 standard error: Cauchy's quartile
    more = table(fits({"Uniform": [10.0, 20.0, 0.0], "ours": [9.0, 17.0]}), "s", ["a"], ["Uniform", "ours"], level=0.5)
    assert "-2.00 [-3.00, -1.00]" in more
    alone = table(fits({"ours": [9.0, 17.0]}), "s", ["a"], ["Uniform", "ours"])
    assert "| average | **13.00 ± 4.00** |" in alone
    assert "minus" not in alone


def test_methods_are_compared_with_the_lowest_by_paired_differences():
    figures = {
        "best": {0: 10.0, 1: 30.0},
        "near": {0: 10.5, 1: 29.7},  # +0.1 with a standard error of 0.4, though seeds differ by 20
        "far": {0: 11.0, 1: 31.1},
        "unfinished": {0: 1.0},
    }
    assert beside_the_lowest(figures) == (
        "Lowest: best; within one standard error of it: near (+0.10 ± 0.40); above: far (+1.05 ± 0.05); fewer seeds, "
        "not compared: unfinished."
    )


def test_page_of_the_relation_keeps_earlier_runs(monkeypatch, tmp_path):
    pytest.importorskip("torchjd")
    monkeypatch.syspath_prepend("benchmarks")
    relation = import_module("relation")
    monkeypatch.setattr(relation, "fit", _error_of_the_seed)
    for arguments in (
        ["--problems", "digits1000", "twin", "--methods", "gapMTNN", "--epochs", "3"],
        ["--problems", "twin", "--epochs", "5", "--stopped", "--methods", "Uniform", "gapMTNN"],
        ["--problems", "twin", "--epochs", "3", "--seeds", "1", "2", "--methods", "Uniform"],
    ):
        monkeypatch.setattr("sys.argv", ["relation.py", *arguments, "--jobs", "1", "--out", str(tmp_path)])
        relation.main()
    judging, tuning = ((tmp_path / f"relation_{kind}.md").read_text() for kind in ("judging", "tuning"))
    titles = [line for line in judging.splitlines() if line.startswith("## ")]
    assert titles == ["## digits1000:3", "## twin:3", "## twin:5:stopped"]
    assert "| minus Uniform, 95% |  | -1.00 [-1.00, -1.00] |" in judging
    assert [line for line in tuning.splitlines() if line.startswith("## ")] == ["## twin:3"]


def _error_of_the_seed(setting, method, seed):
    relation = import_module("relation")
    tasks = relation.TASKS[setting.split(":")[0]]
    weights = " ".join(["0.5"] * len(tasks) ** 2) if method == "gapMTNN" else ""
    return {**dict.fromkeys(tasks, seed + 1.0 * (method == "Uniform")), "relation": weights}


def test_report_of_regressions_compares_by_seed():
    pytest.importorskip("torchjd")
    regression = import_module("benchmarks.multitask_regression")
    rows = [
        {"setting": "schools", "method": method, "seed": seed, "rmse": seed + more}
        for method, more in (("network, Uniform", 0.5), ("network, gapMTNN", 0.25), ("pooled (ridge)", 2.0))
        for seed in (0, 10, 11)  # 0 is for tuning
    ]
    text = regression.report(rows)
    assert "| network, gapMTNN | 2 | 10.750 ± 0.500 | -0.250 [-0.250, -0.250] |" in text
    assert (
        "Lowest: network, gapMTNN; above: network, Uniform (+0.250 ± 0.000), pooled (ridge) (+1.750 ± 0.000)." in text
    )
    assert "Parkinsons" not in text
