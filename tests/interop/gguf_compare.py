#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare a GGUF file with recorded facts of another converter's file (needs the gguf package).

    gguf_compare.py tensors FILE.gguf DIGESTS.tsv       "sha256 TYPE NExNE NAME" per line, raw bytes
    gguf_compare.py keys FILE.gguf KEYS.json            {key: {"type": [...], "value": ...}}, long arrays as digests
    gguf_compare.py fixture FILE.gguf EXPECTED.json     {"kv": {...}, "tensors": {name: {ne, type, f32_sha256}}}

--ignore=KEY leaves a key out of the comparison (a trailing * matches a prefix). Prints each difference; exit 1 if any, 2 on
misuse. Nothing compared is a difference too.
"""
import hashlib
import json
import sys

import numpy as np
from gguf import GGUFReader, GGUFValueType

found = []


def differ(text):
    found.append(text)
    print(text)


def scalar(value):
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8")
    return value.item() if hasattr(value, "item") else value


def field_value(field):
    kind = field.types[0]
    if kind == GGUFValueType.STRING:
        return bytes(field.parts[field.data[0]]).decode("utf-8")
    if kind == GGUFValueType.ARRAY:
        if field.types[-1] == GGUFValueType.STRING:
            return [bytes(field.parts[i]).decode("utf-8") for i in field.data]
        return [scalar(field.parts[i][0]) for i in field.data]
    return scalar(field.parts[field.data[0]][0])


def same(a, b):
    if isinstance(b, dict) and "sha256_of_json" in b:
        text = json.dumps(a, ensure_ascii=False)
        digests = {hashlib.sha256(json.dumps(a, ensure_ascii=e, separators=s).encode()).hexdigest()
                   for e in (True, False) for s in (None, (",", ":"))}
        return isinstance(a, list) and len(a) == b["length"] and b["sha256_of_json"] in digests and text is not None
    if isinstance(a, float) or isinstance(b, float):
        return np.float32(a) == np.float32(b)
    return a == b


def ignored(key, rules):
    return any(key == r or (r.endswith("*") and key.startswith(r[:-1])) for r in rules)


def tensors(reader, path):
    have = {t.name: t for t in reader.tensors}
    n = 0
    for line in open(path, encoding="utf-8"):
        digest, kind, shape, name = line.split()
        t = have.pop(name, None)
        n += 1
        if t is None:
            differ(f"{name}: missing")
            continue
        ne = "x".join(str(int(d)) for d in t.shape)
        if (t.tensor_type.name, ne) != (kind, shape):
            differ(f"{name}: {t.tensor_type.name} {ne}, expected {kind} {shape}")
        if hashlib.sha256(t.data.tobytes()).hexdigest() != digest:
            differ(f"{name}: bytes differ")
    for name in have:
        differ(f"{name}: not in the reference")
    return n


def keys(reader, path, rules):
    want = json.load(open(path, encoding="utf-8"))
    n = 0
    for key, w in want.items():
        if ignored(key, rules):
            continue
        n += 1
        f = reader.fields.get(key)
        if f is None:
            differ(f"{key}: missing, expected {str(w['value'])[:100]}")
            continue
        kinds = [t.name for t in f.types]
        if kinds != w["type"]:
            differ(f"{key}: type {kinds}, expected {w['type']}")
        elif not same(field_value(f), w["value"]):
            differ(f"{key}: {str(field_value(f))[:100]}, expected {str(w['value'])[:100]}")
    for key in reader.fields:
        if key not in want and not ignored(key, rules):
            differ(f"{key}: not in the reference ({str(field_value(reader.fields[key]))[:100]})")
    return n


def fixture(reader, path, rules):
    want = json.load(open(path, encoding="utf-8"))
    have = {t.name: t for t in reader.tensors}
    n = 0
    for name, w in want["tensors"].items():
        n += 1
        t = have.pop(name, None)
        if t is None:
            differ(f"{name}: missing")
            continue
        ne = [int(d) for d in t.shape]
        if ne != w["ne"]:
            differ(f"{name}: ne {ne}, expected {w['ne']}")
        if t.tensor_type.name != w["type"]:
            differ(f"{name}: {t.tensor_type.name}, expected {w['type']}")
        if hashlib.sha256(np.asarray(t.data, dtype="<f4").tobytes()).hexdigest() != w["f32_sha256"]:
            differ(f"{name}: values differ, first {t.data.flatten()[:4].tolist()}, expected {w['first4']}")
    for name in have:
        differ(f"{name}: not in the reference")
    for key, value in want["kv"].items():
        if ignored(key, rules):
            continue
        n += 1
        f = reader.fields.get(key)
        if f is None:
            differ(f"{key}: missing, expected {value}")
        elif not same(field_value(f), value):
            differ(f"{key}: {field_value(f)}, expected {value}")
    for key in reader.fields:
        if key not in want["kv"] and not ignored(key, rules) and not key.startswith("GGUF."):
            differ(f"{key}: not in the reference")
    return n


def main(argv):
    rules = [a[len("--ignore="):] for a in argv if a.startswith("--ignore=")]
    rest = [a for a in argv if not a.startswith("--ignore=")]
    if len(rest) != 3 or rest[0] not in ("tensors", "keys", "fixture"):
        print(__doc__)
        return 2
    reader = GGUFReader(rest[1])
    n = tensors(reader, rest[2]) if rest[0] == "tensors" else \
        keys(reader, rest[2], rules) if rest[0] == "keys" else fixture(reader, rest[2], rules)
    if not n:
        differ("nothing was compared")
    print(f"{rest[0]}: {n} compared, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
