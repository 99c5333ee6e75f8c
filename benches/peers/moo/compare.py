"""Runs our search and the peers with the same settings, budget and seeds in turn, and prints tables of time, hypervolume and
IGD; then the building blocks against moocore. With `--check CLAIM` the exit status says whether the claim holds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import moocore
import numpy as np

HERE = Path(__file__).resolve().parent
OURS = HERE / "rust" / "target" / "release" / "moo-peers"
if "CARGO_TARGET_DIR" in os.environ:
    OURS = Path(os.environ["CARGO_TARGET_DIR"]) / "release" / "moo-peers"

GENERATIONS = 250
REFERENCE = 1.1
# How many times faster ours must be at each population size.
FASTER = {
    "pygmo": {100: 4, 200: 6, 1000: 20},
    "moors": {100: 4, 200: 6, 1000: 20},
    "optirustic": {100: 40, 200: 40, 1000: 40},
    "pymoo": {100: 40, 200: 40, 1000: 40},
}
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def last_line(command):
    text = subprocess.run(command, check=True, capture_output=True, text=True, env=ONE_THREAD).stdout
    return json.loads(text.strip().splitlines()[-1])


def run(peer, problem, population, seed, generations=GENERATIONS):
    arguments = [peer, problem, str(population), str(generations), str(seed)]
    if peer in ("ours", "moors", "optirustic"):
        return last_line([str(OURS), "run", *arguments])
    return last_line([sys.executable, str(HERE / "pypeer.py"), *arguments])


def true_front(problem):
    if problem == "DTLZ2":
        parts = 44
        rows = [(i, j, parts - i - j) for i in range(parts + 1) for j in range(parts + 1 - i)]
        rows = np.array(rows, dtype=float)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    x = np.linspace(0, 1, 1000)
    return np.column_stack([x, 1 - np.sqrt(x)])


def quality(problem, front):
    front = np.asarray(front)
    front = front[moocore.is_nondominated(front, keep_weakly=False)]
    volume = moocore.hypervolume(front, ref=np.full(front.shape[1], REFERENCE))
    return volume, moocore.igd(front, ref=true_front(problem))


def searches(populations, problems, peers, seeds):
    """All runs in turn, seed by seed: {(problem, population, peer): [(seconds, hypervolume, igd)]}."""
    results = {}
    for population in populations:
        for problem in problems:
            for seed in range(1, seeds + 1):
                for peer in peers:
                    found = run(peer, problem, population, seed)
                    row = (found["seconds"], *quality(problem, found["front"]))
                    results.setdefault((problem, population, peer), []).append(row)
    return results


def print_searches(results):
    print("| problem | population | search | seconds | times ours | hypervolume (quartiles) | IGD |")
    print("|---|---|---|---|---|---|---|")
    for (problem, population, peer), rows in results.items():
        seconds, volumes, distances = (np.array(column) for column in zip(*rows))
        ours = median(row[0] for row in results[problem, population, "ours"])
        low, mid, high = np.percentile(volumes, [25, 50, 75])
        print(
            f"| {problem} | {population} | {peer} | {median(seconds):.4f} | {median(seconds) / ours:.1f} |"
            f" {mid:.4f} ({low:.4f}–{high:.4f}) | {median(distances):.5f} |"
        )
    print(flush=True)


def check_speed(results):
    wrong = []
    for (problem, population, peer), rows in results.items():
        if peer == "ours":
            continue
        pairs = zip(rows, results[problem, population, "ours"])
        ratio = median(theirs[0] / ours[0] for theirs, ours in pairs)
        if ratio < FASTER[peer][population]:
            wrong.append(f"{problem} {population}: {ratio:.1f} times {peer}, not {FASTER[peer][population]}")
    return wrong


def check_quality(results):
    """Ours must be at least as good in the median as the best peer, within the quartiles between seeds."""
    wrong = []
    peers = {peer for (_, _, peer) in results if peer != "ours"}
    for problem, population, peer in results:
        if peer != "ours":
            continue
        ours = np.array(results[problem, population, "ours"])
        for other in sorted(peers):
            theirs = np.array(results[problem, population, other])
            for column, name, sign in ((1, "hypervolume", 1), (2, "IGD", -1)):
                mine, its = sign * ours[:, column], sign * theirs[:, column]
                spread = np.subtract(*np.percentile(mine, [75, 25])) / 2
                if np.median(mine) < np.median(its) - spread:
                    wrong.append(
                        f"{problem} {population}: {name} {sign * np.median(mine):.5f}, {other} {sign * np.median(its):.5f}"
                    )
    return wrong


# (building block, objectives, points)
RANKS = [("ranks", m, n) for n in (1000, 10_000, 100_000) for m in (2, 3, 5)]
VOLUMES = [("hypervolume", 2, 100_000), ("hypervolume", 3, 10_000), ("hypervolume", 4, 1000), ("hypervolume", 5, 200)]


def points(kind, objectives, count, seed=1):
    random = np.random.default_rng(seed)
    if kind == "ranks":
        return random.random((count, objectives))
    if objectives == 2:
        x = random.random(count)
        return np.column_stack([x, 1 - np.sqrt(x)])
    direction = np.abs(random.normal(size=(count, objectives)))
    return direction / np.linalg.norm(direction, axis=1, keepdims=True)


def their_block(kind, data, repeats):
    seconds = []
    reference = np.ones(data.shape[1])
    value = 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        value = moocore.pareto_rank(data) if kind == "ranks" else moocore.hypervolume(data, ref=reference)
        seconds.append(time.perf_counter() - start)
    if kind == "ranks":
        value = float(value[len(value) // 2])
    return seconds, value


def our_block(kind, file, objectives, threads, repeats):
    found = last_line([str(OURS), "block", kind, str(file), str(objectives), str(threads), str(repeats)])
    return found["seconds"], found["value"]


def blocks(cases, rounds=7):
    """The best time of each in several rounds, in turn: [(kind, m, n, moocore, ours, ours on two threads)]."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, objectives, count in cases:
            data = points(kind, objectives, count)
            file = Path(folder) / "points"
            data.astype("<f8").tofile(file)
            repeats = 3 if count >= 100_000 and objectives > 3 else 10
            best = [float("inf")] * 3
            for _ in range(rounds):
                theirs, their_value = their_block(kind, data, repeats)
                one, value = our_block(kind, file, objectives, 1, repeats)
                two, _ = our_block(kind, file, objectives, 2, repeats)
                best = [min(b, *s) for b, s in zip(best, (theirs, one, two))]
                assert abs(value - their_value) <= 1e-9 * abs(their_value), (kind, value, their_value)
            rows.append((kind, objectives, count, *best))
    return rows


