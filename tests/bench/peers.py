# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/bench.sh compares with, each result one line of JSON. Needs numpy, and gguf or llama_cpp.

    peers.py have MODULE...                               exit status 0 when all can be imported
    peers.py pack MODEL.gguf                              optimal ternary scale and threshold of every linear layer
    peers.py perplexity MODEL.gguf TEXT CTX CHUNKS THREADS   llama.cpp; the time is that of its decode calls alone
    peers.py speed MODEL.gguf PROMPT GENERATE THREADS        llama.cpp; prompt and generation rates
"""
import importlib.util
import json
import resource
import sys
import time


def clock():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return time.monotonic(), u.ru_utime + u.ru_stime


def since(start):
    end = clock()
    return end[0] - start[0], end[1] - start[1]


def pack(path):
    import gguf
    import numpy as np

    group, weights, out_bytes = 64, 0, 0
    linear = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    start = clock()
    for tensor in gguf.GGUFReader(path).tensors:
        if len(tensor.shape) != 2 or not any(f".{name}." in tensor.name for name in linear):
            continue
        rows = tensor.data.reshape(-1, int(tensor.shape[0]))
        for r in range(0, len(rows), 256):
            w = rows[r:r + 256].astype(np.float32).reshape(-1, group)
            size = np.abs(w)
            prefix = np.cumsum(-np.sort(-size, axis=1), axis=1)
            count = np.arange(1, group + 1, dtype=np.float32)
            best = np.argmax(prefix * prefix / count, axis=1)
            scale = prefix[np.arange(len(w)), best] / (best + 1)
            codes = (np.sign(w) * (size > scale[:, None] / 2) + 1).astype(np.uint8).reshape(len(w), -1, 4)
            packed = codes[..., 0] | codes[..., 1] << 2 | codes[..., 2] << 4 | codes[..., 3] << 6
            out_bytes += packed.nbytes + scale.astype(np.float16).nbytes
            weights += w.size
    wall, cpu = since(start)
    return {"weights": weights, "bytes": out_bytes, "wall_s": wall, "cpu_s": cpu}


class Llama:
    def __init__(self, path, n_ctx, threads):
        import ctypes

        import llama_cpp
        self.lc = lc = llama_cpp
        self.log = lc.llama_log_callback(lambda level, text, data: None)
        lc.llama_log_set(self.log, ctypes.c_void_p(0))
        lc.llama_backend_init()
        params = lc.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = lc.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            sys.exit(f"llama.cpp does not open {path}")
        params = lc.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = n_ctx
        params.n_threads = params.n_threads_batch = threads
        self.ctx = lc.llama_init_from_model(self.model, params)
        self.vocab = lc.llama_model_get_vocab(self.model)
        self.n_vocab = lc.llama_vocab_n_tokens(self.vocab)

    def tokens(self, data):
        buf = (self.lc.llama_token * (len(data) + 8))()
        return buf[:self.lc.llama_tokenize(self.vocab, data, len(data), buf, len(buf), False, False)]

    def clear(self):
        self.lc.llama_memory_clear(self.lc.llama_get_memory(self.ctx), True)

    def decode(self, ids, position, first):
        """Evaluate ids at position; logits from index first on. Returns the time of the call."""
        batch = self.lc.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position + i, 1, i >= first
            batch.seq_id[i][0] = 0
        start = clock()
        if self.lc.llama_decode(self.ctx, batch):
            sys.exit("llama_decode failed")
        self.lc.llama_get_logits_ith(self.ctx, len(ids) - 1)  # waits for the result
        took = since(start)
        self.lc.llama_batch_free(batch)
        return took


def perplexity(path, text, n_ctx, chunks, threads):
    import numpy as np

    n_ctx, chunks = int(n_ctx), int(chunks)
    m = Llama(path, n_ctx, int(threads))
    with open(text, "rb") as f:
        ids = m.tokens(f.read())
    nll, scored, wall, cpu = 0.0, 0, 0.0, 0.0
    m.decode(ids[:n_ctx], 0, n_ctx - 1)  # once unmeasured: pages of the file, threads
    for c in range(chunks):
        x = ids[c * n_ctx:(c + 1) * n_ctx]
        m.clear()
        took = m.decode(x, 0, n_ctx // 2)
        wall, cpu = wall + took[0], cpu + took[1]
        for i in range(n_ctx // 2, n_ctx - 1):
            row = np.ctypeslib.as_array(m.lc.llama_get_logits_ith(m.ctx, i), shape=(m.n_vocab,)).astype(np.float64)
            top = row.max()
            nll, scored = nll + np.log(np.exp(row - top).sum()) + top - row[x[i + 1]], scored + 1
    return {"perplexity": float(np.exp(nll / scored)), "tokens_per_s": chunks * n_ctx / wall,
            "tokens_per_cpu_s": chunks * n_ctx / cpu}


def speed(path, n_prompt, n_generate, threads):
    n_prompt, n_generate = int(n_prompt), int(n_generate)
    m = Llama(path, n_prompt + n_generate, int(threads))
    ids = [i * 7919 % m.n_vocab for i in range(n_prompt + n_generate)]
    m.decode(ids[:n_prompt], 0, n_prompt - 1)
    m.clear()
    prompt = m.decode(ids[:n_prompt], 0, n_prompt - 1)
    wall = cpu = 0.0
    for i in range(n_prompt, n_prompt + n_generate):
        took = m.decode(ids[i:i + 1], i, 0)
        wall, cpu = wall + took[0], cpu + took[1]
    return {"prompt_tokens_per_s": n_prompt / prompt[0], "prompt_tokens_per_cpu_s": n_prompt / prompt[1],
            "generation_tokens_per_s": n_generate / wall, "generation_tokens_per_cpu_s": n_generate / cpu}


if __name__ == "__main__":
    command, args = sys.argv[1], sys.argv[2:]
    if command == "have":
        sys.exit(0 if all(importlib.util.find_spec(m) for m in args) else 1)
    print(json.dumps({"pack": pack, "perplexity": perplexity, "speed": speed}[command](*args)))
