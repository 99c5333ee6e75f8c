"""Holds our surrogate against scikit-learn's models on the same folds of measured operators, and prints a table.

    compare.py FOLDS.csv [--check]

`run` makes the file. The peers see the same numbers of a query, as logarithms, and learn the logarithm of each quantity from
the same four folds. With `--check` the exit status says whether ours is no worse than the best of them on each set and
better on the mean.
"""

import argparse
import csv
import sys

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

NUMBERS = ["unit_rate", "parallelism", "segment_bytes", "buffer_timeout_ms", "input_rate", "selectivity", "record_bytes",
           "colocation_load"]
# What was measured in each set.
QUANTITIES = {
    "profiled": ["throughput", "latency", "cpu"],
    "phoebe": ["throughput", "latency"],
    "demeter": ["throughput", "latency"],
    "zerotune": ["cpu"],
}
PEERS = {
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
    "boosting": lambda: GradientBoostingRegressor(random_state=1),
    "forest": lambda: RandomForestRegressor(n_estimators=200, random_state=1, n_jobs=-1),
}
# A difference in R² that is no more than chance between seeds.
CHANCE = 0.005


def logarithm(value):
    return np.log(np.maximum(value, 1e-3))


def r_squared(measured, said):
    spread = np.sum((measured - np.mean(measured)) ** 2)
    return 1 - np.sum((measured - said) ** 2) / spread


def scores(measured, said):
    """R² of the logarithm, R², and the median q-error."""
    error = np.abs(logarithm(measured) - logarithm(said))
    return r_squared(logarithm(measured), logarithm(said)), r_squared(measured, said), np.exp(np.median(error))


def features(rows):
    numbers = np.array([[float(row[name]) for name in NUMBERS] for row in rows])
    kinds = sorted({row["kind"] for row in rows})
    one_hot = np.array([[row["kind"] == kind for kind in kinds] for row in rows], dtype=float)
    return np.hstack([logarithm(numbers), one_hot])


def answers(rows, quantity):
    """What each model says of each row, from the folds that the row is not in."""
    inputs, folds = features(rows), np.array([int(row["fold"]) for row in rows])
    measured = np.array([float(row[quantity]) for row in rows])
    said = {name: np.array([float(row[f"{name} {quantity}"]) for row in rows]) for name in ("ours", "analytic")}
    for name, make in PEERS.items():
        said[name] = np.empty(len(rows))
        for fold in np.unique(folds):
            model = make().fit(inputs[folds != fold], logarithm(measured[folds != fold]))
            said[name][folds == fold] = np.exp(model.predict(inputs[folds == fold]))
    return measured, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folds", help="what the example `folds` printed")
    parser.add_argument("--check", action="store_true", help="fail where a peer is better")
    options = parser.parse_args()
    with open(options.folds, newline="") as file:
        table = list(csv.DictReader(file))
    wrong, ours, best = [], [], []
    print("| set | quantity | model | R² of the logarithm | R² | median q-error |\n|---|---|---|---|---|---|")
    for name, quantities in QUANTITIES.items():
        rows = [row for row in table if row["set"] == name]
        for quantity in quantities if rows else []:
            measured, said = answers(rows, quantity)
            found = {model: scores(measured, what) for model, what in said.items()}
            for model, (logarithmic, plain, q_error) in found.items():
                print(f"| {name} | {quantity} | {model} | {logarithmic:.3f} | {plain:.3f} | {q_error:.3f} |")
            mine = found.pop("ours")[0]
            theirs = max(score[0] for score in found.values())
            ours.append(mine)
            best.append(theirs)
            if mine < theirs - CHANCE:
                wrong.append(f"{name} {quantity}: {mine:.3f} against {theirs:.3f}")
    if np.mean(ours) <= np.mean(best):
        wrong.append(f"mean: {np.mean(ours):.3f} against {np.mean(best):.3f}")
    print(f"\nMean R² of the logarithm: ours {np.mean(ours):.3f}, the best of the others on each {np.mean(best):.3f}.")
    if options.check:
        print("\n".join(["Does not hold:", *wrong]) if wrong else "Holds.")
        sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
