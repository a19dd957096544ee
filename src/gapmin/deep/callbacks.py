"""What may happen beside the training: stop early, write a table, feed TensorBoard."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapmin._utils.io import atomic_path
from gapmin.deep._resuming import check_module

if TYPE_CHECKING:
    from gapmin.deep.trainer import Trainer

Record = dict[str, Any]


class Callback:
    """The base of callbacks: override what is needed.

    A callback that keeps something between epochs returns it from `state_dict` and takes it back in `load_state_dict`,
    as plain numbers, texts, lists, dicts and tensors. Then a run that is killed and resumed ends as if it had not been.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.deep import Callback, MultitaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(80, 3)), np.repeat(["a", "b"], 40)
    >>> class Print(Callback):
    ...     def epoch(self, trainer, record):
    ...         print("epoch", record["epoch"])
    >>> clf = MultitaskClassifier(epochs=2, callbacks=[Print()]).fit(X, X[:, 0] > 0, sample_task=task)
    epoch 1
    epoch 2
    """

    def begin(self, trainer: Trainer) -> None:
        """Before the first step, or the first after a resume; ``trainer.history`` has what came before.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        """

    def epoch(self, trainer: Trainer, record: Record) -> bool | None:
        """After each epoch, with its record, the last of ``trainer.history``; True stops the training.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        record : dict
            What is known of the epoch, by name.
        """

    def end(self, trainer: Trainer) -> None:
        """When the training is over.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        return {}

    def check_state(self, state: dict[str, Any], trainer: Trainer) -> None:
        """Raise ValueError where a state is none that `state_dict` could have returned in this run.

        It is called before any tensor is read: instead of each there is an object with its `shape` and `dtype`.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.
        trainer : Trainer
            The loop that calls.
        """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take it back.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.
        """


@dataclass(eq=False, repr=False)
class EarlyStopping(Callback):
    """Stop when a figure has not fallen for some epochs, and go back to the weights of its best epoch.

    Parameters
    ----------
    monitor : str, default="validation_loss"
        A number of the epoch's record, the less the better.
    patience : int, default=10
        Epochs to wait.
    min_delta : float, default=0.0
        What counts as a fall.
    restore_best : bool, default=True
        Whether the weights of the best epoch come back at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.deep import EarlyStopping, MultitaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(80, 3)), np.repeat(["a", "b"], 40)
    >>> stop = EarlyStopping(patience=2)
    >>> clf = MultitaskClassifier(epochs=50, callbacks=[stop], validation_fraction=0.25, random_state=0)
    >>> len(clf.fit(X, rng.integers(2, size=80), sample_task=task).history_) < 50  # the labels are random
    True
    """

    monitor: str = "validation_loss"
    patience: int = 10
    min_delta: float = 0.0
    restore_best: bool = True

    def __post_init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.best: float | None = None
        self.waited = 0
        self._weights: dict[str, Any] | None = None

    def begin(self, trainer: Trainer) -> None:
        """Forget a former fit; refuse to wait for a figure that will not come.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        """
        if self.monitor.startswith("validation") and not trainer.validates:
            raise ValueError(
                f"EarlyStopping watches {self.monitor!r}, but there are no validation rows: "
                "set validation_fraction, or give fit validation_data"
            )
        if not trainer.history:
            self._reset()

    def epoch(self, trainer: Trainer, record: Record) -> bool:
        """Compare with the best so far.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        record : dict
            What is known of the epoch, by name.

        Returns
        -------
        bool
            Whether to stop.
        """
        if self.monitor not in record:
            raise ValueError(f"EarlyStopping watches {self.monitor!r}, which is not among {sorted(record)}: name one")
        value = float(record[self.monitor])
        if self.best is None or value < self.best - self.min_delta:
            self.best, self.waited = value, 0
            if self.restore_best:
                self._weights = {name: v.detach().clone() for name, v in trainer.objective.state_dict().items()}
        else:
            self.waited += 1
        return self.waited >= self.patience

    def end(self, trainer: Trainer) -> None:
        """Go back to the best weights.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        """
        if self._weights is not None:
            trainer.objective.load_state_dict(self._weights)

    def state_dict(self) -> dict[str, Any]:
        """Return the best so far."""
        return {"best": self.best, "waited": self.waited, "weights": self._weights}

    def check_state(self, state: dict[str, Any], trainer: Trainer) -> None:
        """Refuse weights that are not of the network.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.
        trainer : Trainer
            The loop that calls.
        """
        if state.keys() != {"best", "waited", "weights"}:
            raise ValueError("it has not exactly best, waited and weights")
        if type(state["best"]) not in (float, int, type(None)) or type(state["waited"]) is not int:
            raise ValueError(f"best is {state['best']!r} and waited {state['waited']!r}")
        if state["weights"] is not None:
            check_module(trainer.objective, state["weights"], "weights")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take it back.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.
        """
        self.best, self.waited, self._weights = state["best"], state["waited"], state["weights"]


