"""Losses and errors of a network on rows that it is not trained on."""

from __future__ import annotations

import numpy as np
import torch

from gapmin.deep.batches import TaskRows
from gapmin.deep.engine import Engine
from gapmin.deep.losses import row_losses
from gapmin.deep.objectives import Objective


@torch.no_grad()
def task_figures(
    objective: Objective, rows: TaskRows, device: torch.device | str = "cpu", engine: Engine | None = None
) -> dict[str, list[float]]:
    """Return the mean ``loss`` of each task's rows under its own head, and of classes the ``error``: the share wrong.

    Rows count as their weights say; a task without rows has 0.
    """
    objective.eval()
    sums = np.zeros((3, len(rows.tasks)))
    for batch in rows.in_order(1024, device):
        outputs = objective.net.own(batch).logits
        weight = torch.ones(len(batch.y)) if batch.weight is None else batch.weight
        weight = weight.to(outputs)
        found = [row_losses(outputs, batch.y, weight), weight]
        if not batch.y.is_floating_point():
            found.append(weight * (outputs.argmax(1) != batch.y))
        for i, each in enumerate(found):
            sums[i, int(np.argmax(batch.sizes))] += float(each.double().sum())
    losses, weights, wrong = sums if engine is None else engine.sum_over_processes(sums)
    weights = np.where(weights > 0, weights, 1.0)
    figures = {"loss": (losses / weights).tolist()}
    return figures if rows.y.is_floating_point() else figures | {"error": (wrong / weights).tolist()}
