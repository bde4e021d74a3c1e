"""Logs of known truth, as files: what a colleague sends."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike


def write_log(path: Path, columns: Mapping[str, ArrayLike]) -> Path:
    """A CSV file of these columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True))
    return path


def write_wealth(path: Path, n: int = 20_000) -> Path:
    """Wealth confounds: the rich were shown B and buy more, so B looks better by 0.05; A is better by 0.06."""
    rng = np.random.default_rng(1)
    age, wealth = rng.normal(40, 10, n).round(1), rng.normal(size=n).round(3)
    is_b = rng.random(n) < 1.0 / (1.0 + np.exp(-1.2 * wealth))
    chances = np.clip(0.4 + 0.06 * ~is_b + 0.12 * wealth, 0.0, 1.0)
    clicks = (rng.random(n) < chances).astype(int)
    return write_log(path, {"age": age, "wealth": wealth, "ad": np.where(is_b, "B", "A"), "click": clicks})


def write_leaked(path: Path, n: int = 4_000) -> Path:
    """What was paid came after the decision, and tells the outcome."""
    rng = np.random.default_rng(2)
    is_a = rng.random(n) < 0.5
    clicks = (rng.random(n) < 0.3 + 0.1 * is_a).astype(int)
    paid = (clicks + rng.normal(0.0, 0.01, n)).round(4)
    age, half = rng.normal(40, 10, n).round(1), np.full(n, 0.5)
    ads = np.where(is_a, "A", "B")
    return write_log(path, {"age": age, "paid": paid, "ad": ads, "click": clicks, "propensity": half})


def write_clean(path: Path, n: int = 2_000) -> Path:
    """A randomised trial: nothing speaks against it."""
    rng = np.random.default_rng(3)
    is_a, city = rng.random(n) < 0.5, rng.choice(["north", "south", "east", "west"], n)
    clicks = (rng.random(n) < 0.3 + 0.1 * is_a + 0.1 * (city == "east")).astype(int)
    age, half = rng.normal(40, 10, n).round(1), np.full(n, 0.5)
    columns = {"city": city, "age": age, "ad": np.where(is_a, "A", "B"), "click": clicks, "propensity": half}
    return write_log(path, columns)


def write_confounded_cities(path: Path, n: int = 6_000) -> Path:
    """Which ad was shown went by the city, and so does the outcome; the cities have no natural order."""
    rng = np.random.default_rng(4)
    city = rng.choice(["north", "south", "east", "west"], n)
    is_east = np.isin(city, ["east", "south"])
    is_a = rng.random(n) < np.where(is_east, 0.8, 0.2)
    clicks = (rng.random(n) < 0.2 + 0.02 * is_a + 0.3 * is_east).astype(int)
    return write_log(path, {"city": city, "ad": np.where(is_a, "A", "B"), "click": clicks})
