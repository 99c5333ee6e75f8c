"""Runs rows through an 8-64-64-3 network on one core, ours (`cargo run -p streamline-surrogate --example inference`) and PyTorch's,
in turn, and prints millions of rows a second: `speed.py [--check]`. Needs torch, as in the environment of `../predict`.
"""

import argparse
import pathlib
import subprocess
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMAND = ["cargo", "run", "--quiet", "--release", "-p", "streamline-surrogate", "--example", "inference"]
# How many times PyTorch's rate ours must be, by the size of the batch, and millions of rows a second.
FASTER = {100: 3.0, 1_000: 1.5, 10_000: 2.5}
LEAST = 7.0
ROUNDS = 3


def theirs(batch):
    """Rows a second, the best of a second of calls."""
    network = torch.nn.Sequential(
        torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3)
    ).eval()
    rows = torch.rand(batch, 8)
    begin, best = time.perf_counter(), float("inf")
    with torch.inference_mode():
        while time.perf_counter() - begin < 1:
            call = time.perf_counter()
            network(rows)
            best = min(best, time.perf_counter() - call)
    return batch / best


def ours():
    text = subprocess.run(COMMAND, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {int(batch): float(rate) for batch, rate in (line.split() for line in text.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where ours is not as many times as fast as claimed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    mine, peer = dict.fromkeys(FASTER, 0.0), dict.fromkeys(FASTER, 0.0)
    for _ in range(ROUNDS):
        for batch, rate in ours().items():
            mine[batch] = max(mine[batch], rate)
            peer[batch] = max(peer[batch], theirs(batch))
    print("| batch | ours, millions of rows/s | PyTorch | times |\n|---|---|---|---|")
    wrong = []
    for batch, least in FASTER.items():
        ratio = mine[batch] / peer[batch]
        print(f"| {batch:,} | {mine[batch] / 1e6:.1f} | {peer[batch] / 1e6:.1f} | {ratio:.1f} |")
        if ratio < least or mine[batch] < LEAST * 1e6:
            wrong.append(f"{batch}: {ratio:.2f} times, {mine[batch] / 1e6:.1f} million rows/s")
    if options.check:
        print("\n".join(["Does not hold:", *wrong]) if wrong else "Holds.")
        sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
