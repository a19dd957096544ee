"""What a network trained on ImageNet sees in images: rows of features, computed once and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.extras import install_hint

from ._files import cache_folder, written_to_cache
from ._image_sets import ARCHIVE_SIZE, images_path, load_pacs
from ._multitask import MultitaskProblem
from ._problem import LabelledRows
from ._reading import decoding

if TYPE_CHECKING:
    from torch import nn

BATCH = 100


def frozen_features(problem: MultitaskProblem, network: str | nn.Module = "resnet18") -> MultitaskProblem:
    """Replace the images of a problem by the features that a network has for them, without training it.

    Parameters
    ----------
    problem : MultitaskProblem
        Images `(N, 3, H, W)`: bytes, or numbers between 0 and 1.
    network : str or nn.Module, default="resnet18"
        "resnet18" (512 features), "alexnet" (4,096) or "alexnet-features", AlexNet's convolutions (2,304 features of
        128 x 128 pixels, 9,216 of 224 x 224), with ImageNet weights as `gapmin.deep.weights.pretrained` finds them; or
        a module that makes a row of each image. It is put in evaluation mode.

    Returns
    -------
    MultitaskProblem
        The same rows in the same order as float32 features, divided by one number so that their mean square over all
        rows, those that test too, is one.

    Raises
    ------
    FileNotFoundError
        When the weights are not there and cannot be downloaded.
    ImportError
        When PyTorch is missing.

    Notes
    -----
    Pixels are normalised as ImageNet's were for these weights. The features are kept in the user's cache under a
    digest of the images and the network, so the second call reads them.

    Examples
    --------
    >>> from gapmin.datasets import frozen_features, load_office31
    >>> frozen_features(load_office31(), "resnet18")  # doctest: +SKIP
    <MultitaskProblem 'office31, resnet18': amazon 2817, dslr 498, webcam 795 rows of 512>
    """
    return _cached(_key(problem, network), lambda: _run(problem, network))


def load_pacs_features(network: str = "alexnet-features", size: int = ARCHIVE_SIZE) -> MultitaskProblem:
    """Load the four tasks of PACS as features of a network that ImageNet trained, with random splits.

    The same as `frozen_features(load_pacs(size, splits="random"), network)`, but the images are only read the first
    time, which takes about three minutes on one core.

    Parameters
    ----------
    network : str, default="alexnet-features"
        As in `frozen_features`.
    size : int, default=128
        Pixels of a side.

    Returns
    -------
    MultitaskProblem
        The four tasks.

    Examples
    --------
    >>> from gapmin.datasets import load_pacs_features
    >>> load_pacs_features()  # doctest: +SKIP
    <MultitaskProblem 'pacs, alexnet-features': art_painting 2048, cartoon 2344, photo 1670, sketch 3929 rows of 2304>
    """
    where = images_path(size)
    if where.is_dir():  # nothing short of reading the files tells whether they are the same
        return frozen_features(load_pacs(size, splits="random"), network)
    with where.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    return _cached(f"pacs-{size}-{network}-{digest}", lambda: _run(load_pacs(size, splits="random"), network))


def _run(problem: MultitaskProblem, network: str | nn.Module) -> MultitaskProblem:
    extractor = _extractor(network)

    def features(tasks: Mapping[str, LabelledRows]) -> dict[str, LabelledRows]:
        return {task: (_features(X, extractor), y) for task, (X, y) in tasks.items()}

    tasks, test = features(problem.tasks), features(problem.test or {})
    rows = [X for part in (tasks, test) for X, _ in part.values()]
    scale = np.sqrt(sum(np.sum(np.square(X), dtype=np.float64) for X in rows) / sum(X.size for X in rows))
    if not np.isfinite(scale) or scale == 0:
        raise ValueError(f"the features of {problem.name!r} have the mean square {scale**2}: give a trained network")
    for X in rows:
        X /= np.float32(scale)
    name = network if isinstance(network, str) else type(network).__name__
    description = f"{problem.description}; features of {name}".lstrip("; ")
    return replace(problem, name=f"{problem.name}, {name}", tasks=tasks, test=test or None, description=description)


def _extractor(network: str | nn.Module) -> nn.Module:
    with install_hint("deep", "features are computed with PyTorch, which is not installed"):
        from torch import nn

        from gapmin.deep.weights import pretrained
    if network == "alexnet-features":
        # Without the pooling to 6 x 6, which only repeats what smaller images have.
        network = nn.Sequential(pretrained("alexnet-features").get_submodule("features"), nn.Flatten())
    elif isinstance(network, str):
        network = pretrained(network)
    return network.eval()


def _features(X: NDArray[Any], extractor: nn.Module) -> NDArray[np.float32]:
    import torch

    from gapmin.deep.images import IMAGENET_MEAN, IMAGENET_STD

    if X.ndim != 4 or X.shape[1] != 3:
        raise ValueError(f"X has the shape {X.shape}: frozen_features wants images (N, 3, H, W)")
    mean, std = (torch.tensor(each).view(1, 3, 1, 1) for each in (IMAGENET_MEAN, IMAGENET_STD))
    white = 255 if X.dtype == np.uint8 else 1
    parts = []
    with torch.no_grad():
        for start in range(0, len(X), BATCH):
            pixels = torch.tensor(X[start : start + BATCH]).float() / white
            parts.append(extractor((pixels - mean) / std).numpy())
    return np.concatenate(parts)


def _key(problem: MultitaskProblem, network: str | nn.Module) -> str:
    seen = hashlib.sha256(f"{problem.name} {problem.train_size} {problem.description}".encode())
    for part in (problem.tasks, problem.test or {}):
        for task, (X, y) in part.items():
            seen.update(f"{task} {X.shape} {X.dtype} {y.dtype}".encode())
            seen.update(np.ascontiguousarray(X).data)
            seen.update(np.ascontiguousarray(y).tobytes())
    if isinstance(network, str):
        name = network
    else:
        name = type(network).__name__
        seen.update(repr(network).encode())
        for tensor in network.state_dict().values():
            seen.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    return f"{problem.name}-{name}-{seen.hexdigest()[:16]}".replace(" ", "-").replace("/", "-").replace(",", "")


def _cached(key: str, compute: Callable[[], MultitaskProblem]) -> MultitaskProblem:
    """Return the problem that is kept under a key in the user's cache; compute and keep it when it is not."""
    path = cache_folder() / "features" / f"{key}.npz"
    if path.is_file():
        with suppress(ValueError):  # a damaged file is computed anew
            return _read(path)
    problem = compute()
    with written_to_cache(path) as draft:
        _write(problem, draft)
    return problem


def _write(problem: MultitaskProblem, path: Path) -> None:
    arrays = {
        f"{kind}_{part}_{number}": array
        for part, tasks in (("train", problem.tasks), ("test", problem.test or {}))
        for number, pair in enumerate(tasks.values())
        for kind, array in zip("Xy", pair, strict=True)
    }
    about = {name: getattr(problem, name) for name in ("name", "train_size", "description", "every_class")}
    arrays["about"], arrays["names"] = np.array(json.dumps(about)), np.array(list(problem.tasks))
    np.savez(path, **arrays)  # type: ignore[arg-type]


def _read(path: Path) -> MultitaskProblem:
    with decoding(path), np.load(path, allow_pickle=False) as arrays:
        about = json.loads(str(arrays["about"]))

        def tasks(part: str) -> dict[str, LabelledRows]:
            names = enumerate(arrays["names"].tolist())
            return {task: (arrays[f"X_{part}_{k}"], arrays[f"y_{part}_{k}"]) for k, task in names}

        test = tasks("test") if "X_test_0" in arrays else None
        return MultitaskProblem(tasks=tasks("train"), test=test, **about)
