"""Our forecasts beside those of others, on the newest fifth of each trace, which nobody was fitted on."""

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import neural
import statistical

STEPS = 24
HORIZONS = [1, 12, 24]
LEVELS = [0.5, 0.9, 0.95]
OURS = ["ridge", "transformer on ridge", "transformer on last value", "combination"]
BEST = "combination"
ROOT = pathlib.Path(__file__).resolve().parents[3]


def our_forecasts(folder, into):
    """Runs ours, which writes its forecasts from every fourth origin."""
    command = ["cargo", "run", "--quiet", "--release", "--example", "forecasts", "--"]
    command += [str(folder), "--out", str(into), "--dump", str(into)]
    subprocess.run(command, cwd=ROOT, check=True)


def read_traces(dumps):
    """Name, values on the grid (NaN in gaps), index of the first point that is forecast, points a day."""
    traces = []
    for path in sorted(dumps.glob("*min.csv")):
        with open(path, newline="") as file:
            values = np.array([float(row["value"] or "nan") for row in csv.DictReader(file)])
        minutes = int(path.stem.rsplit("_", 1)[1].removesuffix("min"))
        first = len(values) - int(len(values) * 0.2 + 0.5)
        traces.append((path.stem, values, first, 24 * 60 // minutes))
    return traces


def filled(values):
    """With straight lines over the gaps."""
    known = np.flatnonzero(~np.isnan(values))
    return np.interp(np.arange(len(values)), known, values[known])


def read_ours(path, origins):
    """Point and quantiles by origin."""
    rows = {origin: [] for origin in origins}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if int(row["origin"]) in rows:
                rows[int(row["origin"])].append(row)
    answers = []
    for origin in origins:
        column = lambda key: np.array([float(row[key]) for row in rows[origin]])
        quantiles = {0.5: column("q50"), 0.9: column("q90"), 0.95: column("q95")}
        answers.append((column("point"), quantiles))
    return answers


def score(values, first, origins, answers, day):
    """MASE, WAPE and mean pinball loss over steps 1 to H, for each H."""
    truth = np.array([values[origin : origin + STEPS] for origin in origins])
    points = np.array([point for point, _ in answers])
    change = np.nanmean(np.abs(values[day:first] - values[: first - day]))
    pinball = np.zeros_like(truth)
    for level in LEVELS:
        error = truth - np.array([quantiles[level] for _, quantiles in answers])
        pinball += np.maximum(level * error, (level - 1) * error) / len(LEVELS)
    error = np.abs(truth - points)
    return {
        horizon: (
            np.nanmean(error[:, :horizon]) / change,
            np.nansum(error[:, :horizon]) / np.nansum(truth[:, :horizon]),
            np.nanmean(pinball[:, :horizon]) / change,
        )
        for horizon in HORIZONS
    }


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def published(folder, traces, dumps, every):
    """One step ahead against published forecasts of the same points: mean absolute errors."""
    for name, values, first, _ in traces:
        path = folder / f"baseline_classic_{name}.csv"
        if not path.exists():
            continue
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        # The table ends where the trace ends; both are of the newest fifth.
        start = len(values) - len(rows)
        origins = [origin for origin in range(first, len(values) - STEPS, every) if origin >= start]
        models = [key for key in rows[0] if key not in ("date", "t")]
        errors = {model: [] for model in models}
        for origin in origins:
            row = rows[origin - start]
            if abs(float(row["t"]) - values[origin]) > 0.02 * values[origin]:
                sys.exit(f"{path}: line {origin - start + 2} is not of the same point")
            for model in models:
                errors[model].append(abs(float(row[model]) - values[origin]))
        means = {model: float(np.mean(part)) for model, part in errors.items()}
        for ours in OURS:
            answers = read_ours(dumps / f"{name}.{ours}.csv", origins)
            part = [abs(point[0] - values[origin]) for (point, _), origin in zip(answers, origins)]
            means[ours] = float(np.mean(part))
        least = min(means.values())
        print(f"\n{name}, one step ahead, mean absolute error by the least:")
        for model, error in sorted(means.items(), key=lambda item: item[1]):
            print(f"  {model:28} {error / least:6.3f}")
        yield name, means


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="folder of NAME_5min.csv and NAME_15min.csv")
    parser.add_argument("--every", type=int, default=8, help="points from one origin to the next, a multiple of 4")
    parser.add_argument("--check", choices=["quality"], help="exit with 0 only if the claim holds")
    arguments = parser.parse_args()
    if arguments.every % 4:
        parser.error("--every must be a multiple of 4")

    scores = {}
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        dumps = pathlib.Path(folder)
        our_forecasts(arguments.folder, dumps)
        traces = read_traces(dumps)
        tables = dict(published(arguments.folder, traces, dumps, 4))
        for name, truth, first, day in traces:
            values = filled(truth)
            origins = list(range(first, len(values) - STEPS + 1, arguments.every))
            answers = {model: read_ours(dumps / f"{name}.{model}.csv", origins) for model in OURS}
            names = ["AutoETS", "AutoARIMA", "AutoTheta"]
            tasks = [(model, values, first, origins, STEPS, day) for model in names]
            answers.update(zip(names, pool.map(statistical.forecasts, tasks)))
            for model in neural.MODELS:
                answers[model], seconds = neural.forecasts(model, values, first, origins, STEPS, day)
                print(f"{name}: {model} trained in {seconds:.1f} s", file=sys.stderr)
            for model, given in answers.items():
                scores.setdefault(model, {})[name] = score(truth, first, origins, given, day)
            print(f"\n{name}: MASE, WAPE, pinball loss over 1, 12 and 24 steps")
            for model in answers:
                parts = [f"{m:7.4f} {w:7.4f} {p:7.4f}" for m, w, p in scores[model][name].values()]
                print(f"  {model:28} {'   '.join(parts)}", flush=True)

    print("\nby that of the combination, geometric mean over the traces: MASE and pinball loss over 1, 12 and 24 steps")
    ratios = {}
    for model, by_trace in scores.items():
        for horizon in HORIZONS:
            for which, what in [(0, "mase"), (2, "pinball")]:
                parts = [part[horizon][which] / scores[BEST][name][horizon][which] for name, part in by_trace.items()]
                ratios[model, horizon, what] = geometric_mean(parts)
        parts = [f"{ratios[model, h, 'mase']:6.3f} {ratios[model, h, 'pinball']:6.3f}" for h in HORIZONS]
        print(f"  {model:28} {'   '.join(parts)}")

    outside = [model for model in scores if model not in OURS]
    holds = all(ratios[model, h, what] >= 1 for model in scores for h in (12, 24) for what in ("mase", "pinball"))
    holds &= all(ratios[model, 1, "mase"] >= 0.99 for model in scores)
    holds &= all(ratios[model, h, "mase"] >= 1.25 for model in outside for h in (12, 24))
    holds &= all(means[BEST] <= min(means[model] for model in means if model not in OURS) for means in tables.values())
    print(f"\nnobody better over 12 and 24 steps, within 1 % of the best at one step, a fifth below every peer: {holds}")
    if arguments.check == "quality" and not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
