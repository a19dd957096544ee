"""The estimators: any objective by `MultitaskClassifier` and `MultitaskRegressor`, gapMTNN by `GapMTNNClassifier`."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions
from torch import nn

from gapmin.deep._regressor import NetworkRegressor
from gapmin.deep.config import parameter
from gapmin.deep.diagnostics import DiagnosedClassifier
from gapmin.deep.objectives import OBJECTIVES, Aggregated, GapMTNN, Objective, is_aggregator


def _of_gapmtnn(name: str) -> Any:
    """Return a parameter with the default and the constraints that `GapMTNN` declares."""
    return parameter(getattr(GapMTNN, name), *GapMTNN._parameter_constraints[name])


@dataclass(eq=False, repr=False)
class MultitaskClassifier(DiagnosedClassifier):
    """Classifiers of many tasks on one shared network.

    Parameters
    ----------
    objective : str or Objective, default="uniform"
        How the tasks are trained together: "uniform", "weighted", "advh", "advw", "multiobjective", "amtnn",
        "gapmtnn", or one with settings of its own, as ``AMTNN(distance=0.01)``. An aggregator of torchjd goes in too,
        as ``torchjd.aggregation.UPGrad()``: such models train in one process and are not saved.
    extractor : str or Module, optional
        The shared part: "lenet", "alexnet", "resnet18", "mlp", or a module of yours, which is copied. By default an
        MLP for rows of features and LeNet for images.
    head_hidden : int, optional
        Width of the hidden layer of each task's head; by default 128 for LeNet, else 256. With 0 heads are linear.
    head_activation : "elu", "relu" or "tanh", optional
        By default "elu" for LeNet, else "relu".
    epochs : int, default=120
        How often every row is seen.
    batch_size : int, default=64
        Rows of each task in a batch.
    lr : float, default=2e-4
        Adam's rate.
    lr_decay : float, default=0.95
        What it is multiplied by every `lr_every` epochs.
    lr_every : int, default=5
        After so many epochs the learning rate falls.
    weight_decay : float, default=1e-4
        The strength of the L2 penalty of the optimiser.
    optimizer : "adam", "adamw", "sgd", "rmsprop" or callable, default="adam"
        "sgd" is with Nesterov momentum 0.9. A class of `torch.optim` gets the parameters, `lr` and `weight_decay`;
        another callable the parameters alone, as ``lambda p: torch.optim.SGD(p, lr=0.1)``. Saved models do not hold it.
    scheduler : "step", "cosine", "constant" or callable, default="step"
        "step" is `lr_decay` and `lr_every`, "cosine" falls to 0 over `epochs`. A callable makes a scheduler of
        `torch.optim.lr_scheduler` of the optimiser; it is stepped once an epoch. Saved models do not hold it.
    gradient_clip : float, optional
        The largest norm that the gradient of extractor and heads may have; longer ones are shortened to it.
    precision : "32", "bf16-mixed" or "16-mixed", default="32"
        What the extractor computes in while it is trained: float32, bfloat16 or float16 where PyTorch's autocast takes
        them; weights, heads and losses are float32, and predictions are made in it. "16-mixed" is for CUDA and scales
        gradients.
    sampling : "cycle" or "once", default="cycle"
        Tasks of unequal size: the smaller ones start anew until the largest is through, or every row comes once.
    augment : callable or sequence of callables, optional
        What is done to each batch of rows before it is trained on, such as `RandomShift` and `RandomRotation` of
        images: takes and returns a tensor. Random numbers that it draws come from `random_state`. (scikit-learn takes
        what has a `transform` for a transformer, hence the name.)
    validation_fraction : float, optional
        Share of each task's rows that is not trained on but gives ``validation_loss`` and ``validation_error`` after
        each epoch; a task with one row of each class can spare none. `fit` takes given rows instead,
        ``validation_data``.
    early_stopping : bool, default=False
        Stop when ``validation_loss`` has not fallen for `patience` epochs, and go back to the state of its best epoch.
        Without `validation_fraction` and ``validation_data`` a tenth of the rows is set aside. For another figure, or
        more settings, give `callbacks` an `EarlyStopping`.
    patience : int, default=10
        Epochs to wait for a better one.
    warm_start : bool, default=False
        Whether `fit` goes on from the weights of the fit before, for `epochs` more; optimiser and learning rate start
        anew, and `history_` goes on. Columns, tasks, network and objective must be the same, classes among those known.
    class_weight : dict or "balanced", optional
        Weights of classes by label, or inversely proportional to the numbers of rows of each class within each task.
        Saved models do not hold it.
    callbacks : sequence of Callback, optional
        `EarlyStopping`, `CSVLogger`, `TensorBoard`, or your own.
    checkpoint_dir : path, optional
        Keep a checkpoint there, and go on from it if the fit was killed: the same call gives the same model. Needs an
        integer `random_state`.
    checkpoint_every : int, optional
        Steps between checkpoints; by default one an epoch.
    device : str, default="auto"
        "cpu", "cuda", "mps"; "auto" takes CUDA or MPS where there is one.
    devices : int or "auto", default=1
        How many processes train together, each on a device of its own (the extra ``distributed``); "auto":
        as many as there are GPUs, or as torchrun started. Every process takes its share of each batch, and the model
        is that of one process on the same batches: `batch_size` counts the rows of all. `fit` starts the processes
        itself and waits for them, from scripts, notebooks and tests alike; your script is not run again and needs no
        ``if __name__ == "__main__"``. Under torchrun (``strategy="ddp"`` or ``devices="auto"``) every process calls
        `fit` with all rows and has the model in the end. `callbacks` run in process 0 alone.
    strategy : "auto" or "ddp", default="auto"
        How processes train together: "ddp", PyTorch's DistributedDataParallel, each with all weights. "auto" is that
        where there is more than one. Batch normalisation is over the whole batch, dropout drawn by each for its rows.
    accelerator : "auto", "cpu", "gpu", "cuda" or "mps", default="auto"
        The kind of device; processors talk by gloo, CUDA by NCCL.
    timeout : float, default=1800
        Seconds, for a fit on several processes. It ends with an error, and ends all of them, when one gives no sign of
        life for so long (it is stopped, say) or keeps another waiting for so long. This is also the timeout of
        PyTorch's process groups. It does not limit a fit, nor a step that takes all processes as long. It does limit
        what one does alone, such as a callback in process 0.
    channels_last : bool, default=True
        Keep images in the memory format that convolutions are fastest on.
    num_workers : int, default=0
        Processes that read the items of a dataset ahead, in `fit` as in `predict`; rows in memory need none.
    random_state : int, RandomState instance or None, default=None
        Seed.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray
        Over all tasks.
    tasks_ : ndarray
        The tasks, sorted.
    history_ : list of dict
        A record of each epoch.
    relation_ : ndarray of shape (n_tasks, n_tasks)
        The weight that task j (row) gives to task k, where the objective has such.
    objective_ : Objective
        The fitted module, with the network as ``objective_.net``.
    callbacks_ : list of Callback
        The copies of `callbacks` that saw the fit.
    n_features_in_ : int
        Columns seen in `fit`.
    input_shape_ : tuple of int
        The shape of a row: one number for tables, three for images.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.deep import MultitaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> task = np.repeat(["a", "b"], 100)
    >>> clf = MultitaskClassifier("uniform", epochs=20, lr=0.01, random_state=0).fit(X, y, sample_task=task)
    >>> clf.score(X, y, sample_task=task) > 0.95
    True
    """

    objective: str | nn.Module = parameter("uniform", StrOptions(set(OBJECTIVES)), nn.Module)

    def _objective(self) -> Objective:
        return _objective_of(self.objective)


@dataclass(eq=False, repr=False)
class MultitaskRegressor(NetworkRegressor):
    """Regressors of many tasks on one shared network.

    Labels are centred and scaled over the rows of all tasks together, and the loss is the squared error. Every
    objective works as for classes, with these readings:

    - "uniform", "weighted", "advh", "advw", "multiobjective" and "amtnn" take the squared error for the cross entropy.
    - gapMTNN takes the label's quantile bins for classes, where it needs some: class centroids are means of the rows of
      a bin. Its relation is measured by how well probes tell the bins. Tasks without a common bin never share.
    - Rows of other tasks teach the label as it is. Tasks whose labels have other levels or units are told apart by
      their bins only as far as these differ: scale labels within tasks first, where only their order is alike.
    - `proposition_2` and `task_gaps` are of classes, and not here.

    Parameters
    ----------
    objective : str or Objective, default="uniform"
        As in `MultitaskClassifier`.
    n_bins : int, default=5
        Quantile bins of the label, over all tasks, that gapMTNN takes for classes; rows that are set aside are drawn
        from each in proportion.
    extractor, head_hidden, head_activation, epochs, batch_size, lr, lr_decay, lr_every, weight_decay, optimizer, \
