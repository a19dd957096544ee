"""Table 1: which rules for the weights each boosting algorithm follows, measured on a small problem."""

from __future__ import annotations

from gapmin.reporting import Entry, Section, Table

from .cells import Cell
from .experiment import Experiment, Found, Plan
from .printed import printed
from .rules import PROBLEM, follows
from .tables import verdict

ALGORITHMS = {
    "AdaBoost": "AdaBoost_T&S",
    "TrAdaBoost": "TrAdaBoost",
    "TransferBoost": "TransferBoost",
    "gapBoost": "gapBoost",
}
RULES = ("Rule 1", "Rule 2", "Rule 3", "Rule 4")
YES, NO = "✓", "✗"


def cells(plan: Plan) -> list[Cell]:
    """Every algorithm on every split."""
    return [cell for method in ALGORITHMS.values() for cell in plan.cells("rules", PROBLEM, method)]


def show(found: Found) -> Section:
    """What holds on how many splits, beside the print."""
    rows, points = [], []
    for name, method in ALGORITHMS.items():
        there = [measured for measured in found.measured("rules", PROBLEM, method) if measured is not None]
        held = [follows(dict(measured.parts)) for measured in there]
        row = [Entry(name)]
        for rule in RULES:
            times = sum(each[rule] for each in held)
            mark = _mark(times, len(held))
            number = printed("table1", "", name, rule)
            in_print = "" if number is None else YES if number.value else NO
            row.append(Entry(mark, f" {times} of {len(held)}", printed=in_print))
            points.append(
                verdict(
                    mark == in_print,
                    f"{name}, {rule}, printed {in_print}. It is followed on {times} of {len(held)} splits. "
                    + ("" if mark == in_print else DIFFERENCES.get((name, rule), "")),
                ).rstrip()
            )
        rows.append(row)
    table = Table("Table 1: rules followed, and on how many splits", ["", *RULES], rows, notes=[CRITERIA, MARKS])
    return Section("Table 1: rules for the weights", [CLAIM], points, [table])


def _mark(times: int, n_splits: int) -> str:
    if not n_splits:
        return "failed"
    # In whole numbers: 2 / 20 is not at most 1 - 0.9.
    if 10 * times >= 9 * n_splits:
        return YES
    return NO if 10 * times <= n_splits else "mixed"


NO_CAP = "It does not control the largest weight, but 20 rounds from 1/N seldom take it past the cap."
DIFFERENCES = {
    ("TrAdaBoost", "Rule 2"): NO_CAP,
    ("TransferBoost", "Rule 2"): NO_CAP,
    ("gapBoost", "Rule 4"): (
        "It takes weight from rows in disagreement, but gives weight to rows in error, and these are often the same."
    ),
}
CLAIM = (
    "The paper's rules: 1, minimise the weighted loss; 2, keep weights balanced; 3, give the target more weight than "
    "the source; 4, minimise the gap. It ticks them by how an algorithm is built; here they are measured."
)
CRITERIA = (
    "Criteria. Rule 1: under the weights of a round its learner has less loss than the one before it, on average "
    "(which training under these weights all but ensures). Rule 2: no weight ever exceeds 1/sqrt(N_T). Rule 3: the "
    "target ends with more than its share of the rows. Rule 4: the weight of the rows on which a learner of the source "
    "and one of the target disagree, each trained under the weights, is less at the end than at the start."
)
MARKS = (
    f"{YES} where a criterion holds on 90% of the splits, {NO} where it fails on 90%. The problem: 25 digits of MNIST, "
    "odd or even, with the 1,797 UCI digits as source; weights, no resampling."
)

TABLE1 = Experiment(
    "table1", "which rules for the weights each algorithm follows", cells, show, splits=20, quick_splits=3
)
