"""The cost of one training step of each method, as ratios measured in one run.

LeNet with three tasks of 64 rows, and Uniform and gapMTNN also on the 2,304 features that PACS has (four tasks, one
layer of 512 units) and on a table with 29 tasks of two classes (20 columns, one layer of 64 units).

    python benchmarks/deep_step.py [--repeats 30] [--out benchmarks/results/deep_step.md]

Forward and backward of the loss, on one thread, the methods taking turns so that all share whatever else the machine
does; the median over turns of the ratio of processor times, the range of its middle half, and the ratio of the means:
gapMTNN scores its probes in every second step, which a median does not show. The whole file is written by one run,
which says how busy the machine was. gapMTNN is the default, aligned and with probes, at a diagonal relation, which
most epochs of unrelated tasks have, at a sparse one (each task learns from its neighbour; the limits are on this one)
and at a full one. "extractor" is the forward and backward pass of LeNet alone. torchjd's MGDA, which
back-propagates the whole graph once a task, is timed where torchjd is installed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import nn

from gapmin.deep import (
    AMTNN,
    MLP,
    AdvH,
    AdvW,
    Batch,
    GapMTNN,
    LeNet,
    MultiObjective,
    MultitaskNet,
    Objective,
    TaskHeads,
    Uniform,
    Weighted,
)

ROWS, TASKS = 64, 3
LIMITS = {
    ("gapMTNN, sparse", "Uniform"): 1.08,
    ("Multi-Obj", "Uniform"): 1.15,
    ("AMTNN", "Uniform"): 1.35,
    ("extractor", "extractor as printed"): 0.75,
}
LIMITS_ELSEWHERE = {"PACS features": 1.25, "29 tasks": 2.0}
RELATIONS: dict[str, Callable[[int], torch.Tensor]] = {
    "diagonal": torch.eye,
    "sparse": lambda K: 0.6 * torch.eye(K) + 0.4 * torch.eye(K).roll(1, 0),
    "full": lambda K: torch.full((K, K), 1 / K),
}


def ready(objective: Objective) -> Objective:
    """The objective on a LeNet of its own."""
    torch.manual_seed(0)
    net = MultitaskNet(LeNet(), TaskHeads(TASKS, 2304, 128, 10, "elu"))
    return objective.setup(net).to(memory_format=torch.channels_last).train()


def step_of(objective: Objective, batch: Batch) -> Callable[[], None]:
    """Forward and backward of an objective."""

    def step() -> None:
        objective.zero_grad(set_to_none=True)
        objective(batch).loss.backward()

    return step


def with_relation(objective: Objective, name: str) -> Objective:
    """The objective at a relation of this kind."""
    objective.relation.copy_(RELATIONS[name](objective.net.n_tasks))
    return objective


def gapmtnn(made: Callable[[Objective], Objective]) -> dict[str, Objective]:
    """The default gapMTNN at each relation, and at the sparse one without the alignment."""
    alone = made(GapMTNN(lambda_semantic=0.0, lambda_marginal=0.0))
    return {
        **{f"gapMTNN, {relation}": with_relation(made(GapMTNN()), relation) for relation in RELATIONS},
        "gapMTNN, sparse, not aligned": with_relation(alone, "sparse"),
    }


def on_features(name: str) -> dict[str, Callable[[], None]]:
    """The steps of Uniform and of gapMTNN on a table or on features."""
    tasks, width, hidden, head, classes = {"PACS features": (4, 2304, 512, 256, 7), "29 tasks": (29, 20, 64, 256, 2)}[
        name
    ]
    rows = tasks * ROWS
    batch = Batch(torch.randn(rows, width), torch.randint(classes, (rows,)), [ROWS] * tasks, torch.arange(rows) % 2)

    def built(objective: Objective) -> Objective:
        torch.manual_seed(0)
        return objective.setup(MultitaskNet(MLP(width, (hidden,)), TaskHeads(tasks, hidden, head, classes))).train()

    return {
        "Uniform": step_of(built(Uniform()), batch),
        **{each: step_of(objective, batch) for each, objective in gapmtnn(built).items()},
        "gapMTNN, all pairs (excess)": step_of(built(GapMTNN(relation_cost="excess")), batch),
    }


def timed(steps: dict[str, Callable[[], None]], repeats: int) -> dict[str, np.ndarray]:
    """The processor time of each step, the steps taking turns."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for repeat in range(repeats + 2):
        for name, step in steps.items():
            start = time.process_time()
            step()
            if repeat >= 2:
                times[name].append(time.process_time() - start)
    return {name: np.array(each) for name, each in times.items()}


def ratio(times: dict[str, np.ndarray], name: str, base: str) -> str:
    """The median of the ratios turn by turn, and their middle half."""
    low, middle, high = np.quantile(times[name] / times[base], [0.25, 0.5, 0.75])
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def ratio_of_means(times: dict[str, np.ndarray], name: str, base: str) -> str:
    """The mean time in means of the other's."""
    return f"{times[name].mean() / times[base].mean():.2f}"