scheduler, gradient_clip, precision, sampling, \
augment, validation_fraction, early_stopping, patience, warm_start, callbacks, checkpoint_dir, checkpoint_every, \
device, devices, strategy, accelerator, timeout, channels_last, num_workers, random_state, verbose
        As in `MultitaskClassifier`.

    Attributes
    ----------
    label_mean_, label_scale_ : float
        What labels are standardised with.
    bin_edges_ : ndarray
        Between the bins.
    tasks_, history_, relation_, objective_, callbacks_, n_features_in_, input_shape_
        As in `MultitaskClassifier`; losses are of scaled labels.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.deep import MultitaskRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> task = np.repeat(["a", "b"], 100)
    >>> y = X[:, 0] + np.where(task == "a", 1.0, 0.0)
    >>> model = MultitaskRegressor(epochs=30, lr=0.01, random_state=0).fit(X, y, sample_task=task)
    >>> model.score(X, y, sample_task=task) > 0.9
    True
    """

    objective: str | nn.Module = parameter("uniform", StrOptions(set(OBJECTIVES)), nn.Module)

    def _objective(self) -> Objective:
        return _objective_of(self.objective)


def _objective_of(given: str | nn.Module) -> Objective:
    if isinstance(given, str):
        return OBJECTIVES[given]()
    if is_aggregator(given):
        return Aggregated(deepcopy(given))
    if not isinstance(given, Objective):
        raise TypeError(
            f"objective is {type(given).__name__}: give a name ({', '.join(OBJECTIVES)}), an Objective, or an "
            "aggregator of torchjd"
        )
    return clone(given)


@dataclass(eq=False, repr=False, kw_only=True)
class GapMTNNClassifier(DiagnosedClassifier):
    """gapMTNN: many related tasks, each helped by the others as far as their performance gap is small.

    Algorithm 3 of *Gap Minimization for Knowledge Sharing and Transfer*. For more settings give
    `MultitaskClassifier` a `GapMTNN` objective.

    Parameters
    ----------
    lambda_semantic, lambda_marginal, lambda_relation : float, optional
        Weights of the distances between class centroids, of those between tasks, and of the relation's norm.
    relation_cost : "crossfit", "excess", "printed" or "gap", default="crossfit"
        As in `GapMTNN`.
    relation_data : "train" or "holdout", default="train"
        As in `GapMTNN`.
    marginal : "centroid", "h" or "wasserstein", default="centroid"
        How the tasks' features are compared.
    centroid_space : "head" or "extractor", default="head"
        All as in `GapMTNN`.
    extractor, head_hidden, head_activation, epochs, batch_size, lr, lr_decay, lr_every, weight_decay, optimizer, \
