/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chat templates without a Jinja engine: the template's text is recognised by its markers and the messages are framed
 * the way that family does it. Known: ChatML (with a built-in system message where the template has one), Phi-3, Phi-4,
 * Llama 2, 3 and 4, Mistral v1, v3, v3-tekken and v7, Zephyr, Falcon 3, Gemma, Granite, DeepSeek 3.
 */
#ifndef TERNPACK_RUNTIME_CHAT_H
#define TERNPACK_RUNTIME_CHAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util/error.h"
#include "base/util/mem.h"

struct chat_message {
    const char *role; /* "system", "user", "assistant" */
    const char *content;
};

/* Append the text to *out. BOS is never part of it; control tokens are, as text, so tokenize with parse_special.
 * ERROR_UNSUPPORTED for a template of no known family names its first 60 characters. */
int chat_apply(const char *template, const struct chat_message *messages, size_t n, bool add_generation_prompt,
               struct buffer *out, struct error *err);

#endif