def pass_of(extractor: torch.nn.Module, x: torch.Tensor) -> Callable[[], None]:
    """Forward and backward of an extractor alone."""

    def step() -> None:
        extractor.zero_grad(set_to_none=True)
        z = extractor(x)
        z.backward(torch.ones_like(z))

    return step


def torchjd_of(batch: Batch) -> Callable[[], None] | None:
    """MGDA of the same network by torchjd, with heads of its own kind: one module a task."""
    try:
        from torchjd.aggregation import MGDA
        from torchjd.autojac import jac_to_grad, mtl_backward
    except ImportError:
        return None
    extractor = LeNet().to(memory_format=torch.channels_last)
    heads = [nn.Sequential(nn.Linear(2304, 128), nn.ELU(), nn.Linear(128, 10)) for _ in range(TASKS)]
    aggregator = MGDA()
    everything = nn.ModuleList([extractor, *heads])

    def step() -> None:
        everything.zero_grad(set_to_none=True)
        z = extractor(batch.x)
        parts = zip(heads, z.split(ROWS), batch.y.split(ROWS), strict=True)
        losses = [nn.functional.cross_entropy(head(rows), y) for head, rows, y in parts]
        mtl_backward(losses, features=z)
        jac_to_grad(list(extractor.parameters()), aggregator)

    return step


def main() -> None:
    """Time everything in turns and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "deep_step.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    plain = torch.rand(ROWS * TASKS, 1, 28, 28)
    y = torch.randint(10, (ROWS * TASKS,))
    x = plain.contiguous(memory_format=torch.channels_last)
    batch = Batch(x, y, [ROWS] * TASKS, torch.arange(len(y)) % 2)
    fast, printed = LeNet().to(memory_format=torch.channels_last), LeNet(pool_first=False)
    printed.load_state_dict(fast.state_dict())
    difference = float((fast(x) - printed(plain)).detach().abs().max())
    steps: dict[str, Callable[[], None] | None] = {
        "extractor as printed": pass_of(printed, plain),
        "extractor": pass_of(fast, x),
        "Uniform": step_of(ready(Uniform()), batch),
        "Weighted": step_of(ready(Weighted()), batch),
        "Adv.H": step_of(ready(AdvH()), batch),
        "Adv.W": step_of(ready(AdvW()), batch),
        "Multi-Obj": step_of(ready(MultiObjective()), batch),
        "Multi-Obj by torchjd": torchjd_of(batch),
        "AMTNN": step_of(ready(AMTNN()), batch),
        "AMTNN, penalty through the net": step_of(ready(AMTNN(penalty_on="net")), batch),
        **{each: step_of(objective, batch) for each, objective in gapmtnn(ready).items()},
        "gapMTNN, all pairs (excess)": step_of(ready(GapMTNN(relation_cost="excess")), batch),
        "gapMTNN, probe heads": step_of(ready(GapMTNN(relation_cost="gap")), batch),
        "gapMTNN, Wasserstein critics": step_of(ready(GapMTNN(relation_cost="excess", marginal="wasserstein")), batch),
    }
    runnable = {name: step for name, step in steps.items() if step is not None}
    times = timed(runnable, options.repeats)
    lines = ["| | of Uniform (middle half) | of the means | of the extractor |", "|---|---:|---:|---:|"]
    lines += [
        f"| {each} | {ratio(times, each, 'Uniform')} | {ratio_of_means(times, each, 'Uniform')} "
        f"| {ratio(times, each, 'extractor')} |"
        for each in times
    ]
    lines += ["", "| | ratio | of the means | limit |", "|---|---:|---:|---:|"]
    lines += [
        f"| {a} / {b} | {ratio(times, a, b)} | {ratio_of_means(times, a, b)} | {limit:.2f} |"
        for (a, b), limit in LIMITS.items()
    ]
    for name, limit in LIMITS_ELSEWHERE.items():
        elsewhere = timed(on_features(name), 2 * options.repeats)  # these steps are short
        lines += ["", f"| {name} (limit of the sparse relation {limit}) | of Uniform (middle half) | of the means |"]
        lines += ["|---|---:|---:|"]
        lines += [
            f"| {each} | {ratio(elsewhere, each, 'Uniform')} | {ratio_of_means(elsewhere, each, 'Uniform')} |"
            for each in elsewhere
        ]
    lines += ["", f"Largest difference between the features of the two LeNets: {difference:.1e}."]
    text = "\n".join(lines)
    print(text)
    options.out.write_text(
        "# One training step: LeNet, 3 x 64 rows; PACS features; 29 tasks\n\nForward and backward on one thread: "
        f"medians over {options.repeats} turns of the ratio of processor times, and the middle half of the ratios; "
        "the ratio of the mean times; "
        "twice as many turns for PACS features and 29 tasks.\nWritten by one run of `python benchmarks/deep_step.py`; "
        f"load of the machine at its end {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores.\n\n{text}\n"
    )


if __name__ == "__main__":
    main()
