/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding added tokens in time linear in the text, however many and however alike they are.
 *
 * Wanted is, at each position, the longest token that starts there. Aho-Corasick gives, at each position, the longest
 * token that ends there; so both the tokens and the text are read backwards. Edges live in one hash table: a dense
 * table of 256 children a node would turn a hostile vocabulary of long tokens into gigabytes.
 */
#include <string.h>

#include "runtime/tokenizer_internal.h"

enum { MAX_NODES = 1 << 22 }; /* fewer than the 24 bits that a node has in an edge */

static size_t edge_slot(const struct matcher *m, uint32_t node, uint8_t byte)
{
    uint64_t key = (uint64_t)node << 8 | byte;
    size_t i = (size_t)tokenizer_mix(key) & (m->n_edges - 1);
    while (m->edges[i] && m->edges[i] >> 32 != key)
        i = (i + 1) & (m->n_edges - 1);
    return i;
}

/* 0 (the root is nobody's child): no such edge. */
static uint32_t child_of(const struct matcher *m, uint32_t node, uint8_t byte)
{
    return node ? (uint32_t)m->edges[edge_slot(m, node, byte)] : m->root[byte];
}

static uint32_t step(const struct matcher *m, uint32_t node, uint8_t byte)
{
    uint32_t child;
    while (!(child = child_of(m, node, byte)) && node)
        node = m->nodes[node].fail;
    return child;
}

static void add_token(struct matcher *m, const char *s, size_t n, int32_t id)
{
    uint32_t node = 0;
    for (size_t i = n; i-- > 0;) {
        uint8_t byte = (uint8_t)s[i];
        uint32_t child = child_of(m, node, byte);
        if (!child) {
            child = (uint32_t)m->n_nodes++;
            m->nodes[child] =
                (struct matcher_node){ .depth = m->nodes[node].depth + 1, .token = -1, .parent = node, .byte = byte };
            if (node)
                m->edges[edge_slot(m, node, byte)] = ((uint64_t)node << 8 | byte) << 32 | child;
            else
                m->root[byte] = child;
        }
        node = child;
    }
    m->nodes[node].token = id;
}

/* A node's failure leads to a shorter string, so nodes are visited by depth (a counting sort). */
static int link_failures(struct matcher *m, size_t longest, struct error *err)
{
    size_t *first = mem_zalloc(longest + 2, sizeof *first, "the token matcher", err);
    uint32_t *order = mem_zalloc(m->n_nodes, sizeof *order, "the token matcher", err);
    int code = first && order ? 0 : ERROR_NOMEM;
    if (!code) {
        for (size_t i = 0; i < m->n_nodes; i++)
            first[m->nodes[i].depth + 1]++;
        for (size_t d = 1; d <= longest + 1; d++)
            first[d] += first[d - 1];
        for (size_t i = 0; i < m->n_nodes; i++)
            order[first[m->nodes[i].depth]++] = (uint32_t)i;
    }
    for (size_t i = 1; i < m->n_nodes && !code; i++) {
        struct matcher_node *n = &m->nodes[order[i]];
        n->fail = n->parent ? step(m, m->nodes[n->parent].fail, n->byte) : 0;
        if (n->token < 0)
            n->token = m->nodes[n->fail].token;
    }
    mem_free(first);
    mem_free(order);
    return code;
}

int matcher_build(struct matcher *m, const struct tokenizer *t, const int32_t *ids, size_t n_ids, struct error *err)
{
    size_t total = 1, longest = 0;
    for (size_t i = 0; i < n_ids; i++) {
        size_t n = t->starts[ids[i] + 1] - t->starts[ids[i]];
        total += n;
        longest = n > longest ? n : longest;
    }
    if (total == 1)
        return 0;
    if (total > MAX_NODES)
        return error_set(err, ERROR_UNSUPPORTED, "added tokens of %zu bytes in all, at most %d are supported",
                         total - 1, MAX_NODES);
    for (m->n_edges = 64; m->n_edges < 2 * total;)
        m->n_edges *= 2;
    m->nodes = mem_zalloc(total, sizeof *m->nodes, "the token matcher", err);
    m->edges = mem_zalloc(m->n_edges, sizeof *m->edges, "the token matcher", err);
    if (!m->nodes || !m->edges)
        return ERROR_NOMEM;
    m->nodes[0].token = -1;
    m->n_nodes = 1;
    for (size_t i = 0; i < n_ids; i++) {
        size_t at = t->starts[ids[i]], n = t->starts[ids[i] + 1] - at;
        if (n)
            add_token(m, t->bytes + at, n, ids[i]);
    }
    return link_failures(m, longest, err);
}

int matcher_scan(const struct matcher *m, const struct tokenizer *t, const char *text, size_t n, struct match_list *out,
                 struct error *err)
{
    uint32_t node = 0;
    if (!m->n_nodes)
        return 0;
    for (size_t i = n; i-- > 0;) {
        node = step(m, node, (uint8_t)text[i]);
        int32_t id = m->nodes[node].token;
        if (id < 0)
            continue;
        int code = mem_reserve((void **)&out->items, &out->cap, out->n + 1, sizeof *out->items, "added tokens", err);
        if (code)
            return code;
        out->items[out->n++] = (struct match){ i, t->starts[id + 1] - t->starts[id], id };
    }
    return 0;
}

void matcher_free(struct matcher *m)
{
    mem_free(m->nodes);
    mem_free(m->edges);
}
