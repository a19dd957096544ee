"""Odds as sentences and tables show them."""

from __future__ import annotations

from math import floor, inf

MOST_ODDS = 10_000
"""Beyond which odds are not told apart."""


def shown_odds(bayes_factor: float) -> str:
    """Return the odds of a Bayes factor, by which verdicts go, rounded down: 18.9 to 1 is not yet 19 to 1.

    Examples
    --------
    >>> shown_odds(18.9), shown_odds(4.26), shown_odds(0.2), shown_odds(1e9), shown_odds(0.0)
    ('18 to 1', '4.2 to 1', '1 to 5.0', '10,000+ to 1', '1 to 10,000+')
    """
    size = bayes_factor if bayes_factor >= 1 else (1 / bayes_factor if bayes_factor > 0 else inf)
    if size > MOST_ODDS:
        text = f"{MOST_ODDS:,}+"
    else:
        text = f"{floor(size + 1e-9):,}" if size >= 10 else f"{floor(10 * size + 1e-9) / 10:.1f}"
    return f"{text} to 1" if bayes_factor >= 1 else f"1 to {text}"
