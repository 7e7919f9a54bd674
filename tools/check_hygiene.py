#!/usr/bin/env python3
"""Checks of the repository's own text; prints a PASS or FAIL line for each, and exits with 1 after a FAIL."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_HEADER_LINES = 400
README_WORDS_BEFORE_CODE = 120
# Written apart, so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:" + "|".join(["wor" + "k", "hom" + "e", "roo" + "t", "User" + "s"]) + r")/[\w.]")

failures = 0


def report(name, problems, fact=""):
    """One line for one check, then one for each problem."""
    global failures
    failures += bool(problems)
    print(f'{"FAIL" if problems else "PASS"} hygiene: {name}' + (f" ({fact})" if fact else ""))
    for problem in problems[:20]:
        print(f"  | {problem}")


def tracked():
    """Files of the project: known to git or new, not ignored; without git, all but build folders."""
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode == 0:
        paths = [ROOT / name for name in listing.stdout.splitlines()]
    else:
        paths = [path for path in ROOT.rglob("*") if not re.match(r"(build|models|\.)", str(path.relative_to(ROOT)))]
    return sorted({path for path in paths if path.is_file()})


def lines_of(paths):
    """Lines that hold something."""
    return sum(1 for path in paths for line in path.read_text(errors="replace").splitlines() if line.strip())


def below(paths, folder, *suffixes):
    return [path for path in paths if path.is_relative_to(ROOT / folder) and path.suffix in suffixes]


def check_headers(paths):
    headers = below(paths, "include", ".hpp")
    counts = {path: len(path.read_text().splitlines()) for path in headers}
    long = [f"{path.relative_to(ROOT)} has {n} lines" for path, n in counts.items() if n > MAX_HEADER_LINES]
    ordered = sorted(counts.values()) or [0]
    report(f"no header above {MAX_HEADER_LINES} lines", long,
           f"{len(headers)} headers, median {ordered[len(ordered) // 2]}, longest {ordered[-1]}")
    report("every header has #pragma once",
           [str(path.relative_to(ROOT)) for path in headers if "#pragma once" not in path.read_text()])


def check_machine_paths(paths):
    found = []
    for path in paths:
        if path.stat().st_size > 2_000_000:
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if match := MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match[0]}...")
    report("no paths of one machine", found)


def check_readme():
    readme = ROOT / "README.md"
    if not readme.exists():
        return report("README shows code early", ["there is no README.md"])
    before, fence, _ = readme.read_text().partition("```cpp")
    words = len(before.split())
    problems = [] if fence and words < README_WORDS_BEFORE_CODE else [f"{words} words before the first C++ code"]
    report(f"README shows code before word {README_WORDS_BEFORE_CODE}", problems, f"word {words}")


def check_test_ratio(paths):
    code = lines_of(below(paths, "include", ".hpp"))
    tests = lines_of(below(paths, "tests", ".cpp", ".hpp"))
    ratio = tests / code if code else 0
    report("at least as many lines of tests as of library", [] if ratio >= 1 else [f"ratio {ratio:.2f}"],
           f"{tests} / {code} = {ratio:.2f}")


def check_version():
    header = (ROOT / "include/tightkv/version.hpp").read_text()
    numbers = [re.search(rf"^#define TIGHTKV_VERSION_{part} +(\d+)$", header, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    version, minor_version = ".".join(numbers), ".".join(numbers[:2])
    problems = []
    changes = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changes, re.M)
    if "## [Unreleased]" not in changes and version not in released:
        problems.append(f"CHANGELOG.md has neither [Unreleased] nor [{version}]")
    as_numbers = [int(n) for n in version.split(".")]
    problems += [f"CHANGELOG.md has {later}, above {version}" for later in released
                 if [int(n) for n in later.split(".")] > as_numbers]
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text() if path.exists() else ""
        for wanted in re.findall(r"find_package\(tightkv (\d+\.\d+)", text):
            if wanted != minor_version:
                problems.append(f"{path.relative_to(ROOT)} asks for {wanted}, the header says {version}")
        for tag in re.findall(r"GIT_TAG\s+v(\d+\.\d+\.\d+)", text):
            if tag != version:
                problems.append(f"{path.relative_to(ROOT)} fetches v{tag}, the header says {version}")
    report("the version is the same everywhere", problems, version)


def main():
    paths = tracked()
    check_headers(paths)
    check_machine_paths(paths)
    check_readme()
    check_test_ratio(paths)
    check_version()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
