"""The multitask data sets of Tables 4 to 8, and what their pages say of the two protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gapmin.datasets.catalogue import missing_files
from gapmin.plotting import Figure, RelationDisplay

from .cells import Cell, Measured, SettingValue
from .experiment import PAPER, Found, Plan
from .tables import Block


@dataclass(frozen=True)
class Tasks:
    """A multitask data set as a table shows it.

    Attributes
    ----------
    problem : str
        As `networks.setup` knows it.
    rows : mapping of str to str
        The table's name of each task, and ours.
    sizes : mapping of str to int or float
        The table's name of each size of the sample, and the rows or the share of each task that train.
    needs : tuple of str
        Names of data sets in the catalogue.
    note : str
        What the page says of the data and the network.
    is_as_printed : bool
        Whether the tasks are the paper's, so that averages compare.
    has_print : bool
        Whether the paper prints numbers of any of these tasks.
    lr : float, optional
        Learning rate, where it is not the default.
    given : mapping of str to value
        What else the setting of the cells holds.
    """

    problem: str
    rows: Mapping[str, str]
    sizes: Mapping[str, int | float]
    needs: tuple[str, ...] = ()
    note: str = ""
    is_as_printed: bool = True
    has_print: bool = True
    lr: float | None = None
    given: Mapping[str, SettingValue] = field(default_factory=dict)

    def setting(self, plan: Plan, size: float) -> dict[str, SettingValue]:
        """Return the setting of the cells of one size."""
        given = {**self.given, **({} if self.lr is None else {"lr": self.lr})}
        if plan.protocol == PAPER and not self.problem.startswith("Digits"):
            given["protocol"] = PAPER  # digits are trained alike in both: their cells are the same
        if plan.device != "cpu":
            given["device"] = plan.device
        return {"train": size, "epochs": plan.epochs, **given}

    def sizes_of(self, plan: Plan) -> dict[str, int | float]:
        """Return the sizes of a plan; quick takes the smallest."""
        return dict(list(self.sizes.items())[: 1 if plan.quick else None])

    def cells(self, plan: Plan, methods: Sequence[str]) -> list[Cell]:
        """Return the cells of every method at every size."""
        return [
            cell
            for size in self.sizes_of(plan).values()
            for method in methods
            for cell in plan.cells("multitask", self.problem, method, **self.setting(plan, size))
        ]

    def measured(self, found: Found, method: str, size: float) -> list[Measured]:
        """Return what was found of a method at one size, without the splits that failed."""
        every = found.measured("multitask", self.problem, method, **self.setting(found.plan, size))
        return [each for each in every if each is not None]

    def blocks(self, found: Found, columns: Mapping[str, str] | Sequence[str]) -> list[Block]:
        """Return the errors by task and column, a block for each size; columns are methods or name them."""
        method_of = columns if isinstance(columns, Mapping) else dict(zip(columns, columns, strict=True))
        return [
            Block(
                name,
                {
                    row: {
                        column: found.part(task, "multitask", self.problem, method, **self.setting(found.plan, size))
                        for column, method in method_of.items()
                    }
                    for row, task in self.rows.items()
                },
            )
            for name, size in self.sizes_of(found.plan).items()
        ]

    def relation_figure(self, there: Sequence[Measured], title: str) -> tuple[Figure, str]:
        """Draw the mean of Gamma over some splits, and write the weight of each task on itself."""
        relation = np.mean([each.extra["relation"] for each in there], axis=0)
        names = {task: row for row, task in self.rows.items()}
        order = [names[task] for task in there[0].parts]
        figure = Figure(
            RelationDisplay(matrix=relation, names=order, largest=1.0).plot,
            "Row j: the weight that task j gives to each task; mean over the splits.",
            title,
        )
        return figure, ", ".join(f"{task} {relation[k, k]:.2f}" for k, task in enumerate(order))


EPOCHS, DRAWS = 120, 10
"""Of the paper."""

WITH_SVHN = Tasks(
    "Digits",
    {"MNIST": "mnist", "SVHN": "svhn", "MNIST_M": "mnist_m"},
    {"3K": 3000, "5K": 5000, "8K": 8000},
    ("digits", "svhn"),
)
WITH_USPS = Tasks(
    "Digits with USPS",
    {"MNIST": "mnist", "USPS": "usps", "MNIST_M": "mnist_m"},
    {"3K": 3000, "5K": 5000},
    ("digits",),
    "USPS stands in for SVHN, which is not on this machine, so averages do not compare with the paper's; it has 7,291 "
    "training rows, so there is no 8K.",
    is_as_printed=False,
)


def _frozen(network: str, its: str, more: str) -> str:
    return (
        f"{network} as ImageNet left {'it' if its == 'its' else 'them'}, and one shared layer of 512 units trained on "
        f"{its} features. The paper trains the whole network. Here {more} Compare columns, not levels."
    )


_OWN_SPLITS = (
    "splits are random draws of our own. A tenth of each task's rows, the same in every draw, neither trains nor "
    "tests: the settings of the tables could be chosen on it."
)
_PACS_ROWS = {"A": "art_painting", "C": "cartoon", "P": "photo", "S": "sketch"}
_OFFICE_ROWS = {"Amazon": "amazon", "Dslr": "dslr", "Webcam": "webcam"}
_PACS_SIZES = {"10%": 0.1, "15%": 0.15, "20%": 0.2}
_OFFICE_SIZES = {"5%": 0.05, "10%": 0.1, "20%": 0.2}
PACS = Tasks(
    "PACS",
    _PACS_ROWS,
    _PACS_SIZES,
    ("pacs", "alexnet-features"),
    _frozen("AlexNet's convolutions", "their", f"images have 128 x 128 pixels; {_OWN_SPLITS}"),
)
PACS_RESNET50 = Tasks(
    "PACS, ResNet-50",
    _PACS_ROWS,
    _PACS_SIZES,
    ("pacs-resnet50",),
    _frozen(
        "A ResNet-50",
        "its",
        f"images have 128 x 128 pixels, enlarged to 256, of which the middle 224 are taken; {_OWN_SPLITS}",
    ),
)
TEN_CLASSES = Tasks(
    "Office-31, ten classes",
    _OFFICE_ROWS,
    _OFFICE_SIZES,
    ("office-resnet50",),
    "Not Office-31 but ten of its 31 classes, those that it shares with Caltech-256: 958, 157 and 295 images. "
    + _frozen("A ResNet-50", "its", _OWN_SPLITS),
    is_as_printed=False,
    has_print=False,
)
OFFICE_HOME = Tasks(
    "Office-Home",
    {"Ar.": "Art", "Cl.": "Clipart", "Pr.": "Product", "Rw.": "Real World"},
    _OFFICE_SIZES,
    ("office-home",),
    _frozen("ResNet-18's layers", "their", _OWN_SPLITS),
)
WHOLE_PACS = Tasks(
    "PACS",
    _PACS_ROWS,
    _PACS_SIZES,
    ("pacs", "pacs-lists"),
    "AlexNet trained whole from ImageNet's weights on images of 222 x 222 pixels, the published split.",
)
WHOLE_OFFICE31 = Tasks(
    "Office-31",
    _OFFICE_ROWS,
    _OFFICE_SIZES,
    ("office31",),
    "ResNet-18 trained whole from ImageNet's weights on images of 224 x 224 pixels; the paper's splits are not "
    "published, ours are random.",
)
WHOLE_OFFICE_HOME = Tasks(
    "Office-Home",
    OFFICE_HOME.rows,
    _OFFICE_SIZES,
    ("office-home",),
    WHOLE_OFFICE31.note,
)


def digits(protocol: str) -> Tasks:
    """Return the paper's tasks where SVHN is there or the protocol asks for it, and else those with USPS."""
    return WITH_USPS if protocol != PAPER and missing_files("svhn") else WITH_SVHN