scheduler, gradient_clip, precision, sampling, \
augment, validation_fraction, early_stopping, patience, warm_start, class_weight, callbacks, checkpoint_dir, \
checkpoint_every, device, devices, strategy, accelerator, timeout, channels_last, num_workers, random_state, verbose
        As in `MultitaskClassifier`.

    Attributes
    ----------
    relation_ : ndarray of shape (n_tasks, n_tasks)
        Gamma: the weight that task j (row) gives to task k.
    classes_, tasks_, history_, objective_, callbacks_, n_features_in_, input_shape_
        As in `MultitaskClassifier`.

    Examples
    --------
    >>> from gapmin.datasets import load_digits_multitask
    >>> from gapmin.deep import GapMTNNClassifier
    >>> split = load_digits_multitask().split(0, train_size=50)
    >>> clf = GapMTNNClassifier(epochs=2, random_state=0).fit(split.X, split.y, sample_task=split.sample_task)
    >>> clf.relation_.shape
    (3, 3)
    """

    lambda_semantic: float | None = _of_gapmtnn("lambda_semantic")
    lambda_marginal: float | None = _of_gapmtnn("lambda_marginal")
    lambda_relation: float | None = _of_gapmtnn("lambda_relation")
    relation_cost: str = _of_gapmtnn("relation_cost")
    relation_data: str = _of_gapmtnn("relation_data")
    marginal: str = _of_gapmtnn("marginal")
    centroid_space: str = _of_gapmtnn("centroid_space")

    def _objective(self) -> Objective:
        shared = {*self._get_param_names()} & {*GapMTNN._get_param_names()}
        return GapMTNN(**{name: getattr(self, name) for name in shared})
