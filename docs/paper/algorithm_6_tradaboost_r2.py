"""Algorithm 6, TrAdaBoost.R2: the printed lines, one after the other.

"correction 10" is row 10 of docs/fidelity.md; `error_on="all"` has epsilon as printed.
"""

from __future__ import annotations

from math import ceil, log, sqrt

import numpy as np

from docs.paper.boosted import PERFECT, ROUND_OFF, Array, Boosted, LearningAlgorithm, weighted_median


def tradaboost_r2(
    X_S: Array, y_S: Array, X_T: Array, y_T: Array, K: int, A: LearningAlgorithm, error_on: str = "target"
) -> Boosted:
    """Input: S_S, S_T, K, a learning algorithm A."""
    N_S, N_T = len(y_S), len(y_T)
    X, y = np.concatenate([X_S, X_T]), np.concatenate([y_S, y_T])
    h, alpha, epsilon = [], [], []
    # line 1: initialize D_1^S(i) = D_1^T(i) = 1 / (N_S + N_T), beta = 1 / (1 + sqrt(2 log N_S / K))
    D_S, D_T = np.full(N_S, 1 / (N_S + N_T)), np.full(N_T, 1 / (N_S + N_T))
    beta = 1 / (1 + sqrt(2 * log(N_S) / K))
    # line 2: for k = 1, ..., K
    for _ in range(K):
        # line 3: call A to train a base learner h_k using S_S and S_T with distribution D_k^S and D_k^T
        h_k = A(X, y, np.concatenate([D_S, D_T]))
        error_S, error_T = abs(h_k(X_S) - y_S), abs(h_k(X_T) - y_T)
        # line 4: let D_k = max{|h_k(x_i^S) - y_i^S|, |h_k(x_i^T) - y_i^T|}
        D_k = max(*error_S, *error_T)
        if D_k <= ROUND_OFF * max(abs(y)):  # correction 11; printed: 0 / 0
            error_S, error_T, D_k = 0 * error_S, 0 * error_T, 1.0
        # line 5: epsilon_k = sum_i D_k^S(i) |h_k(x_i^S) - y_i^S| / D_k + sum_i D_k^T(i) |h_k(x_i^T) - y_i^T| / D_k
        on_target = sum(D_T[i] * error_T[i] / D_k for i in range(N_T))
        epsilon_k = on_target / sum(D_T)  # correction 10; printed: as in the line
        if error_on == "all":
            epsilon_k = sum(D_S[i] * error_S[i] / D_k for i in range(N_S)) + on_target
        if epsilon_k >= 0.5:  # correction 11c; printed: no limit
            if not h:
                h, alpha, epsilon = [h_k], [1.0], [epsilon_k]
            break
        h.append(h_k)
        epsilon.append(epsilon_k)
        if epsilon_k == 0:  # correction 6; printed: 1 / 0
            alpha.append(PERFECT + sum(alpha))
            break
        alpha.append(log((1 - epsilon_k) / epsilon_k))  # correction 10; printed: alpha_k is in the output alone
        # line 6: for i = 1, ..., N_S
        for i in range(N_S):
            # line 7: D_{k+1}^S(i) = D_k^S(i) beta^(|h_k(x_i^S) - y_i^S| / D_k)
            D_S[i] = D_S[i] * beta ** (error_S[i] / D_k)
        # line 8: end for
        # line 9: for i = 1, ..., N_T
        for i in range(N_T):
            # line 10: beta_i^T = (1 - epsilon_k) / epsilon_k
            beta_i_T = (1 - epsilon_k) / epsilon_k
            # line 11: D_{k+1}^T(i) = D_k^T(i) (beta_i^T)^(|h_k(x_i^T) - y_i^T| / D_k)
            D_T[i] = D_T[i] * beta_i_T ** (error_T[i] / D_k)
        # line 12: end for
        # line 13: normalize D_{k+1}^S and D_{k+1}^T such that they sum to 1
        total = sum(D_S) + sum(D_T)
        D_S, D_T = D_S / total, D_T / total
    # line 14: end for
    last_half = slice(ceil(len(h) / 2) - 1, len(h))  # correction 9c; printed: K, not the number fitted

    def f(x: Array) -> Array:
        # output: f(x) = sign(sum of alpha_k h_k(x) for k = ceil(K / 2), ..., K)
        values = np.array([h_k(x) for h_k in h[last_half]])
        return weighted_median(values, np.array(alpha[last_half]))  # correction 10; printed: the sign of a sum

    return Boosted(f, alpha, epsilon, D_S, D_T)
