"""check.py NAME RESULTS.json: compares a Google Benchmark result with the goals of NAME in goals.json.

A goal is {"benchmark": regex, "counter": name, "at_least" or "at_most": number, "over": regex, "why": sentence}.
The best run of each benchmark counts; with "over", the figure is the ratio of the two benchmarks' counters.
Exits with 1 when a goal is missed or names nothing that was measured.
"""

import json
import pathlib
import re
import sys


def figure(runs, pattern, counter, largest):
    """The best value of a counter among the runs whose whole name matches, or None."""
    values = [run[counter] for run in runs if re.fullmatch(pattern, run["name"]) and counter in run]
    return (max if largest else min)(values) if values else None


def judge(goal, runs):
    """(reached, sentence) for one goal."""
    largest = "at_least" in goal
    limit = goal["at_least"] if largest else goal["at_most"]
    what = f'{goal["benchmark"]} {goal["counter"]}'
    value = figure(runs, goal["benchmark"], goal["counter"], largest)
    if "over" in goal and value is not None:
        what += f' over {goal["over"]}'
        base = figure(runs, goal["over"], goal["counter"], largest)
        value = value / base if base else None
    if value is None:
        return False, f"{what}: not measured"
    reached = value >= limit if largest else value <= limit
    sign = ">=" if largest else "<="
    return reached, f"{what}: {value:.4g}, goal {sign} {limit:.4g}"


def main(name, results):
    goals = json.loads((pathlib.Path(__file__).parent / "goals.json").read_text()).get(name, [])
    report = json.loads(pathlib.Path(results).read_text())
    runs = [run for run in report["benchmarks"] if run.get("run_type") != "aggregate"]
    errors = [run for run in runs if run.get("error_occurred")]
    for run in errors:
        print(f'ERROR  {run["name"]}: {run.get("error_message", "")}')
    runs = [run for run in runs if not run.get("error_occurred")]
    missed = 0
    for goal in goals:
        reached, sentence = judge(goal, runs)
        missed += not reached
        print(f'{"ok    " if reached else "MISSED"} {sentence}' + (f'  ({goal["why"]})' if "why" in goal else ""))
    print(f"{name}: {len(goals) - missed} of {len(goals)} goals reached")
    return 1 if missed or not runs else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
