"""Algorithm 2, gapBoostR: the printed lines, one after the other.

"correction 11b" is row 11b of docs/fidelity.md.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from docs.paper.boosted import PERFECT, ROUND_OFF, Array, Boosted, LearningAlgorithm


def gapboostr(
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
    # line 1: initialize D_1^S(i) = D_1^T(i) = 1 / (N_S + N_T) for all i
    D_S, D_T = np.full(N_S, 1 / (N_S + N_T)), np.full(N_T, 1 / (N_S + N_T))
    # line 2: for k = 1, ..., K
    for _ in range(K):
        # line 3: call A to train a base learner h_k using S_S and S_T with distribution D_k^S and D_k^T
        h_k = A(X, y, np.concatenate([D_S, D_T]))
        # line 4: call A to train an auxiliary learner h_k^S over source domain using S_S with distribution D_k^S
        h_k_S = A(X_S, y_S, D_S)
        # line 5: call A to train an auxiliary learner h_k^T over target domain using S_T with distribution D_k^T
        h_k_T = A(X_T, y_T, D_T)
        error_S, error_T = abs(h_k(X_S) - y_S), abs(h_k(X_T) - y_T)
        # line 6: E_k = max{|h_k(x_i^S) - y_i^S|, |h_k(x_i^T) - y_i^T|}; epsilon_{k,i} = |h_k(x_i) - y_i| / E_k
        E_k = max(*error_S, *error_T)
        if E_k <= ROUND_OFF * max(abs(y)):  # corrections 6 and 11; printed: 0 / 0, then log(1 / 0)
            h.append(h_k)
            epsilon.append(0.0)
            alpha.append(PERFECT + sum(alpha))
            break
        epsilon_k_S, epsilon_k_T = error_S / E_k, error_T / E_k
        # line 7: epsilon_k = sum_i D_k^S(i) epsilon_{k,i}^S + sum_i D_k^T(i) epsilon_{k,i}^T, alpha_k = log(...)
        epsilon_k = sum(D_S[i] * epsilon_k_S[i] for i in range(N_S)) + sum(D_T[i] * epsilon_k_T[i] for i in range(N_T))
        if epsilon_k >= 0.5:  # correction 11c; printed: alpha_k <= 0
            if not h:
                h, alpha, epsilon = [h_k], [1.0], [epsilon_k]
            break
        alpha_k = log((1 - epsilon_k) / epsilon_k)
        h.append(h_k)
        epsilon.append(epsilon_k)
        alpha.append(alpha_k)
        # line 8: E_k^S = max{|h_k^S(x_i^S) - h_k^T(x_i^S)|}; kappa_{k,i}^S = |h_k^S(x_i^S) - h_k^T(x_i^S)| / E_k^S
        difference_S = abs(h_k_S(X_S) - h_k_T(X_S))
        E_k_S = max(difference_S)
        agree_S = E_k_S <= ROUND_OFF * max(abs(h_k_T(X_S)))
        kappa_k_S = 0 * difference_S if agree_S else difference_S / E_k_S  # correction 11b; printed: 0 / 0
        # line 9: E_k^T = max{|h_k^S(x_i^T) - h_k^T(x_i^T)|}; kappa_{k,i}^T = |h_k^S(x_i^T) - h_k^T(x_i^T)| / E_k^T
        difference_T = abs(h_k_S(X_T) - h_k_T(X_T))
        E_k_T = max(difference_T)
        agree_T = E_k_T <= ROUND_OFF * max(abs(h_k_T(X_T)))
        kappa_k_T = 0 * difference_T if agree_T else difference_T / E_k_T  # correction 11b; printed: 0 / 0
        # line 10: for i = 1, ..., N_S
        for i in range(N_S):
            # line 11: beta_i^S = rho_S kappa_{k,i}^S + alpha_k epsilon_{k,i}^S, D_{k+1}^S(i) = D_k^S(i) exp(beta_i^S)
            beta_i_S = rho_S * kappa_k_S[i] + alpha_k * epsilon_k_S[i]
            D_S[i] = D_S[i] * exp(beta_i_S)
        # line 12: end for
        # line 13: for i = 1, ..., N_T
        for i in range(N_T):
            # line 14: beta_i^T = rho_T kappa_{k,i}^T + alpha_k epsilon_{k,i}^T, D_{k+1}^T(i) = D_k^T(i) exp(beta_i^T)
            beta_i_T = rho_T * kappa_k_T[i] + alpha_k * epsilon_k_T[i]
            D_T[i] = D_T[i] * exp(beta_i_T)
        # line 15: end for
        # line 16: Z_{k+1} = sum_i D_{k+1}^S(i) + sum_i D_{k+1}^T(i)
        Z = sum(D_S) + sum(D_T)
        # line 17: if D_{k+1}^S(i), D_{k+1}^T(i) > gamma_max Z_{k+1}
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
    # line 22: normalize alpha_k such that sum_k alpha_k = 1
    alpha = [alpha_k / sum(alpha) for alpha_k in alpha]

    def f(x: Array) -> Array:
        # output: f(x) = sum_k alpha_k h_k(x)
        return sum(alpha_k * h_k(x) for alpha_k, h_k in zip(alpha, h, strict=True))

    return Boosted(f, alpha, epsilon, D_S, D_T)
