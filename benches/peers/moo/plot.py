"""Draws how the cost of sorting and of whole runs grows with the number of points, ours and the peers'."""

import argparse

import matplotlib.pyplot as plt

from compare import blocks, run

DECADES = (100, 1000, 10_000, 100_000)
# Where a run of a peer would take minutes it stops.
POPULATIONS = {
    "ours": (100, 300, 1000, 3000, 10_000),
    "pygmo": (100, 300, 1000),
    "moors": (100, 300, 1000),
    "optirustic": (100, 300),
    "pymoo": (100, 300, 1000),
}


def draw_sorting(axes):
    for objectives, colour in ((2, "C0"), (3, "C1"), (5, "C2")):
        rows = blocks([("ranks", objectives, count) for count in DECADES], rounds=3)
        for column, style, name in ((3, "--", "moocore"), (4, "-", "ours")):
            seconds = [row[column] for row in rows]
            axes.loglog(DECADES, seconds, style, marker=".", color=colour, label=f"{name}, {objectives} objectives")
    axes.set(title="Non-dominated sorting", xlabel="points", ylabel="seconds")


def draw_runs(axes):
    for peer, populations in POPULATIONS.items():
        seconds = [run(peer, "ZDT1", population, 1)["seconds"] for population in populations]
        axes.loglog(populations, seconds, marker=".", label=peer)
    axes.set(title="250 generations of ZDT1", xlabel="population", ylabel="seconds")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the picture to write, such as growth.svg")
    file = parser.parse_args().file
    figure, pair = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for axes, draw in zip(pair, (draw_sorting, draw_runs)):
        draw(axes)
        axes.grid(which="both", alpha=0.2)
        axes.legend(fontsize="small")
    figure.savefig(file)


if __name__ == "__main__":
    main()
