"""What is known about the sources: the one object that says which of them help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from html import escape
from math import inf, log, nan
from typing import Any, Self

from gapmin._utils.extras import how_to_install
from gapmin._utils.json_values import to_json
from gapmin._utils.text import format_number, joined

from .constants import LEAVE_OUT, NOT_NEEDED, UNDECIDED, USE, USE_FROM, VERDICTS, Sources
from .odds import shown_odds

NUMBERS = ("log_likelihood", "with_rows", "without_rows", "evidence", "evidence_error", "prior", "weight")
ERROR_RATE, RMSE = ERRORS = ("error rate", "root mean squared error")
"""The metrics where no `scoring` is given; the lower, the better."""

_NO_USE = "no model here does better than a constant"

SMALLEST_SHARE = 1e-250
"""By which odds are divided at the least, so that they stay finite."""


@dataclass(frozen=True)
class Score:
    """A metric on held-out target rows, with its 95% interval over the rows.

    Parameters
    ----------
    value : float
        The metric.
    low : float
        The lower end of the interval.
    high : float
        The upper end of the interval.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Hypothesis:
    """What the target's rows say about a set of sources.

    Attributes
    ----------
    sources : tuple of int
        Empty for the target alone.
    log_likelihood : float
        Of the target's labels under held-out predictions, in nats.
    with_rows, without_rows : float
        The two brackets of the evidence, against the target alone.
    evidence : float
        Of the hypothesis against the target alone, in nats.
    evidence_error : float
        The standard error of its first bracket over the rows.
    prior, weight : float
        Before and after the rows were seen.
    scores : dict of str to Score
        By metric.
    chosen : dict of str to str
        The setting that each kind of learner was given.
    kind_weights : dict of str to float
        What each kind counts in the prediction.
    """

    sources: Sources
    log_likelihood: float
    with_rows: float
    without_rows: float
    evidence: float
    evidence_error: float
    prior: float
    weight: float
    scores: dict[str, Score] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    kind_weights: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceVerdict:
    """What is said of one source, everywhere.

    Attributes
    ----------
    number : int
        In `sample_domain`.
    name : str
        What it is called.
    n_rows : int
        How many rows it has.
    verdict : "use", "leave out", "not enough evidence" or "not needed beside the others"
        What to do with it.
    bayes_factor : float
        The posterior odds over the prior odds that it belongs to the set used.
    evidence : float
        Of the source alone beside the target, in nats.
    weight : float
        Of all sets that hold it.
    findings : tuple of str
        What was noticed about it.
    shapley, shapley_error : float or None
        Its share of the evidence for all sources, where that was asked for, and the standard error of a sampled one.
    """

    number: int
    name: str
    n_rows: int
    verdict: str
    bayes_factor: float
    evidence: float
    weight: float
    findings: tuple[str, ...] = ()
    shapley: float | None = None
    shapley_error: float | None = None