def print_blocks(rows):
    print("| building block | objectives | points | moocore, ms | ours, ms | ratio | two threads, ms | gain |")
    print("|---|---|---|---|---|---|---|---|")
    for kind, m, n, theirs, one, two in rows:
        print(
            f"| {kind} | {m} | {n:,} | {theirs * 1e3:.3f} | {one * 1e3:.3f} | {theirs / one:.2f} |"
            f" {two * 1e3:.3f} | {one / two:.2f} |"
        )
    print(flush=True)


def check_blocks(rows):
    wrong = []
    for kind, m, n, theirs, one, _ in rows:
        wanted = 1.3 if kind == "ranks" and m <= 3 else 1.0
        if theirs / one < wanted:
            wrong.append(f"{kind} of {n} points with {m} objectives: {theirs / one:.2f} times moocore, not {wanted}")
    return wrong


def check_block_threads(rows):
    large = [row for row in rows if row[0] == "ranks" and row[2] == 100_000]
    return [
        f"ranks with {m} objectives on two threads: {one / two:.2f} times one, not 1.5"
        for _, m, _, _, one, two in large
        if one / two < 1.5
    ]


def growth():
    """The seconds of a whole run at 1,000 and at 10,000 individuals, in turn."""
    pairs = [(run("ours", "ZDT1", 1000, seed)["seconds"], run("ours", "ZDT1", 10_000, seed)["seconds"]) for seed in (1, 2, 3)]
    ratio = median(large / small for small, large in pairs)
    print(f"A run with 10,000 individuals costs {ratio:.1f} times one with 1,000.\n", flush=True)
    return [] if ratio <= 15 else [f"growth by {ratio:.1f}, not 15"]


