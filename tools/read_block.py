#!/usr/bin/env python3
"""A second reader of the written format, from docs/format.md alone: no code is shared with the library.

  read_block.py GOLDEN             checks the table and rotation hashes in GOLDEN (tests/golden/v0.txt)
  read_block.py GOLDEN DECODED     and decodes its whole blocks, against what write_golden --decode printed

Prints a PASS or FAIL line for each check and exits with 1 after a FAIL. Needs Python 3.9, nothing else.
"""

import json
import math
import pathlib
import re
import struct
import sys

CODEBOOKS = pathlib.Path(__file__).resolve().parent.parent / "codebooks"
MASK = (1 << 64) - 1
GOLDEN_RATIO = 0x9E3779B97F4A7C15
SEED = 7  # of every case in the golden file
VALUE_SEED = SEED ^ 0x76616C7565
TOKENS = 64

RAW, POLAR, TURBO, QJL, GROUP, Q8 = range(6)
IDENTITY, HAAR, HADAMARD, MATRIX = range(4)
LLOYD_MAX, UNIFORM, GRID, TRELLIS = range(1, 5)
BLOCK_MEAN = 3


# --- integers

def fnv(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & MASK
    return state


def shift_round(x, shift):
    """x / 2^shift to nearest, ties upwards."""
    return x if shift <= 0 else (x + (1 << (shift - 1))) >> shift


def quotient(a, b):
    """a / b towards zero, b > 0."""
    return a // b if a >= 0 else -(-a // b)


# --- randomness

def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def random_words(seed, stream):
    key = mix(mix((seed + GOLDEN_RATIO) & MASK) ^ (stream * GOLDEN_RATIO & MASK))
    return lambda counter: mix((key + counter * GOLDEN_RATIO) & MASK)


def minus_log(s):
    """-ln(s / 2^60) in units of 2^-40."""
    length = s.bit_length()
    x = (s << (63 - length)) >> 31
    fraction = 0
    for _ in range(34):
        x = (x * x) >> 31
        fraction <<= 1
        if x >> 32:
            x >>= 1
            fraction |= 1
    below = ((60 << 34) - (((length - 1) << 34) + fraction)) >> 8
    return (below * 1488522236) >> 17


def normals(seed, stream):
    """Standard normals in units of 2^-16."""
    word = random_words(seed, stream)
    counter = 0
    while True:
        w = word(counter)
        counter += 1
        x, y = (2 * bits - (1 << 31) + 1 for bits in (w >> 33, w & 0x7FFFFFFF))
        square = x * x + y * y
        if square >> 62 or square < 4:
            continue
        radius = math.isqrt(minus_log(square >> 2) << 17) >> 8
        length = math.isqrt(square)
        for v in (x, y):
            product = v * radius
            half = length // 2 if product >= 0 else -(length // 2)
            yield shift_round(quotient(product + half, length), 4)


# --- rotations: each gives inverse(vector) and the hash of its tables

class Identity:
    def __init__(self, dim, seed):
        self.hash = fnv(struct.pack("<BI", IDENTITY, dim))

    def inverse(self, y):
        return y


class Haar:
    def __init__(self, dim, seed):
        one = 1 << 30
        normal = normals(seed, 2)
        m = [[0] * dim for _ in range(dim)]
        m[dim - 1][dim - 1] = -one if next(normal) < 0 else one
        for corner in range(dim - 2, -1, -1):
            v = [next(normal) for _ in range(dim - corner)]
            norm = math.isqrt(sum(a * a for a in v))
            sign = -1 if v[0] < 0 else 1
            v[0] += sign * norm
            length2 = sum(a * a for a in v)
            m[corner][corner] = -sign * one
            if length2 == 0:
                continue
            rows = m[corner:]
            for j in range(corner, dim):
                u = quotient(2 * sum(a * row[j] for a, row in zip(v, rows)) << 20, length2)
                for a, row in zip(v, rows):
                    row[j] -= shift_round(a * u, 20)
        self.rows = [[shift_round(a, 6) for a in row] for row in m]
        self.hash = fnv(b"".join(struct.pack(f"<{dim}i", *row) for row in self.rows))

    def inverse(self, y):
        return [sum(row[j] * a for row, a in zip(self.rows, y)) / 2**24 for j in range(len(y))]


def cosine_q30(p, q):
    """cos(pi p / q) in units of 2^-30."""
    p %= 2 * q
    if p > q:
        p = 2 * q - p
    negative = 2 * p > q
    if negative:
        p = q - p
    angle = (p * 3454217652358 // q) >> 10
    square = shift_round(angle * angle, 30)
    term = total = 1 << 30
    for k in range(1, 10):
        term = quotient(-shift_round(term * square, 30), (2 * k - 1) * (2 * k))
        total += term
    return -total if negative else total


class Hadamard:
    def __init__(self, dim, seed):
        self.dim, self.width = dim, dim & -dim
        self.m = m = dim // self.width
        word = random_words(seed, 1)
        bits = [word(i // 64) >> (i % 64) & 1 for i in range(2 * dim)]
        self.negative = bits[:dim], bits[dim:]
        self.dct = []
        for row in range(m):
            norm = math.isqrt((2 if row else 1) * 2**60 // m)
            self.dct.append([shift_round(norm * cosine_q30((2 * i + 1) * row, 2 * m), 30) for i in range(m)])
        self.hash = fnv(struct.pack("<BIB", HADAMARD, dim, 2) + bytes(bits) +
                        b"".join(struct.pack(f"<{m}i", *row) for row in self.dct))

    def inverse(self, y):
        y, m, width = list(y), self.m, self.width
        for round_ in (1, 0):
            if m > 1:
                if round_ == 0:  # undo: coordinate r * width + a of the second round was a * m + r of the first
                    y = [y[i % m * width + i // m] for i in range(self.dim)]
                y = [sum(self.dct[r][i // width] * y[r * width + i % width] for r in range(m)) / 2**30
                     for i in range(self.dim)]
            half = 1
            while half < width:
                for i in range(self.dim):
                    if not i & half:
                        y[i], y[i + half] = y[i] + y[i + half], y[i] - y[i + half]
                half *= 2
            y = [(-v if n else v) / math.sqrt(width) for v, n in zip(y, self.negative[round_])]
        return y


ROTATIONS = {IDENTITY: Identity, HAAR: Haar, HADAMARD: Hadamard}


# --- level tables

UNIFORM_STEP_E4 = (0, 15958, 9957, 5860, 3352, 1881, 1041, 569, 308)


def level_table(kind, dim, bits):
    """(gain_q16, levels)"""
    if kind in (UNIFORM, GRID):
        count = 255 if bits == 8 else 1 << bits
        spacing = 1 if bits == 8 else 2 * (127 // (count - 1))
        gain = 32 << 16 if kind == GRID else (spacing << 16) * 10000 // UNIFORM_STEP_E4[bits]
        return gain, [i * spacing - (count - 1) * spacing // 2 for i in range(count)]
    name = f"lloyd_max_d{dim}_b{bits}.json" if kind == LLOYD_MAX else f"trellis8_b{bits}.json"
    if not (CODEBOOKS / name).exists():
        name = f"lloyd_max_gauss_b{bits}.json"
    table = json.loads((CODEBOOKS / name).read_text())
    return table["gain_q16"], table["int8"]


def table_hash(kind, dim, bits):
    gain, levels = level_table(kind, dim, bits)
    return fnv(struct.pack(f"<BBI{len(levels)}b", kind, bits, gain, *levels))


def code_levels(kind, levels, codes):
    """Levels of one vector's codes."""
    if kind != TRELLIS:
        return [levels[c] for c in codes]
    n = len(codes)
    order = [step % (n // 16) * 16 + step // (n // 16) for step in range(n)]
    u = [0, 0, 0] + [codes[i] & 1 for i in order]  # u[step + 3]
    out = [0] * n
    for step, i in enumerate(order):
        y0, y1 = u[step + 1], u[step + 3] ^ u[step + 2] ^ u[step]
        out[i] = levels[(codes[i] >> 1) * 4 + 2 * y1 + y0]
    return out


# --- bits of a block

def planes(bits):
    """(width, shift) of each plane, widest first."""
    for width in (8, 4, 2, 1):
        if bits >= width:
            bits -= width
            yield width, bits


def slot_offset(m):
    return (m & 1) << 2 | m & 2 | m >> 2


def key_codes(data, n, bits):
    """codes[token][dim] from the four key tiles."""
    codes = [[0] * n for _ in range(TOKENS)]
    at = 0
    for tile in range(4):
        for width, shift in planes(bits):
            per_word = 32 // width
            for token in range(16):
                for dim in range(n):
                    word, within = divmod(dim, per_word)
                    slot, t = divmod(within, 4)
                    if (word + 1) * per_word > n:
                        byte, bit = word * 64 + token * 2 + t % 2, slot_offset(slot) + t // 2
                    else:
                        byte, bit = word * 64 + token * 4 + t, slot_offset(slot)
                    field = data[at + byte] >> bit & ((1 << width) - 1)
                    codes[tile * 16 + token][dim] |= field << shift
            at += 2 * n * width
    return codes


def value_codes(data, n, bits):
    codes = [[0] * n for _ in range(TOKENS)]
    at = 0
    for width, shift in planes(bits):
        per_word = 32 // width
        for token in range(TOKENS):
            group, within = divmod(token, per_word)
            slot, t = divmod(within, 4)
            for dim in range(n):
                byte = (group * (n // 16) + dim // 16) * 64 + dim % 16 * 4 + t
                codes[token][dim] |= (data[at + byte] >> slot_offset(slot) & ((1 << width) - 1)) << shift
        at += 8 * n * width
    return codes


class Side:
    FIELDS = "kind bits element rotation codebook projection scale search conditioner zero group rows raw_dims"

    def __init__(self, data, dim):
        for name, value in zip(self.FIELDS.split(), struct.unpack("<10B3H", data)):
            setattr(self, name, value)
        self.dim, self.padded = dim, (dim + 15) // 16 * 16
        if self.kind not in (POLAR, GROUP, Q8) or self.raw_dims:
            raise ValueError(f"this reader knows no codec {self.kind}")
        self.group_dims = 32 if self.kind == Q8 else min(self.group or self.padded, self.padded)
        groups = -(-dim // self.group_dims)
        self.scales = {POLAR: 1, GROUP: 2 * groups, Q8: groups}[self.kind]
        self.mean_bytes = 2 * dim if self.conditioner == BLOCK_MEAN else 0

    def vectors(self, codes, scales, mean, seed):
        """The 64 decoded vectors."""
        if self.kind == POLAR:
            rotation = ROTATIONS[self.rotation](self.dim, seed)
            _, levels = level_table(self.codebook, self.dim, self.bits)
        for t in range(TOKENS):
            s = scales[t * self.scales:(t + 1) * self.scales]
            if self.kind == POLAR:
                x = rotation.inverse([s[0] * c for c in code_levels(self.codebook, levels, codes[t])[:self.dim]])
            elif self.kind == GROUP:
                zero = 128 if self.bits == 8 else 0
                x = [s[2 * (i // self.group_dims)] * (c - zero) + s[2 * (i // self.group_dims) + 1]
                     for i, c in enumerate(codes[t][:self.dim])]
            else:
                x = [s[i // 32] * (c - 128) for i, c in enumerate(codes[t][:self.dim])]
            yield [a + b for a, b in zip(x, mean)] if mean else x


def read_format(data):
    magic, version, key_dim, value_dim = struct.unpack("<4s3H", data[:10])
    if magic != b"TGKV" or version != 0 or len(data) != 64 or fnv(data[:56]) != struct.unpack("<Q", data[56:])[0]:
        raise ValueError("not a format of version 0")
    return Side(data[20:36], key_dim), Side(data[36:52], value_dim)


def read_block(form, data):
    """(keys, values), 64 vectors each."""
    key, value = read_format(form)
    key_exponent, value_exponent, key_mean_exponent, value_mean_exponent, tokens = struct.unpack("<4hH", data[:10])
    if tokens != TOKENS:
        raise ValueError(f"block has {tokens} tokens")
    end = 64

    def part(size):
        nonlocal end
        begin, end = end, (end + size + 63) // 64 * 64
        return data[begin:begin + size]

    def halfs(raw, exponent):
        return [h * 2.0**exponent for h in struct.unpack(f"<{len(raw) // 2}e", raw)]

    key_mean = halfs(part(key.mean_bytes), key_mean_exponent)
    value_mean = halfs(part(value.mean_bytes), value_mean_exponent)
    keys = key_codes(part(8 * key.padded * key.bits), key.padded, key.bits)
    values = value_codes(part(8 * value.padded * value.bits), value.padded, value.bits)
    key_scales = halfs(part(128 * key.scales), key_exponent)
    value_scales = halfs(part(128 * value.scales), value_exponent)
    if end != len(data):
        raise ValueError(f"block has {len(data)} bytes, its format asks for {end}")
    return (list(key.vectors(keys, key_scales, key_mean, SEED)),
            list(value.vectors(values, value_scales, value_mean, VALUE_SEED)))


# --- the checks

def check_hashes(golden):
    kinds = {"lloyd_max": LLOYD_MAX, "uniform": UNIFORM, "grid": GRID, "trellis": TRELLIS}
    for name, text in golden.items():
        if match := re.fullmatch(r"codebook (\w+) dim (\d+) bits (\d+)", name):
            found = table_hash(kinds[match[1]], int(match[2]), int(match[3]))
        elif match := re.fullmatch(r"rotation (haar|hadamard) dim (\d+)", name):
            if match[1] == "haar" and int(match[2]) > 128:
                continue  # minutes in Python
            found = (Haar if match[1] == "haar" else Hadamard)(int(match[2]), SEED).hash
        else:
            continue
        yield name, "" if f"{found:016x}" == text else f"{found:016x} is not {text}"


def check_blocks(golden, decoded):
    for name, text in golden.items():
        if not name.endswith(" block"):
            continue
        case = name.removesuffix(" block")
        sides = read_block(bytes.fromhex(golden[case + " format"]), bytes.fromhex(text))
        worst = 0.0
        for side, vectors in zip(("key", "value"), sides):
            for t, x in enumerate(vectors):
                want = [float(v) for v in decoded[f"{case} {side} {t}"].split()]
                size = max(map(abs, want)) or 1.0
                worst = max(worst, max(abs(a - b) for a, b in zip(x, want)) / size)
                if len(want) != len(x):
                    worst = math.inf
        # The library sums dim products in binary32: dim * 2^-24 of the largest, and dim is at most 48 here.
        yield f"{case}, decoded", "" if worst < 48 * 2.0**-23 else f"off by {worst:.3g} of the largest value"


def lines(path):
    return dict(line.split(": ", 1) for line in pathlib.Path(path).read_text().splitlines())


def main(golden_path, decoded_path=None):
    golden = lines(golden_path)
    checks = list(check_hashes(golden))
    failures = sum(bool(problem) for _, problem in checks)
    print(f'{"FAIL" if failures else "PASS"} reader: {len(checks)} table and rotation hashes')
    for name, problem in checks:
        if problem:
            print(f"  | {name}: {problem}")
    if decoded_path:
        for name, problem in check_blocks(golden, lines(decoded_path)):
            failures += bool(problem)
            print(f'{"FAIL" if problem else "PASS"} reader: {name}')
            if problem:
                print(f"  | {problem}")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
