"""Algorithm 4, TrAdaBoost: the printed lines, one after the other.

Labels are -1 and 1, as in the paper. "correction 9b" is row 9b of docs/fidelity.md; `error_on="all"` undoes it.
"""

from __future__ import annotations

from math import ceil, exp, log, sqrt

import numpy as np

from docs.paper.boosted import PERFECT, Array, Boosted, LearningAlgorithm


def tradaboost(
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
        wrong_S, wrong_T = h_k(X_S) != y_S, h_k(X_T) != y_T
        # line 4: epsilon_k = sum_i D_k^S(i) 1[h_k(x_i^S) != y_i^S] + sum_i D_k^T(i) 1[h_k(x_i^T) != y_i^T]
        epsilon_k = sum(D_T[i] * wrong_T[i] for i in range(N_T)) / sum(D_T)  # correction 9b; printed: as in the line
        if error_on == "all":
            epsilon_k = sum(D_S[i] * wrong_S[i] for i in range(N_S)) + sum(D_T[i] * wrong_T[i] for i in range(N_T))
        epsilon_k = min(epsilon_k, 0.499)  # correction 9b; printed: no limit
        h.append(h_k)
        epsilon.append(epsilon_k)
        if epsilon_k == 0:  # correction 6; printed: log(1 / 0)
            alpha.append(PERFECT + sum(abs(a) for a in alpha))
            break
        # line 5: alpha_k = log((1 - epsilon_k) / epsilon_k)
        alpha_k = log((1 - epsilon_k) / epsilon_k)
        alpha.append(alpha_k)
        # line 6: for i = 1, ..., N_S
        for i in range(N_S):
            # line 7: beta_i^S = beta 1[h_k(x_i^S) != y_i^S]
            beta_i_S = beta ** wrong_S[i]  # correction 9; printed: beta * 1[...]
            # line 8: D_{k+1}^S(i) = D_k^S(i) beta_i^S
            D_S[i] = D_S[i] * beta_i_S
        # line 9: end for
        # line 10: for i = 1, ..., N_T
        for i in range(N_T):
            # line 11: beta_i^T = alpha_k 1[h_k(x_i^T) != y_i^T]
            beta_i_T = alpha_k * wrong_T[i]
            # line 12: D_{k+1}^T(i) = D_k^T(i) exp(beta_i^T)
            D_T[i] = D_T[i] * exp(beta_i_T)
        # line 13: end for
        # line 14: normalize D_{k+1}^S and D_{k+1}^T such that they sum to 1
        total = sum(D_S) + sum(D_T)
        D_S, D_T = D_S / total, D_T / total
    # line 15: end for
    last_half = range(ceil(len(h) / 2) - 1, len(h))  # correction 9c; printed: K, not the number fitted

    def f(x: Array) -> Array:
        # output: f(x) = sign(sum of alpha_k h_k(x) for k = ceil(K / 2), ..., K)
        return np.sign(sum(alpha[k] * h[k](x) for k in last_half))

    return Boosted(f, alpha, epsilon, D_S, D_T)
