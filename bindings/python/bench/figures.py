"""Tables of figures beside peers, measured in rounds, and their record."""

import csv
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

HEADER = "date machine commit rustc peers table case figure unit ratios reach met".split()
RECORD = Path(__file__).parents[3] / "bench/record"


def machine():
    about = Path("/proc/cpuinfo").read_text()
    name, family, model = (
        re.search(rf"^{key}\s*: (.*)$", about, re.M)[1] for key in ("model name", "cpu family", "model")
    )
    return f"{name} family {family} model {model} ({os.cpu_count()} cores)"


def output(*command):
    """The output of a command, or an empty text if it cannot be run."""
    try:
        return subprocess.check_output(command, cwd=Path(__file__).parent, text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit():
    """The commit, followed by `+` if the sources had changed since."""
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)bench/record")
    return output("git", "rev-parse", "--short", "HEAD") + ("+" if changed else "")


def circumstances(peers):
    """The first fields of a line."""
    return [time.strftime("%F"), machine(), commit(), output("rustc", "--version"), peers]


def append(name, lines):
    """Appends lines to a record, which is created with its header if it does not exist."""
    path = RECORD / name
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(HEADER)
        writer.writerows(lines)


class Reach:
    """What a figure should be: at most a value, or at most a part of a peer's figure."""

    def __init__(self, most, peer=None):
        self.most, self.peer = most, peer

    def words(self, unit):
        return f"<= {self.most:g} {unit}" if self.peer is None else f"<= {self.most:g} x {self.peer}"


def in_rounds(rounds, cases):
    """The samples of each case: a round takes one of each, one after the other."""
    samples = {name: [] for name in cases}
    for _ in range(rounds):
        for name, sample in cases.items():
            samples[name].append(sample())
    return samples


def lines(table, unit, own, samples, reach=()):
    """The lines of a table after its title: a figure is the median of the samples, a ratio that of the rounds' ratios.
    Those of this library, which is the case `own`, stand beside all others."""
    made = []
    for name, values in samples.items():
        beside = {}
        if name == own:
            beside = {
                other: statistics.median(a / b for a, b in zip(values, theirs, strict=True))
                for other, theirs in samples.items()
                if other != own
            }
        figure, held = statistics.median(values), reach if name == own else ()
        held = [each for each in held if each.peer is None or each.peer in beside]
        met = [(figure if each.peer is None else beside[each.peer]) <= each.most for each in held]
        ratios = "; ".join(f"{ratio:.3f} x {other}" if ratio >= 0.1 else f"{ratio:.2g} x {other}" for other, ratio in beside.items())
        words = "; ".join(each.words(unit) for each in held)
        made.append([table, name, f"{figure:.3f}", unit, ratios, words, "" if not held else "yes" if all(met) else "no"])
    return made


def show(made):
    print(f"\n{made[0][0]}")
    for _, name, figure, unit, ratios, reach, met in made:
        print(f"  {name:44}{float(figure):14.3f} {unit:4} {reach} {met}")
        for ratio in ratios.split("; "):
            if ratio:
                print(f"{'':50}{ratio}")
