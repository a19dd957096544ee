"""What it changes that the words of free text are chosen before the rows are divided, held-out rows among them.

    python benchmarks/words.py --studies 200

Target and source are made-up messages of common words and of words of two topics. One logistic regression is fitted to
the target's rows, and one to those of both, in five folds of the target. The words and their weights come from all
rows, as within `gapmin compare` and `gapmin fit`; or from those that train. No label takes part in either. Shown is
the log-likelihood of all held-out labels by the first less that by the second, in nats: what held-out words bring.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from gapmin.study.features import TextFeatures

N_TARGET, N_SOURCE, N_COMMON, N_OF_TOPIC = 30, 150, 1500, 150


def messages(random: np.random.Generator, n_rows: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return texts of 25 words that are as frequent as words are, with 8 of a topic, and which topic it is."""
    frequency = 1 / np.arange(1, N_COMMON + 1)
    topic = random.integers(0, 2, n_rows)
    texts = []
    for label in topic:
        common = random.choice(N_COMMON, 25, p=frequency / frequency.sum())
        words = [*common, *(20 + 2 * random.integers(0, N_OF_TOPIC, 8) + label)]
        texts.append(" ".join(f"word{word}" for word in random.permutation(words)))
    return texts, topic


def log_likelihoods(texts: pd.DataFrame, y: NDArray[np.int64], *, every_row: bool) -> NDArray[np.float64]:
    """Return the log-likelihood of the target's labels for the target alone, and with the source."""
    target, found = np.arange(N_TARGET), np.zeros(2)
    for train, test in KFold(5, shuffle=True, random_state=0).split(target):
        kept = np.delete(np.arange(len(y)), test)
        X = TextFeatures().fit(texts if every_row else texts.iloc[kept]).transform(texts)
        for k, rows in enumerate((train, kept)):
            model = LogisticRegression(C=10).fit(X[rows], y[rows])
            share = 0.95 * model.predict_proba(X[test])[np.arange(test.size), y[test]] + 0.025
            found[k] += np.log(share).sum()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200)
    for name, honest in (("a source of the same rule", True), ("a source with labels at random", False)):
        change = []
        for seed in range(parser.parse_args().studies):
            random = np.random.default_rng(seed)
            (ours, y), (theirs, z) = messages(random, N_TARGET), messages(random, N_SOURCE)
            labels = np.concatenate([y, z if honest else random.permutation(z)])
            texts = pd.DataFrame({"text": ours + theirs})
            change.append(
                log_likelihoods(texts, labels, every_row=True) - log_likelihoods(texts, labels, every_row=False)
            )
        alone, both = np.transpose(change)
        for what, nats in (("target alone", alone), ("with the source", both), ("evidence", both - alone)):
            error = nats.std(ddof=1) / np.sqrt(nats.size)
            print(f"{name}, {what}: {nats.mean():+.2f} ± {error:.2f} nats, spread {nats.std(ddof=1):.2f}", flush=True)


if __name__ == "__main__":
    main()
