"""PACS: the error of gapMTNN and its baselines on frozen features of AlexNet's convolutions.

    python benchmarks/pacs.py [--seeds 5] [--jobs 2] [--share 0.1] [--epochs 40] [--out benchmarks/results/pacs.csv]

Not the paper's protocol: images are 128 x 128, the convolutions stay as they were trained on ImageNet, one shared layer
of 512 units is trained on their 2,304 features, and the splits are random draws of our own: a share of each task's rows
trains, the rest tests. Needs the images and the weights in $GAPMIN_DATA; the features are computed once and kept in the
user's cache. Writes every error to a CSV file, prints the table and writes it beside it; a run that was interrupted
goes on where it stopped.
"""

from __future__ import annotations

import argparse
import io
import os
import tarfile
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from PIL import Image

from gapmin.datasets import MultitaskProblem
from gapmin.deep import MLP, MultitaskClassifier, pretrained
from gapmin.deep.images import IMAGENET_MEAN, IMAGENET_STD
from multitask_grid import METHODS, measure, run_grid, table

TASKS = ["art_painting", "cartoon", "photo", "sketch"]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gapmin" / "pacs-alexnet-128.npz"


def compute_features() -> None:
    """Run every image through the convolutions and keep the features, if that was not done before."""
    if CACHE.exists():
        return
    net = pretrained("alexnet-features").eval()
    mean, std = (torch.tensor(each).view(1, 3, 1, 1) for each in (IMAGENET_MEAN, IMAGENET_STD))
    images, tasks, labels = [], [], []
    with tarfile.open(Path(os.environ["GAPMIN_DATA"]) / "pacs" / "pacs-128-q90.tar") as archive:
        for member in archive:
            if member.isfile() and member.name.lower().endswith((".jpg", ".png")):
                _, task, label, _ = member.name.split("/")
                picture = Image.open(io.BytesIO(archive.extractfile(member).read())).convert("RGB")
                images.append(np.asarray(picture))
                tasks.append(task)
                labels.append(label)
    features = []
    with torch.no_grad():
        for start in range(0, len(images), 100):
            x = torch.from_numpy(np.stack(images[start : start + 100])).permute(0, 3, 1, 2) / 255
            features.append(net.features((x - mean) / std).flatten(1).numpy())
            print(f"features: {start} of {len(images)}", end="\r", flush=True)
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    beside = CACHE.with_suffix(".part.npz")
    np.savez(beside, X=np.concatenate(features), task=tasks, y=labels)
    beside.replace(CACHE)


@cache
def problem() -> MultitaskProblem:
    """The four tasks, features scaled to mean square one over all rows."""
    with np.load(CACHE) as kept:
        X, task, y = kept["X"], kept["task"], kept["y"]
    X = X / np.float32(np.sqrt(np.mean(X**2)))
    tasks = {name: (X[task == name], y[task == name]) for name in TASKS}
    return MultitaskProblem("pacs", tasks, train_size=0.1)


def fit(setting: str, method: str, seed: int, methods: dict = METHODS) -> dict:
    """Return the error of each task in %."""
    share, epochs = setting.split(":")
    split = problem().split(seed, float(share))
    clf = MultitaskClassifier(
        methods[method](), extractor=MLP(split.X.shape[1], (512,)), epochs=int(epochs), device="cpu", random_state=seed
    )
    return measure(clf, split, TASKS)


def main() -> None:
    """Run what is missing and show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "pacs.csv")
    options = parser.parse_args()
    compute_features()
    setting = f"{options.share}:{options.epochs}"
    rows = run_grid(
        [(setting, m, seed) for seed in range(options.seeds) for m in METHODS], fit, options.out, options.jobs
    )
    found = table(rows, setting, TASKS)
    print(found)
    options.out.with_suffix(".md").write_text(f"# PACS on frozen features (SHARE:EPOCHS)\n\n{found}\n")


if __name__ == "__main__":
    main()
