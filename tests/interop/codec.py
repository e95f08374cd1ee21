# SPDX-License-Identifier: Apache-2.0
"""codec.py CODEC_TOOL KERNELS...: our block codecs against gguf.quants and against ggml's own (from llama-cpp-python's
libraries, where their table of types is as we expect it). Random bytes: code 3 and non-canonical base-3 bytes too."""
import ctypes
import glob
import os
import subprocess
import sys

import gguf
import numpy as np

tool = sys.argv[1]
rng = np.random.default_rng(20260102)
failures = compared = 0
ids = {"F16": 1, "Q4_0": 2, "Q8_0": 8, "BF16": 30, "TQ1_0": 34, "TQ2_0": 35, "Q2_0": 42}
blocks = {  # weights, bytes, offset of the fp16 scale
    "F16": (1, 2, None), "BF16": (1, 2, None), "Q4_0": (32, 18, 0), "Q8_0": (32, 34, 0), "TQ1_0": (256, 54, 52),
    "TQ2_0": (256, 66, 64), "Q2_0": (64, 18, 0)}
N = 256 * 96


def ours(command, type_name, n, data, kernels):
    env = dict(os.environ, TERNPACK_KERNELS=kernels)
    run = subprocess.run([tool, command, type_name, str(n)], input=data, stdout=subprocess.PIPE, check=True, env=env)
    return run.stdout


def check(what, got, want):
    global failures, compared
    compared += 1
    if got != want:
        failures += 1
        same = sum(a == b for a, b in zip(got, want))
        print(f"FAIL: {what}: {len(got)} bytes, {len(want)} expected, {same} equal")


class Traits(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("block", ctypes.c_int64), ("interleave", ctypes.c_int64),
                ("size", ctypes.c_size_t), ("quantized", ctypes.c_bool), ("to_float", ctypes.c_void_p),
                ("from_float", ctypes.c_void_p)]


def ggml_library():
    """ggml's table of types, or None when there is none or it is not as declared above."""
    try:
        import llama_cpp
        path = glob.glob(os.path.join(os.path.dirname(llama_cpp.__file__), "lib", "libggml-base.so"))[0]
        lib = ctypes.CDLL(path)
        lib.ggml_get_type_traits.restype = ctypes.POINTER(Traits)
        for name, number in ids.items():
            t = lib.ggml_get_type_traits(number).contents
            known = t.name.decode().upper() == name and (t.block, t.size) == blocks[name][:2]
            if not known or not t.to_float or not t.from_float:
                return None
        return lib
    except (ImportError, IndexError, OSError, AttributeError):
        return None


def ggml_call(pointer, source, out_bytes, n):
    out = ctypes.create_string_buffer(out_bytes)
    ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64)(pointer)(source, out, n)
    return out.raw


def random_blocks(name):
    weights, size, scale_at = blocks[name]
    data = rng.integers(0, 256, (N // weights, size), dtype=np.uint8)
    if scale_at is None:  # the values themselves: finite
        half = data.view("<u2")
        top = 0x7C00 if name == "F16" else 0x7F80
        half[(half & top) == top] &= 0x3FFF
    else:
        half = data[:, scale_at:scale_at + 2].copy().view("<u2")
        half[(half & 0x7C00) == 0x7C00] &= 0x3FFF
        data[:, scale_at:scale_at + 2] = half.view(np.uint8)
    return data


lib = ggml_library()
if lib is None:
    print("no usable ggml library: gguf.quants only")
kernel_names = sys.argv[2:]
for name in ids:
    weights, size, scale_at = blocks[name]
    data = random_blocks(name)
    for kernels in kernel_names:
        got = ours("dequantize", name, N, data.tobytes(), kernels)
        if name != "Q2_0":  # which gguf's release does not know
            want = gguf.quants.dequantize(data.reshape(1, -1), getattr(gguf.GGMLQuantizationType, name)).astype("<f4")
            check(f"{kernels}: {name} dequantized, gguf.quants", got, want.tobytes())
        if lib:
            want = ggml_call(lib.ggml_get_type_traits(ids[name]).contents.to_float, data.tobytes(), 4 * N, N)
            check(f"{kernels}: {name} dequantized, ggml", got, want)

# packing: ternary data whose scale is each block's largest magnitude
for name in ("TQ1_0", "TQ2_0", "Q2_0"):
    weights, size, scale_at = blocks[name]
    codes = rng.integers(-1, 2, (N // weights, weights), dtype=np.int8)
    codes[:, 0] = 1
    scales = rng.integers(1, 0x7BFF, N // weights, dtype=np.uint16)
    values = (codes * scales.view(np.float16).astype(np.float32)[:, None]).astype("<f4")
    got = ours("pack", name, N, codes.tobytes() + scales.astype("<u2").tobytes(), "")
    if name != "Q2_0":
        want = gguf.quants.quantize(values, getattr(gguf.GGMLQuantizationType, name)).tobytes()
        check(f"{name} packed, gguf.quants", got, want)
    if lib:
        from_float = lib.ggml_get_type_traits(ids[name]).contents.from_float
        check(f"{name} packed, ggml", got, ggml_call(from_float, values.tobytes(), N // weights * size, N))

values = (rng.standard_normal(N) * np.exp(rng.standard_normal(N) * 4)).astype("<f4")
values[:64] = 0
for name in ("Q8_0", "F16", "BF16"):
    got = ours("quantize", name, N, values.tobytes(), "")
    with np.errstate(over="ignore"):
        want = gguf.quants.quantize(values.reshape(1, -1), getattr(gguf.GGMLQuantizationType, name)).tobytes()
    check(f"{name} quantized, gguf.quants", got, want)
    if lib:
        weights, size, _ = blocks[name]
        from_float = lib.ggml_get_type_traits(ids[name]).contents.from_float
        check(f"{name} quantized, ggml", got, ggml_call(from_float, values.tobytes(), N // weights * size, N))
print(f"{compared} comparisons, {failures} differ")
sys.exit(1 if failures or compared < 10 else 0)