@dataclass(frozen=True)
class Evidence:
    """Everything that is known about which sources help.

    Attributes
    ----------
    hypotheses : tuple of Hypothesis
        The target alone first.
    sources : tuple of SourceVerdict
        In the order of their numbers.
    task : "classification" or "regression"
        Whether labels are classes or numbers.
    n_target : int
        Labelled target rows that were predicted by models without them.
    metrics : tuple of str
        What the scores are; the first is that of the headline.
    model, change, baseline : dict of str to Score
        By metric: the whole model, the mixture of the hypotheses; the model less the target alone; the most frequent
        class or the mean.
    findings : tuple of str
        About the whole: limits that were met, a model of one class, a forced choice.
    """

    hypotheses: tuple[Hypothesis, ...]
    sources: tuple[SourceVerdict, ...]
    task: str
    n_target: int
    metrics: tuple[str, ...] = ()
    model: dict[str, Score] = field(default_factory=dict)
    change: dict[str, Score] = field(default_factory=dict)
    baseline: dict[str, Score] = field(default_factory=dict)
    findings: tuple[str, ...] = ()

    @property
    def transfer_weight(self) -> float:
        """The weight of all hypotheses that use a source."""
        return float(sum(each.weight for each in self.hypotheses if each.sources))

    @property
    def bayes_factor(self) -> float:
        """The posterior odds over the prior odds that any source is used."""
        alone, others = self.hypotheses[0], self.hypotheses[1:]
        prior = sum(each.prior for each in others)
        if not prior:
            return 0.0
        weight = sum(each.weight for each in others)
        return float(weight / max(alone.weight, SMALLEST_SHARE) * alone.prior / prior)

    @property
    def together(self) -> tuple[str, ...]:
        """The names of sources of which some help, where the target's rows do not tell which of them.

        Two equally good sources need not be used both, so the odds for each of them stay low.
        """
        if any(each.verdict == USE for each in self.sources) or self.bayes_factor < USE_FROM:
            return ()
        found = [each for each in self.sources if each.verdict == UNDECIDED and each.bayes_factor >= 1]
        found += [each for each in self.sources if each.verdict == NOT_NEEDED]
        return tuple(each.name for each in sorted(found, key=lambda each: each.number)) if len(found) > 1 else ()

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the sources to use."""
        return self.together or tuple(each.name for each in self.sources if each.verdict == USE)

    @property
    def verdict(self) -> str:
        """The verdict on transfer as a whole: "use", "leave out" or "not enough evidence"."""
        said = {each.verdict for each in self.sources}
        return USE if self.used else UNDECIDED if UNDECIDED in said or not said else LEAVE_OUT

    def __getitem__(self, source: int | str) -> SourceVerdict:
        """Return what is said of a source, by its number or name."""
        for each in self.sources:
            if source in (each.number, each.name):
                return each
        raise KeyError(f"there is no source {source!r}: choose from {[each.name for each in self.sources]}")

    def renamed(self, names: Mapping[int, str]) -> Self:
        """Return the same evidence with other names of the sources, by their numbers.

        Parameters
        ----------
        names : mapping of int to str
            The new names, by number.
        """
        return replace(self, sources=tuple(replace(each, name=names[each.number]) for each in self.sources))

    def rows_that_would_tell(self, source: int | str) -> float | None:
        """Return about how many target rows would decide about a source; None where that cannot be told.

        The logarithm of the Bayes factor, by which the verdict goes, is taken to grow with the rows. It cannot be told
        where that is no larger than the standard error of the source's evidence.

        Parameters
        ----------
        source : int or str
            The number or the name of a source.
        """
        asked = self[source]
        size = abs(log(asked.bayes_factor)) if asked.bayes_factor > 0 else inf
        one = next((each for each in self.hypotheses if each.sources == (asked.number,)), None)
        if one is None or size == 0 or size <= one.evidence_error:
            return None
        return max(self.n_target * log(USE_FROM) / size, float(self.n_target))

    @property
    def _is_worse(self) -> bool:
        """Whether the first metric of the model is worse than without sources."""
        if not self.change:
            return False
        change = self.change[self.metrics[0]].value
        return change > 0 if self.metrics[0] in ERRORS else change < 0

    @property
    def _is_useless(self) -> bool:
        """Whether neither the model nor the target alone is better than the baseline by the first metric."""
        if not self.baseline:
            return False
        metric = self.metrics[0]
        sign = 1 if metric in ERRORS else -1
        found = (self.model[metric], self.hypotheses[0].scores[metric])
        return min(sign * each.value for each in found) >= sign * self.baseline[metric].value

    def decision(self, worse: bool | None = None, useless: bool | None = None) -> str:
        """Say what to do with each source, from the verdicts alone.

        Parameters
        ----------
        worse : bool or None, default=None
            Whether the model has a higher error than the target alone; None reads it off `change`. Where it has, the
            word "use" does not stand: the source makes the true labels more probable, and that is all.
        useless : bool or None, default=None
            Whether no model is better than the baseline; None compares them. There "use" does not stand either.

        Returns
        -------
        str
            A sentence for each verdict.
        """
        if not self.sources:
            return "There is no source: the model is of the target alone."
        together = self.together
        named = {
            said: [each.name for each in self.sources if each.verdict == said and each.name not in together]
            for said in VERDICTS
        }
        parts = []
        drawback = "the error does not fall" if (self._is_worse if worse is None else worse) else ""
        if not drawback and (self._is_useless if useless is None else useless):
            drawback = _NO_USE
        if self.used and drawback:
            fits = "fits" if len(self.used) == 1 else "fit"
            parts.append(f"{joined(self.used)} {fits} the target, but {drawback}")
        elif drawback == _NO_USE:
            parts.append(f"{_NO_USE[:1].upper()}{_NO_USE[1:]}")
        elif together:
            parts.append(
                f"Use {joined(together)} together (odds {shown_odds(self.bayes_factor)}). "
                "The rows do not tell which of them help"
            )
        elif self.used:
            parts.append(f"Use {joined(self.used)}")
        if named[UNDECIDED]:
            parts.append(f"Not enough evidence about {joined(named[UNDECIDED])}")
        if named[LEAVE_OUT]:
            parts.append(f"Leave out {joined(named[LEAVE_OUT])}")
        if named[NOT_NEEDED]:
            parts.append(f"Not needed beside the others: {joined(named[NOT_NEEDED])}")
        return ". ".join(parts) + "."

    def headline(self) -> str:
        """Return the decision, and the scores in the cross-validation that weighed the sources."""
        said = self.decision()
        if not self.model or not self.sources:
            return said
        metric, alone = self.metrics[0], self.hypotheses[0].scores[self.metrics[0]]
        model, change = self.model[metric], self.change[metric]
        if not self.used:
            return f"{said} Held-out {metric} of the model: {shown(model.value, metric)}."
        return (
            f"{said} Held-out {metric}: {shown(model.value, metric)} with, {shown(alone.value, metric)} without "
            f"(95% interval of the change: {shown(change.low, metric)} to {shown(change.high, metric)})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON knows."""
        return dict(to_json(asdict(self))) | {"verdict": self.verdict, "headline": self.headline()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Return what `to_dict` was made of; numbers that JSON does not know come back as infinite.

        Parameters
        ----------
        found : dict
            What `to_dict` returned.
        """

        def scores(given: Mapping[str, Any]) -> dict[str, Score]:
            return {str(name): _score(each) for name, each in given.items()}

        hypotheses = []
        for each in found["hypotheses"]:
            known: dict[str, Any] = {name: _number(each[name]) for name in NUMBERS}
            known["sources"] = tuple(int(number) for number in each["sources"])
            known["scores"] = scores(each["scores"])
            known["chosen"] = {str(kind): str(setting) for kind, setting in each["chosen"].items()}
            known["kind_weights"] = {str(kind): _number(share) for kind, share in each["kind_weights"].items()}
            hypotheses.append(Hypothesis(**known))
        sources = []
        for each in found["sources"]:
            known = {name: _number(each[name]) for name in ("bayes_factor", "evidence", "weight")}
            known |= {name: int(each[name]) for name in ("number", "n_rows")}
            known |= {name: None if each[name] is None else float(each[name]) for name in ("shapley", "shapley_error")}
            known |= {"name": str(each["name"]), "findings": tuple(map(str, each["findings"]))}
            sources.append(SourceVerdict(verdict=VERDICTS[VERDICTS.index(each["verdict"])], **known))
        if found["task"] not in ("classification", "regression") or not hypotheses or hypotheses[0].sources:
            raise ValueError("this is no evidence: it has no hypothesis of the target alone, or no task")
        made = cls(tuple(hypotheses), tuple(sources), str(found["task"]), int(found["n_target"]))
        parts: dict[str, Any] = {part: scores(found[part]) for part in ("model", "change", "baseline")}
        metrics, noted = tuple(map(str, found["metrics"])), tuple(map(str, found["findings"]))
        return replace(made, metrics=metrics, findings=noted, **parts)

    def to_frame(self, part: str = "sources") -> Any:
        """Return a table of pandas, a row for each of the "sources" or of the "hypotheses".

        Parameters
        ----------
        part : str
            Which table: see the first line.
        """
        if part not in ("sources", "hypotheses"):
            raise ValueError(f"part is {part!r}: use 'sources' or 'hypotheses'")
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(f"to_frame makes a table of pandas: {how_to_install('cli')}") from error
        if part == "sources":
            return pd.DataFrame([asdict(each) for each in self.sources]).rename(columns={"name": "source"})
        return pd.DataFrame([self._row(each) for each in self.hypotheses])

    def _row(self, hypothesis: Hypothesis) -> dict[str, Any]:
        row: dict[str, Any] = {
            "sources": joined([self[number].name for number in hypothesis.sources]) or "target alone"
        }
        row |= {name: getattr(hypothesis, name) for name in NUMBERS}
        for metric, score in hypothesis.scores.items():
            row |= {metric: score.value, f"{metric}, low": score.low, f"{metric}, high": score.high}
        return row

    def __str__(self) -> str:
        lines = [self.headline(), ""]
        for each in self.sources:
            lines.append(f"{each.name}: {each.verdict}, odds {shown_odds(each.bayes_factor)}, weight {each.weight:.2f}")
            lines += [f"  {found}" for found in each.findings]
        return "\n".join([*lines, *self.findings])

    def _repr_html_(self) -> str:
        header = "".join(f"<th>{name}</th>" for name in ("source", "rows", "verdict", "odds", "weight", "noticed"))
        rows = "".join(
            f"<tr><td>{escape(each.name)}</td><td>{each.n_rows:,}</td><td>{each.verdict}</td>"
            f"<td>{shown_odds(each.bayes_factor)}</td><td>{each.weight:.2f}</td>"
            f"<td>{escape('; '.join(each.findings))}</td></tr>"
            for each in self.sources
        )
        noted = "".join(f"<li>{escape(each)}</li>" for each in self.findings)
        return f"<p>{escape(self.headline())}</p><table><tr>{header}</tr>{rows}</table>" + (
            f"<ul>{noted}</ul>" if noted else ""
        )


def shown(value: float, metric: str) -> str:
    """Return a score as a sentence has it.

    Examples
    --------
    >>> shown(0.1234, "error rate"), shown(-0.1234, "root mean squared error")
    ('12.3%', '-0.123')
    """
    return f"{100 * value:.1f}%" if metric == ERROR_RATE else format_number(value)


def _number(value: Any, missing: float = -inf) -> float:
    return missing if value is None else float(value)


def _score(given: Mapping[str, Any]) -> Score:
    return Score(_number(given["value"], nan), _number(given["low"], -inf), _number(given["high"], inf))
