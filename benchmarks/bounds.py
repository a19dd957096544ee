"""Where the bounds start to bite: docs/images/bounds.svg and every figure that docs/bounds.md quotes.

Run as ``python benchmarks/bounds.py [--out docs/images/bounds.svg]``; about a minute.

Rows are uniform in the unit ball of five dimensions, a label is the sign of the first coordinate, one in twenty turned
round; target and source are the same distribution, so their discrepancy is 0 and what is left is what sample sizes
cost. Up to 100,000 rows the bound is `risk_bound`; above, its terms are computed from the same constants with the
empirical loss of 100,000 rows, which no longer moves.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib
import numpy as np
from sklearn.preprocessing import StandardScaler

from gapmin.datasets import load_digits_transfer
from gapmin.linear import InstanceWeightingClassifier, TaskCovarianceClassifier
from gapmin.linear._bounds import Constants, weighted_terms
from gapmin.plotting.displays import PALETTE

SIZES = np.unique(np.logspace(2, 7, 41).round().astype(int))
LARGEST_FIT = 100_000
GUESS = float(np.log(2))  # the risk of h = 0
TARGET_ROWS = 0.01
WEIGHTS = {"equal": 1.0, "target rows 10 times": 10.0, "half on the target": (1 - TARGET_ROWS) / TARGET_ROWS}
PENALTIES = {
    "lam = 0.1": lambda n: 0.1,
    "lam = 0.1 (N / 100)^(-1/4)": lambda n: 0.1 * (n / 100) ** -0.25,
    "lam = 1 / sqrt(N)": lambda n: n**-0.5,
}
FORMS = ("printed", "sharp")


def draw_rows(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and the domain of n rows, one in a hundred of them the target's."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 5))
    X *= (rng.uniform(size=n) ** 0.2 / np.linalg.norm(X, axis=1))[:, None]
    y = (X[:, 0] > 0) ^ (rng.uniform(size=n) < 0.05)
    return X, y, np.where(np.arange(n) < max(round(TARGET_ROWS * n), 1), -1, 1)


def bound(n: int, lam: float, times: float) -> dict[str, float]:
    """Return the total of both forms, and B, with `times` the weight of a source row on a row of the target."""
    X, y, domain = draw_rows(min(n, LARGEST_FIT))
    clf = InstanceWeightingClassifier(lam=lam, fit_intercept=False)
    clf.fit(X, y, sample_domain=domain, sample_weight=np.where(domain < 0, times, 1.0))
    bounds = {form: clf.risk_bound(form=form, discrepancy=0.0, R=1.0) for form in FORMS}
    found = {form: each.total for form, each in bounds.items()}
    if n > LARGEST_FIT:
        names = ("R", "Y", "radius", "rho", "B", "B_gap", "lam")
        c = Constants(**{name: bounds["sharp"].constants[name] for name in names}, assumptions=())
        share = TARGET_ROWS
        mean, square = share * times + 1 - share, share * times**2 + 1 - share
        for form in FORMS:
            terms = weighted_terms(c, times / mean / n, square / mean**2 / n, n, 0.05, form)
            found[form] = bounds[form].terms["empirical"] + sum(terms.values())
    return {**found, "B": bounds["sharp"].constants["B"]}


def first_below_a_guess(totals: np.ndarray) -> str:
    """Return the first of the sizes at which the bound says more than a guess does, to two digits."""
    below = totals < GUESS
    return f"{float(f'{SIZES[below.argmax()]:.1e}'):,.0f}" if below.any() else "not seen"


def plot(curves: dict[tuple[str, str], dict[str, np.ndarray]], out: Path) -> None:
    """Draw a panel for each penalty."""
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update({"svg.hashsalt": "gapmin", "svg.fonttype": "none", "font.size": 9})
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.6), sharey=True, layout="constrained")
    for ax, penalty in zip(panels, PENALTIES, strict=True):
        for color, weights in zip(PALETTE[1:], WEIGHTS, strict=False):
            curve = curves[penalty, weights]
            ax.plot(SIZES, curve["printed"], color=color, linestyle=(0, (4, 2)), linewidth=1.6)
            ax.plot(SIZES, curve["sharp"], color=color, linewidth=1.6, label=weights)
        ax.plot(SIZES, curve["B"], color="#8a8a8a", linestyle=":", linewidth=1.4)
        ax.axhline(GUESS, color="#1d2126", linewidth=0.9)
        ax.text(SIZES[0], GUESS, "log 2: a guess", va="top", fontsize=8)
        ax.text(SIZES[-1], 1.06 * curve["B"][-1], "B: any loss", ha="right", fontsize=8, color="#6a6a6a")
        ax.set(xscale="log", yscale="log", title=penalty, xlabel="rows N", xlim=(SIZES[0] * 0.8, SIZES[-1]))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#e4e4e4", linewidth=0.6)
        ax.minorticks_off()
    panels[0].set_ylabel("bound on the target's risk")
    handles, labels = panels[0].get_legend_handles_labels()
    for form, style in zip(FORMS, ((0, (4, 2)), "-"), strict=True):
        handles.append(matplotlib.lines.Line2D([], [], color="#595959", linestyle=style))
        labels.append(form)
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, metadata={"Date": None})


def main() -> None:
    """Compute the bounds, draw them and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images" / "bounds.svg")
    args = parser.parse_args()
    curves = {}
    print("| penalty | weights | printed: from N | sharp: from N | printed / sharp at N = 100,000 |")
    print("|---|---|---:|---:|---:|")
    for penalty, lam in PENALTIES.items():
        for weights, times in WEIGHTS.items():
            totals = [bound(int(n), lam(n), times) for n in SIZES]
            curve = curves[penalty, weights] = {name: np.array([each[name] for each in totals]) for name in totals[0]}
            bites = [first_below_a_guess(curve[form]) for form in FORMS]
            at = int(np.argmin(np.abs(SIZES - 100_000)))
            print(
                f"| {penalty} | {weights} | {bites[0]} | {bites[1]} | {curve['printed'][at] / curve['sharp'][at]:.1f} |"
            )
    plot(curves, args.out)

    last = curves["lam = 1 / sqrt(N)", "equal"]
    print(f"\nlam = 1 / sqrt(N), equal weights, N = {SIZES[-1]:,}: {last['sharp'][-1]:.2f}")
    X, y, domain = draw_rows(LARGEST_FIT)
    plain = InstanceWeightingClassifier(lam=0.1, fit_intercept=False).fit(X, y, sample_domain=domain)
    found = plain.risk_bound(discrepancy=0.0, R=1.0)
    print(
        f"lam = 0.1, equal weights, N = {LARGEST_FIT:,}: {found.terms['empirical']:.2f} of {found.total:.2f} "
        "is empirical"
    )
    split = load_digits_transfer("digits", binary=True).split(0)
    X = StandardScaler().fit_transform(split.X)
    clf = InstanceWeightingClassifier(gamma=0.5).fit(X, split.y, sample_domain=split.sample_domain)
    for form in FORMS:
        found = clf.risk_bound(form=form)
        terms = ", ".join(f"{name} {value:.4g}" for name, value in found.terms.items())
        print(f"odd digits, {int(found.constants['n_rows'])} rows, {form}: {found.total:.0f} ({terms})")
    print(f"  B {found.constants['B']:.1f}, B_gap {found.constants['B_gap']:.1f}, R {found.constants['R']:.1f}")
    rng = np.random.default_rng(0)
    rows, task = rng.normal(size=(400, 5)), np.repeat(np.arange(8), 50)
    slopes = rng.normal(size=5) + rng.normal(size=(8, 5))
    labels = np.einsum("ij,ij->i", rows, slopes[task]) + rng.normal(size=400) > 0
    tasks = TaskCovarianceClassifier().fit(rows, labels, sample_task=task)
    ratio = np.linalg.eigvalsh(tasks.omega_)[-1] / np.diag(tasks.omega_)
    totals = [tasks.risk_bound(form=form).total for form in FORMS]
    print(
        f"task covariance, 8 tasks: sigma_max / Omega_jj from {ratio.min():.1f} to {ratio.max():.1f}, "
        f"mean bound {totals[0]:.0f} printed, {totals[1]:.0f} sharp"
    )


if __name__ == "__main__":
    main()
