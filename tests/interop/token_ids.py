# SPDX-License-Identifier: Apache-2.0
"""Token ids of tern-run against the `tokenizers` library, transformers and llama.cpp.

    token_ids.py ids TERN_RUN MODEL.gguf DIR SEED COUNT TEXT...

Each TEXT, and COUNT random Unicode strings, must have the ids that DIR/tokenizer.json gives in the `tokenizers`
library. Each TEXT must also have those of llama.cpp and of transformers' AutoTokenizer; where the latter replaces the
pre-tokenizer of tokenizer.json by that of its class, the ids that differ are counted and the file's own is put back
for the comparison.

    token_ids.py rules TERN_CONVERT TERN_RUN DIR SEED COUNT

The rule of every pre-tokenizer in the table, in the spellings found in tokenizer.json files, put into DIR's tokenizer:
the converter must recognise it and the ids of random strings must be the library's.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import Tokenizer

SPACES = " \t\n\r  \u00a0\u2003\u3000\u0085\u2028\u180e\x0b\x0c\x1c"
APOSTROPHES = ["'s", "'t", "'RE", "'Ve", "'m", "'LL", "'d", "'\u017f", "'"]
NUMBERS = "0123456789\u00bd\u00b2\u0663\u096a\u2177"
COMBINING = ["e\u0301", "a\u030a\u0323", "\u1e9b\u0323", "\u212b", "\u0958", "\uac00\u11a8",
             "\U0001f469\u200d\U0001f680", "\ufeff"]
RANGES = [(0x80, 0x24f), (0x300, 0x5ff), (0x900, 0xdff), (0x1100, 0x11ff), (0x3040, 0x30ff), (0x4e00, 0x9fff),
          (0xac00, 0xd7a3)]


def character(rng):
    """Assigned characters only: an unassigned one changes its class with the Unicode version of a library."""
    while True:
        lo, hi = rng.choice(RANGES) if rng.random() < 0.6 else (0x20, 0x10ffff)
        c = rng.randint(lo, hi)
        if not 0xd800 <= c < 0xe000 and unicodedata.category(chr(c)) != "Cn":
            return chr(c)


def random_string(rng):
    parts = []
    for _ in range(rng.randint(1, 60)):
        r = rng.random()
        parts.append(rng.choice(SPACES) if r < 0.25 else chr(rng.randint(32, 126)) if r < 0.5 else
                     rng.choice(APOSTROPHES) if r < 0.58 else rng.choice(NUMBERS) if r < 0.7 else
                     rng.choice(COMBINING) if r < 0.78 else character(rng))
    return "".join(parts)


def ours(run, model, texts):
    """Ids of each text; one process for all, a file each."""
    out = []
    with tempfile.TemporaryDirectory() as d:
        for first in range(0, len(texts), 500):
            names = []
            for i, t in enumerate(texts[first:first + 500]):
                names.append(os.path.join(d, str(i)))
                # a byte-order mark at the start of a file is no text: one more is needed to mean it
                mark = b"\xef\xbb\xbf" if t.startswith("\ufeff") else b""
                open(names[-1], "wb").write(mark + t.encode())
            arguments = [a for n in names for a in ("-f", n)]
            done = subprocess.run([run, "tokenize", model, *arguments], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"tern-run tokenize: exit {done.returncode}: {done.stderr.strip()}")
            out += [json.loads(line) for line in done.stdout.splitlines()]
    return out


def compare(what, texts, got, want):
    assert len(got) == len(texts), f"{what}: {len(got)} lines of ids for {len(texts)} texts"
    bad = [(t, g, w) for t, g, w in zip(texts, got, want) if g != w]
    for t, g, w in bad[:3]:
        at = next((i for i, (a, b) in enumerate(zip(g, w)) if a != b), min(len(g), len(w)))
        print(f"{what}: {t[:60]!r}: from id {at}: {g[at:at + 8]} expected {w[at:at + 8]}")
    print(f"{what}: {len(texts)} text(s), {sum(map(len, want))} ids, {len(bad)} differ")
    return not bad


def llama_ids(model, texts):
    import ctypes
    import llama_cpp as lc
    quiet = lc.llama_log_callback(lambda level, text, data: None)
    lc.llama_log_set(quiet, ctypes.c_void_p(0))
    parameters = lc.llama_model_default_params()
    parameters.vocab_only = True
    m = lc.llama_model_load_from_file(model.encode(), parameters)
    assert m, f"llama.cpp refuses {model}"
    vocab, out = lc.llama_model_get_vocab(m), []
    for t in texts:
        data = t.encode()
        buf = (lc.llama_token * (len(data) + 8))()
        out.append(list(buf[:lc.llama_tokenize(vocab, data, len(data), buf, len(data) + 8, False, False)]))
    return out


def transformers_check(folder, texts, got):
    from transformers import AutoTokenizer
    auto = AutoTokenizer.from_pretrained(folder)
    library = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    plain = [auto(t, add_special_tokens=False).input_ids for t in texts]
    differ = sum(abs(len(g) - len(p)) + sum(a != b for a, b in zip(g, p)) for g, p in zip(got, plain))
    rules = [json.loads(t.to_str())["pre_tokenizer"] for t in (auto.backend_tokenizer, library)]
    kinds = [[s["type"] for s in r.get("pretokenizers", [r])] for r in rules]
    if kinds[0] != kinds[1]:
        print(f"transformers replaces {kinds[1]} of tokenizer.json by {kinds[0]}: {differ} ids differ")
        auto.backend_tokenizer.pre_tokenizer = library.pre_tokenizer
        plain = [auto(t, add_special_tokens=False).input_ids for t in texts]
    return compare("transformers", texts, got, plain)


def ids(run, model, folder, seed, count, *files):
    rng = random.Random(int(seed))
    library = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    texts = [open(f, encoding="utf-8", newline="").read() for f in files]
    got = ours(run, model, texts)
    ok = compare("tokenizers", texts, got, [library.encode(t, add_special_tokens=False).ids for t in texts])
    ok &= compare("llama.cpp", texts, got, llama_ids(model, texts))
    ok &= transformers_check(folder, texts, got)
    print(f"seed {seed}")
    strings = [random_string(rng) for _ in range(int(count))]
    return ok & compare("random strings", strings, ours(run, model, strings),
                        [library.encode(t, add_special_tokens=False).ids for t in strings])


# ---- rules -----------------------------------------------------------------------------------------------------------

def split(regex, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def byte_level(regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": regex}


CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
LEAD = r"[^\r\n\p{L}\p{N}]?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
          r"|\s+(?!\S)|\s+")


def words(digits):
    return CONTRACTIONS + "|" + LEAD + r"\p{L}+|" + digits + r"| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL


def cased(suffix, digits):
    return (LEAD + UPPER + "*" + LOWER + "+" + suffix + "|" + LEAD + UPPER + "+" + LOWER + "*" + suffix + "|" + digits +
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL)


DEEPSEEK = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
# name, steps, ignore_merges
RULES = [
    ("gpt-2", [byte_level(True)], False),
    ("smollm", [{"type": "Digits", "individual_digits": True}, byte_level(True)], False),
    ("smollm", [split(r"\p{N}"), byte_level(True)], False),
    ("llama-bpe", [split(words(r"\p{N}{1,3}")), byte_level(False)], True),
    ("smaug-bpe", [split(words(r"\p{N}{1,3}")), byte_level(False)], False),
    ("smaug-bpe", [split(CL100K), byte_level(False)], False),
    ("llama-bpe", [split(CL100K, "Removed", True), byte_level(False)], True),
    ("qwen2", [split(words(r"\p{N}")), byte_level(False)], False),
    ("qwen35", [split(CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + TAIL),
                byte_level(False)], False),
    ("tekken", [split(cased("", r"\p{N}")), byte_level(False)], True),
    ("gpt-4o", [split(cased(CONTRACTIONS + "?", r"\p{N}{1,3}"), "Removed", True), byte_level(False)], False),
    ("deepseek-v3", [split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), split(DEEPSEEK),
                     byte_level(False)], False),
]


def rules(convert, run, folder, seed, count):
    from gguf import GGUFReader
    strings = [random_string(random.Random(f"{seed} {i}")) for i in range(int(count))]
    print(f"seed {seed}")
    ok = True
    with tempfile.TemporaryDirectory() as d:
        source, model = os.path.join(d, "source"), os.path.join(d, "model.gguf")
        os.mkdir(source)
        for name in os.listdir(folder):
            if not name.startswith(("reference", "chat_template")):
                os.symlink(os.path.abspath(os.path.join(folder, name)), os.path.join(source, name))
        definition = json.load(open(os.path.join(folder, "tokenizer.json"), encoding="utf-8"))
        path = os.path.join(source, "tokenizer.json")
        os.unlink(path)
        for name, steps, ignore_merges in RULES:
            for normalizer in (None, {"type": "NFC"}):
                definition["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
                definition["normalizer"] = normalizer
                definition["model"]["ignore_merges"] = ignore_merges
                json.dump(definition, open(path, "w", encoding="utf-8"))
                subprocess.run([convert, "-q", "--force", "--vocab-only", source, "-o", model], check=True)
                found = GGUFReader(model).fields["tokenizer.ggml.pre"].contents()
                if found != name:
                    print(f"{name}: recognised as {found}")
                    ok = False
                library = Tokenizer.from_file(path)
                ok &= compare(f"{name}{' NFC' if normalizer else ''}", strings, ours(run, model, strings),
                              [library.encode(t, add_special_tokens=False).ids for t in strings])
    return ok


if __name__ == "__main__":
    sys.exit(not {"ids": ids, "rules": rules}[sys.argv[1]](*sys.argv[2:]))
