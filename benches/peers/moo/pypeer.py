"""Runs a Python peer on the command line's problem and prints what it took as JSON."""

import json
import sys
import time

import numpy as np


def run_pymoo(problem, population, generations, seed):
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.optimize import minimize
    from pymoo.problems import get_problem

    problems = {
        "ZDT1": lambda: get_problem("zdt1"),
        "ZDT4": lambda: get_problem("zdt4"),
        "DTLZ2": lambda: get_problem("dtlz2", n_var=12, n_obj=3),
    }
    problem = problems[problem]()
    algorithm = NSGA2(pop_size=population, crossover=SBX(eta=15, prob=0.9), mutation=PM(eta=20))
    start = time.process_time()
    # pymoo counts the first population as a generation.
    result = minimize(problem, algorithm, ("n_gen", generations + 1), seed=seed, verbose=False)
    return time.process_time() - start, result.F


def run_pygmo(problem, population, generations, seed):
    import pygmo

    problems = {
        "ZDT1": lambda: pygmo.zdt(prob_id=1, param=30),
        "ZDT4": lambda: pygmo.zdt(prob_id=4, param=10),
        "DTLZ2": lambda: pygmo.dtlz(prob_id=2, dim=12, fdim=3),
    }
    problem = pygmo.problem(problems[problem]())
    variables = problem.get_nx()
    start = time.process_time()
    algorithm = pygmo.algorithm(
        pygmo.nsga2(gen=generations, cr=0.9, eta_c=15.0, m=1 / variables, eta_m=20.0, seed=seed)
    )
    result = algorithm.evolve(pygmo.population(problem, size=population, seed=seed))
    seconds = time.process_time() - start
    return seconds, result.get_f()


def main():
    peer, problem, population, generations, seed = sys.argv[1:]
    run = {"pymoo": run_pymoo, "pygmo": run_pygmo}[peer]
    # Once in small, so that imports and compilation are not counted.
    run(problem, 20, 2, 1)
    seconds, front = run(problem, int(population), int(generations), int(seed))
    print(json.dumps({"seconds": seconds, "front": np.asarray(front).tolist()}))


main()