def available(candidates: Sequence[Tasks]) -> list[Tasks]:
    """Return those whose data is on this machine; the first where none is."""
    return [tasks for tasks in candidates if not any(map(missing_files, tasks.needs))] or [candidates[0]]


def needs_of(parts: Callable[[str], Sequence[Tasks]]) -> Callable[[str], tuple[str, ...]]:
    """Return what tells, for a protocol, which data sets the parts of a table need."""
    return lambda protocol: tuple(dict.fromkeys(need for tasks in parts(protocol) for need in tasks.needs))


def about(small: str, paper: str, hours: int, timed: bool = False) -> Callable[[Plan], str]:
    """Return what says of a plan which protocol it is, how much of it was run, and what the other has.

    What is `timed` is not trained to the end. `hours` is what the paper's protocol takes on one core, by processor
    time, with both forms of gapMTNN. A step takes 0.05 to 0.1 s here on digits, 6 s on PACS, 4 s on Office-31 and 7.5 s
    on Office-Home.
    """

    def describe(plan: Plan) -> str:
        run = f" Epochs {plan.epochs} of the paper's {EPOCHS}, draws {plan.splits} of {DRAWS}."
        run += " Of the sizes the smallest alone." if plan.quick else ""
        if timed:
            run = " Quick: fewer rows of Digits, and fewer epochs timed." if plan.quick else ""
        cost = f"some {hours:,} core-hours on a processor, far fewer on a GPU"
        if plan.protocol == PAPER:
            return f"Protocol: paper. {paper} All of it: {cost}.{run} With --protocol small: {small}"
        return f"Protocol: small. {small}{run} Missing, with --protocol paper: {paper} All of it: {cost}."

    return describe


DEVELOPED = "Our default was developed on test errors of small runs with Digits and PACS (docs/fidelity.md, D21)."
LENET = "LeNet trained whole, batches of 64 rows of each task, published test sets."
WITH_8K = "The same with SVHN for USPS, and 8K rows."
ON_FEATURES = "Features of frozen networks."