def evaluation_threads():
    found = last_line([str(OURS), "threads", "10"])
    ratio = median(one / two for one, two in zip(found["one"], found["two"]))
    print(f"Two threads are {ratio:.2f} times as fast as one on evaluations of 10 µs.\n", flush=True)
    return [] if ratio >= 1.6 else [f"two threads {ratio:.2f} times one, not 1.6"]


PROBLEMS = ("ZDT1", "ZDT4", "DTLZ2")
PEERS = ("ours", "pygmo", "moors", "optirustic", "pymoo")


def claim_speed(quick):
    """4, 6 and 20 times faster than pygmo and moors at population 100, 200 and 1,000; 40 times faster than pymoo and optirustic."""
    results = {}
    for population, seeds in ((100, 3), (200, 3), (1000, 1)):
        results |= searches([population], PROBLEMS, PEERS, 1 if quick else seeds)
    print_searches(results)
    return check_speed(results)


def claim_quality(quick):
    """Median hypervolume and IGD over 15 seeds at least as good as the best peer's, within the spread between seeds."""
    results = searches([100] if quick else [100, 200], PROBLEMS, PEERS, 15)
    print_searches(results)
    return check_quality(results)


def claim_sorting(quick):
    """Sorting at least 1.3 times as fast as moocore for 2 and 3 objectives, never slower for 5."""
    rows = blocks(RANKS, 2 if quick else 7)
    print_blocks(rows)
    return check_blocks(rows)


def claim_hypervolume(quick):
    """Hypervolume never slower than moocore."""
    rows = blocks(VOLUMES, 2 if quick else 7)
    print_blocks(rows)
    return check_blocks(rows)


def claim_sorting_threads(quick):
    """Sorting 100,000 points on two threads at least 1.5 times as fast as on one."""
    rows = blocks([case for case in RANKS if case[2] == 100_000], 2 if quick else 9)
    print_blocks(rows)
    return check_block_threads(rows)


def claim_growth(_):
    """A run with 10,000 individuals costs at most 15 times one with 1,000."""
    return growth()


def claim_threads(_):
    """Two threads at least 1.6 times as fast as one on an evaluation of 10 µs."""
    return evaluation_threads()


def claim_large(_):
    """Quality and speed at population 1,000 over 15 seeds; without optirustic, which would take hours."""
    results = searches([1000], PROBLEMS, [peer for peer in PEERS if peer != "optirustic"], 15)
    print_searches(results)
    return check_quality(results) + check_speed(results)


CLAIMS = {
    "speed": claim_speed,
    "quality": claim_quality,
    "sorting": claim_sorting,
    "sorting-threads": claim_sorting_threads,
    "hypervolume": claim_hypervolume,
    "growth": claim_growth,
    "threads": claim_threads,
    "large": claim_large,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", metavar="CLAIM", choices=CLAIMS, help=f"check one of {', '.join(CLAIMS)}")
    parser.add_argument("--quick", action="store_true", help="fewer seeds and rounds")
    arguments = parser.parse_args()
    names = [arguments.check] if arguments.check else [name for name in CLAIMS if name != "large"]
    failed = False
    for name in names:
        print(f"## {name}\n\n{CLAIMS[name].__doc__}\n", flush=True)
        wrong = CLAIMS[name](arguments.quick)
        failed |= bool(wrong)
        print("\n".join(["Does not hold:", *wrong]) if wrong else "Holds.", end="\n\n", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
