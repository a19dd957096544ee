"""The cost of one training step of each method, as ratios measured in one run: LeNet, three tasks of 64 rows.

    python benchmarks/deep_step.py [--repeats 30] [--out benchmarks/results/deep_step.md]

Forward and backward of the loss, on one thread, the methods taking turns so that all share whatever else the machine
does; medians of processor time. "extractor" is the forward and backward pass of LeNet alone. torchjd's MGDA, which
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
    ("gapMTNN", "Uniform"): 1.10,
    ("gapMTNN", "extractor"): 1.20,
    ("Multi-Obj", "Uniform"): 1.15,
    ("AMTNN", "Uniform"): 1.35,
    ("extractor", "extractor as printed"): 0.75,
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
    batch = Batch(x, y, [ROWS] * TASKS)
    fast, printed = LeNet().to(memory_format=torch.channels_last), LeNet(pool_first=False)
    printed.load_state_dict(fast.state_dict())
    difference = float((fast(x) - printed(plain)).abs().max())
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
        "gapMTNN": step_of(ready(GapMTNN()), batch),
        "gapMTNN, probe heads": step_of(ready(GapMTNN(relation_cost="gap")), batch),
        "gapMTNN, Wasserstein critics": step_of(ready(GapMTNN(marginal="wasserstein")), batch),
    }
    runnable = {name: step for name, step in steps.items() if step is not None}
    times: dict[str, list[float]] = {name: [] for name in runnable}
    for repeat in range(options.repeats + 2):
        for name, step in runnable.items():
            start = time.process_time()
            step()
            if repeat >= 2:
                times[name].append(time.process_time() - start)
    median = {name: float(np.median(each)) for name, each in times.items()}
    lines = ["| | of Uniform | of the extractor |", "|---|---:|---:|"]
    lines += [
        f"| {name} | {each / median['Uniform']:.2f} | {each / median['extractor']:.2f} |"
        for name, each in median.items()
    ]
    lines += ["", "| | ratio | limit |", "|---|---:|---:|"]
    lines += [f"| {a} / {b} | {median[a] / median[b]:.2f} | {limit:.2f} |" for (a, b), limit in LIMITS.items()]
    lines += ["", f"Largest difference between the features of the two LeNets: {difference:.1e}."]
    text = "\n".join(lines)
    print(text)
    options.out.write_text(
        "# One training step, LeNet, 3 x 64 rows, one thread\n\nForward and backward; medians of processor time over "
        f"{options.repeats} turns.\n\n{text}\n"
    )


if __name__ == "__main__":
    main()