class CSVLogger(Callback):
    """Write the history to a CSV file after each epoch, whole each time, so that it is never half a table.

    Parameters
    ----------
    path : str or Path
        The file to write.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from gapmin.deep import CSVLogger, MultitaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(80, 3)), np.repeat(["a", "b"], 40)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "history.csv"
    ...     clf = MultitaskClassifier(epochs=2, callbacks=[CSVLogger(path)]).fit(X, X[:, 0] > 0, sample_task=task)
    ...     len(path.read_text().splitlines())
    3
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def begin(self, trainer: Trainer) -> None:
        """Refuse a place that cannot be written to before any work is done.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        """
        if not self.path.parent.is_dir():
            raise ValueError(f"CSVLogger cannot write {self.path}: there is no folder {self.path.parent}")

    def epoch(self, trainer: Trainer, record: Record) -> None:
        """Write the epochs so far.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        record : dict
            What is known of the epoch, by name.
        """
        rows = [flat(each) for each in trainer.history]
        with atomic_path(self.path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
            writer.writeheader()
            writer.writerows(rows)


class TensorBoard(Callback):
    """Send the figures of each epoch to TensorBoard.

    Parameters
    ----------
    log_dir : str or Path
        The folder to write to.
    """

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        self.log_dir = Path(log_dir)
        self._writer: Any = None

    def begin(self, trainer: Trainer) -> None:
        """Open the log; epochs of a killed run that are to come again are dropped from view.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        """
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ImportError("the TensorBoard callback needs tensorboard: pip install tensorboard") from None
        self._writer = SummaryWriter(str(self.log_dir), purge_step=len(trainer.history) + 1)

    def epoch(self, trainer: Trainer, record: Record) -> None:
        """Send every number of the record.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        record : dict
            What is known of the epoch, by name.
        """
        for name, value in flat(record).items():
            if name != "epoch":
                self._writer.add_scalar(name.replace(" ", "/", 1), value, record["epoch"])
        self._writer.flush()

    def end(self, trainer: Trainer) -> None:
        """Close the log.

        Parameters
        ----------
        trainer : Trainer
            The loop that calls.
        """
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def flat(record: Record) -> dict[str, float]:
    """Return a record with a number for each entry of its lists and dicts.

    Examples
    --------
    >>> flat({"epoch": 1, "task_loss": {"mnist": 0.5}, "relation": [[0.75, 0.25]]})
    {'epoch': 1, 'task_loss mnist': 0.5, 'relation 0 0': 0.75, 'relation 0 1': 0.25}
    """
    numbers: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            numbers |= {f"{name} {inner}": number for inner, number in flat(value).items()}
        elif isinstance(value, list):
            numbers |= {f"{name} {inner}": number for inner, number in flat(dict(enumerate(value))).items()}  # type: ignore[arg-type]
        else:
            numbers[str(name)] = value
    return numbers
