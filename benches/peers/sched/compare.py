"""Holds our schedulers against OR-tools (CP-SAT) on the same inputs: price and time side by side.

    python3 benches/peers/sched/compare.py [--limit SECONDS] [--sizes 100x10,300x30,...] [--check]

Run it from the workspace root. It sets up a virtual environment in benches/peers/.venv-sched with OR-tools from PyPI the
first time, builds our example `growth` in release mode, and prints a table. The solver gets the same problem: cores, memory,
network memory and slots with slot sharing, the lowest price of the TaskManagers in use; instances of one operator are equal,
so that it decides on numbers of instances rather than on each one. Traffic is left out of its model. With `--check` the exit
status says whether our best price is nowhere above the solver's.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
VENV = ROOT / "benches" / "peers" / ".venv-sched"


def enter_environment():
    python = VENV / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == VENV.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "ortools==9.15.6755"], check=True)
    (VENV / ".gitignore").write_text("*\n")
    os.execv(python, [str(python), *sys.argv])


def solve(problem, limit):
    """Price, seconds and whether it is proven; the price is None if nothing was found."""
    from ortools.sat.python import cp_model

    begin = time.perf_counter()
    operators = {}
    for demand in problem["demands"]:
        instance = demand["instance"]
        size = (
            math.ceil(round(demand["cpu_cores"] * 1000, 6)),
            math.ceil(demand["memory_bytes"] / 2**20),
            math.ceil(demand["network_bytes"] / 2**20),
        )
        key = (instance["job"], instance["operator"])
        operators.setdefault(key, [size, demand["sharing_group"], 0])[2] += 1
    managers = [
        (
            (round(m["cpu_cores"] * 1000), m["memory_bytes"] // 2**20, m["network_bytes"] // 2**20),
            m["slots"],
            round(m["price"] * 10),
        )
        for m in problem["task_managers"]
    ]
    model = cp_model.CpModel()
    used = [model.new_bool_var("") for _ in managers]
    slots = {}
    placed = [[] for _ in managers]
    for size, group, count in operators.values():
        numbers = [model.new_int_var(0, min(count, capacity[1]), "") for capacity in managers]
        model.add(sum(numbers) == count)
        for manager, number in enumerate(numbers):
            placed[manager].append((size, number))
            if (group, manager) not in slots:
                slots[group, manager] = model.new_int_var(0, managers[manager][1], "")
            model.add(number <= slots[group, manager])
        if time.perf_counter() - begin > limit:
            return None, time.perf_counter() - begin, False
    by_manager = [[] for _ in managers]
    for (_, manager), variable in slots.items():
        by_manager[manager].append(variable)
    for manager, (capacity, slot_count, _) in enumerate(managers):
        for resource in range(3):
            load = sum(size[resource] * number for size, number in placed[manager])
            model.add(load <= capacity[resource] * used[manager])
        model.add(sum(by_manager[manager]) <= slot_count * used[manager])
    # TaskManagers of one size are interchangeable.
    last = {}
    for manager, kind in enumerate(managers):
        if kind in last:
            model.add(used[manager] <= used[last[kind]])
        last[kind] = manager
    model.minimize(sum(kind[2] * variable for kind, variable in zip(managers, used)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(limit - (time.perf_counter() - begin), 1)
    solver.parameters.num_workers = os.cpu_count() or 1
    status = solver.solve(model)
    seconds = time.perf_counter() - begin
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, seconds, False
    return solver.objective_value / 10, seconds, status == cp_model.OPTIMAL


def main():
    enter_environment()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60, help="seconds that the solver gets, model building included")
    parser.add_argument("--sizes", default="100x10,300x30,1000x100,3000x300,10000x1000", help="instances x TaskManagers")
    parser.add_argument("--check", action="store_true", help="fail where the solver finds a lower price")
    options = parser.parse_args()
    build = ["cargo", "build", "--quiet", "--release", "-p", "streamline-sched", "--example", "growth"]
    subprocess.run(build, cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    growth = target / "release" / "examples" / "growth"
    print(f"{'instances':>9} {'TaskManagers':>12}  {'scheduler':<24}{'time':>12}{'price':>9}  above bound")
    dearer = []
    for size in options.sizes.split(","):
        instances, managers = size.split("x")
        run = subprocess.run([growth, "--json", instances, managers], check=True, capture_output=True, text=True)
        problem = json.loads(run.stdout)

        def row(name, seconds, price, note=""):
            gap = f"{(price / problem['bound'] - 1) * 100:9.2f} %" if price is not None else "         –  "
            shown = f"{price:9.1f}" if price is not None else "  nothing"
            print(f"{instances:>9} {managers:>12}  {name:<24}{seconds:10.3f} s{shown}  {gap}{note}", flush=True)

        for ours in problem["ours"]:
            row(ours["name"], ours["seconds"], ours["price"], "" if ours["complete"] else "  incomplete")
        price, seconds, proven = solve(problem, options.limit)
        row("OR-tools CP-SAT", seconds, price, "  proven" if proven else "")
        best = min((ours["price"] for ours in problem["ours"] if ours["complete"]), default=math.inf)
        if price is not None and best > price + 1e-6:
            dearer.append(f"{size}: {best:.1f} against {price:.1f}")
    if options.check:
        print("\n".join(["Does not hold:", *dearer]) if dearer else "Holds: nowhere a higher price.")
        sys.exit(bool(dearer))


if __name__ == "__main__":
    main()
