"""A supervised data set as a bandit's world: the action is a guess at the class, the outcome whether it is right."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.worlds.drawn import DrawnWorld
from headstart.worlds.table import PotentialOutcomes


class Classification:
    """Users are rows of a labelled data set, drawn with replacement; outcome 1 for the right class, else 0.

    The usual way to try contextual bandits where the truth is known (Dudik, Langford and Li 2011). Regret is
    contextual: against the right class, so a round costs 1 or nothing.

    Parameters
    ----------
    features, labels
        (n, d) and (n,); by default scikit-learn's digits, 1,797 images of 64 pixels and 10 classes.
    n_log
        Rows of the log, drawn with replacement.
    trust
        The log's policy: with this chance the guess of a logistic regression that was trained on every tenth
        row, otherwise any class with the same chance. 0 is a randomised log.

    Notes
    -----
    Contexts are the features, each column centred and scaled to one standard deviation (a constant column to
    0), then divided by sqrt(d) so that a context has squared length 1 on average; and a last column of 1.
    """

    def __init__(
        self,
        features: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        n_log: int = 500,
        trust: float = 0.5,
    ) -> None:
        if (features is None) != (labels is None):
            raise OptionError("features and labels must be given together")
        if features is None or labels is None:
            from sklearn.datasets import load_digits

            features, labels = load_digits(return_X_y=True)
        matrix, given = np.asarray(features, dtype=np.float64), np.asarray(labels)
        if matrix.ndim != 2 or given.shape != (len(matrix),):
            raise OptionError(f"features must be (n, d) and labels (n,), got {matrix.shape} and {given.shape}")
        if not np.isfinite(matrix).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
            raise OptionError(f"features in row {row}, column {column} must be finite, got {matrix[row, column]}")
        self.classes, classes = np.unique(given, return_inverse=True)
        if self.classes.size < 2:
            raise OptionError(f"labels must name at least two classes, got {self.classes.size}")
        self.n_actions = self.classes.size
        contexts = _scaled(matrix)
        outcomes = np.eye(self.n_actions)[classes]
        policy = _policy(contexts, classes, self.n_actions, check_number("trust", trust, 0.0, 1.0))
        self._table = PotentialOutcomes(outcomes, contexts, policy, n_log, is_contextual=True)
        self.n_features = contexts.shape[1]

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A log of `n_log` rows and a stream of users."""
        return self._table.draw(rng)


def _scaled(features: Floats) -> Floats:
    centred = features - features.mean(axis=0)
    deviations = centred.std(axis=0)
    is_constant = deviations <= 1e-12 * np.abs(features).max(axis=0, initial=0.0)
    scaled = np.where(is_constant, 0.0, centred / np.where(is_constant, 1.0, deviations))
    return np.column_stack([scaled / math.sqrt(features.shape[1]), np.ones(len(features))])


def _policy(contexts: Floats, classes: Integers, n_actions: int, trust: float) -> Floats:
    policy = np.full((len(contexts), n_actions), (1.0 - trust) / n_actions)
    if trust > 0.0:
        from sklearn.linear_model import LogisticRegression

        shown = classes[::10]
        if np.unique(shown).size > 1:
            guesses = LogisticRegression(max_iter=1000).fit(contexts[::10], shown).predict(contexts)
        else:  # too few rows to learn from: always the one class seen
            guesses = np.full(len(contexts), shown[0])
        policy[np.arange(len(contexts)), guesses] += trust
    return policy
