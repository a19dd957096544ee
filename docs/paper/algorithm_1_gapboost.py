"""Algorithm 1, gapBoost: the printed lines, one after the other.

Labels are -1 and 1, as in the paper. "correction 6" is row 6 of docs/fidelity.md.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from docs.paper.boosted import PERFECT, Array, Boosted, LearningAlgorithm


def gapboost(
    X_S: Array,
    y_S: Array,
    X_T: Array,
    y_T: Array,
    K: int,
    rho_S: float,
    rho_T: float,
    gamma_max: float,
    A: LearningAlgorithm,
) -> Boosted:
    """Input: S_S, S_T, K, rho_S <= rho_T <= 0, gamma_max, a learning algorithm A."""
    N_S, N_T = len(y_S), len(y_T)
    X, y = np.concatenate([X_S, X_T]), np.concatenate([y_S, y_T])
    h, alpha, epsilon = [], [], []
    # line 1: initialize D_1^S(i) = D_1^T(i) = 1 / (N_S + N_T)
    D_S, D_T = np.full(N_S, 1 / (N_S + N_T)), np.full(N_T, 1 / (N_S + N_T))
    # line 2: for k = 1, ..., K
    for _ in range(K):
        # line 3: call A to train a base learner h_k using S_S and S_T with distribution D_k^S and D_k^T
        h_k = A(X, y, np.concatenate([D_S, D_T]))
        # line 4: call A to train an auxiliary learner h_k^S over source domain using S_S with distribution D_k^S
        h_k_S = A(X_S, y_S, D_S)
        # line 5: call A to train an auxiliary learner h_k^T over target domain using S_T with distribution D_k^T
        h_k_T = A(X_T, y_T, D_T)
        wrong_S, wrong_T = h_k(X_S) != y_S, h_k(X_T) != y_T
        # line 6: epsilon_k = sum_i D_k^S(i) 1[h_k(x_i^S) != y_i^S] + sum_i D_k^T(i) 1[h_k(x_i^T) != y_i^T]
        epsilon_k = sum(D_S[i] * wrong_S[i] for i in range(N_S)) + sum(D_T[i] * wrong_T[i] for i in range(N_T))
        h.append(h_k)
        epsilon.append(epsilon_k)
        if not wrong_S.any() and not wrong_T.any():  # correction 6; printed: log(1 / 0)
            alpha.append(PERFECT + sum(abs(a) for a in alpha))
            break
        # line 7: alpha_k = log((1 - epsilon_k) / epsilon_k)
        alpha_k = log((1 - epsilon_k) / epsilon_k)
        alpha.append(alpha_k)
        disagree_S, disagree_T = h_k_S(X_S) != h_k_T(X_S), h_k_S(X_T) != h_k_T(X_T)
        # line 8: for i = 1, ..., N_S
        for i in range(N_S):
            # line 9: beta_i^S = rho_S 1[h_k^S(x_i^S) != h_k^T(x_i^S)] + alpha_k 1[h_k(x_i^S) != y_i^S]
            beta_i_S = rho_S * disagree_S[i] + alpha_k * wrong_S[i]
            # line 10: D_{k+1}^S(i) = D_k^S(i) exp(beta_i^S)
            D_S[i] = D_S[i] * exp(beta_i_S)
        # line 11: end for
        # line 12: for i = 1, ..., N_T
        for i in range(N_T):
            # line 13: beta_i^T = rho_T 1[h_k^S(x_i^T) != h_k^T(x_i^T)] + alpha_k 1[h_k(x_i^T) != y_i^T]
            beta_i_T = rho_T * disagree_T[i] + alpha_k * wrong_T[i]
            # line 14: D_{k+1}^T(i) = D_k^T(i) exp(beta_i^T)
            D_T[i] = D_T[i] * exp(beta_i_T)
        # line 15: end for
        # line 16: Z_{k+1} = sum_i D_{k+1}^S(i) + sum_i D_{k+1}^T(i)
        Z = sum(D_S) + sum(D_T)
        # line 17: if any D_{k+1}^S(i), D_{k+1}^T(i) > gamma_max Z_{k+1}
        for D in (D_S, D_T):
            for i in range(len(D)):
                if D[i] > gamma_max * Z:  # correction 4b; printed: which rows are set is not said
                    # line 18: D_{k+1}^S(i), D_{k+1}^T(i) = gamma_max Z_{k+1}
                    D[i] = gamma_max * Z
        # line 19: end if
        # line 20: normalize D_{k+1}^S and D_{k+1}^T such that they sum to 1
        total = sum(D_S) + sum(D_T)
        D_S, D_T = D_S / total, D_T / total
    # line 21: end for

    def f(x: Array) -> Array:
        # output: f(x) = sign(sum_k alpha_k h_k(x))
        return np.sign(sum(alpha_k * h_k(x) for alpha_k, h_k in zip(alpha, h, strict=True)))

    return Boosted(f, alpha, epsilon, D_S, D_T)
