#!/usr/bin/env python3
"""Cuts tests/data/*.npy out of a folder of full attention activations.

usage: make_test_data.py SOURCE [TARGET]

SOURCE holds layerLL_k.npy and layerLL_v.npy (kv heads, 2048, 128) and layerLL_q_last256.npy (q heads, 256,
128), all float16 in C order; tests/data/README.md says where they come from. Standard library only.
"""
import array
import ast
import pathlib
import struct
import sys

LAYERS = (0, 14)
KV_HEAD = 0
Q_HEADS = (0, 1)  # both read kv head 0
SINKS, RECENT, QUERIES = 4, 380, 32  # tokens 0..3 and the last 380; the queries of the last 32 positions


def read(path):
    """Shape and values (as 16-bit patterns) of a float16 .npy file."""
    data = path.read_bytes()
    if data[:8] != b"\x93NUMPY\x01\x00":
        sys.exit(f"{path}: not a version 1.0 .npy file")
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode("latin1"))
    if header["descr"] != "<f2" or header["fortran_order"]:
        sys.exit(f"{path}: expected little-endian float16 in C order, not {header}")
    values = array.array("H")
    values.frombytes(data[10 + length :])
    return header["shape"], values


def write(path, shape, values):
    header = str({"descr": "<f2", "fortran_order": False, "shape": shape})
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())
    print(f"{path.name}: {shape}, {path.stat().st_size} bytes")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1])
    target = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else pathlib.Path(__file__).parents[1] / "tests/data")
    for layer in LAYERS:
        name = f"layer{layer:02}"
        for side in "kv":
            (_, tokens, dim), values = read(source / f"{name}_{side}.npy")
            head = values[KV_HEAD * tokens * dim : (KV_HEAD + 1) * tokens * dim]
            write(target / f"{name}_{side}.npy", (SINKS + RECENT, dim),
                  head[: SINKS * dim] + head[(tokens - RECENT) * dim :])
        (_, tokens, dim), values = read(source / f"{name}_q_last256.npy")
        rows = array.array("H")
        for head in Q_HEADS:
            rows += values[((head + 1) * tokens - QUERIES) * dim : (head + 1) * tokens * dim]
        write(target / f"{name}_q.npy", (len(Q_HEADS), QUERIES, dim), rows)


main()
