"""The seven methods of the paper's multitask experiments, one small class each."""

from __future__ import annotations

from gapmin.deep.objectives._base import Objective, Step
from gapmin.deep.objectives.adversarial import AdvH, AdvW
from gapmin.deep.objectives.aggregated import Aggregated, is_aggregator
from gapmin.deep.objectives.amtnn import AMTNN
from gapmin.deep.objectives.gapmtnn import GapMTNN
from gapmin.deep.objectives.multi_objective import MultiObjective
from gapmin.deep.objectives.uniform import Uniform
from gapmin.deep.objectives.weighted import Weighted

OBJECTIVES: dict[str, type[Objective]] = {
    "uniform": Uniform,
    "weighted": Weighted,
    "advh": AdvH,
    "advw": AdvW,
    "multiobjective": MultiObjective,
    "amtnn": AMTNN,
    "gapmtnn": GapMTNN,
}

__all__ = [
    "AMTNN",
    "OBJECTIVES",
    "AdvH",
    "AdvW",
    "Aggregated",
    "GapMTNN",
    "MultiObjective",
    "Objective",
    "Step",
    "Uniform",
    "Weighted",
    "is_aggregator",
]
