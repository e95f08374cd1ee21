/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/chat.h"

#include <string.h>

#include "base/util/text.h"

/* How a family writes one message: open, role, middle, content, close. */
struct frame {
    const char *markers[3]; /* all must occur in the template; first matching row wins */
    const char *without;    /* must not occur */
    const char *open, *middle, *close;
    const char *assistant; /* the role's name for the assistant */
    bool trim;             /* white space round the content goes */
    bool system_in_user;   /* no system role: its text starts the first user message */
};

static const struct frame frames[] = {
    { .markers = { "<|im_start|>", "<|im_sep|>" },
      .open = "<|im_start|>",
      .middle = "<|im_sep|>",
      .close = "<|im_end|>",
      .assistant = "assistant" },
    { .markers = { "<|im_start|>" },
      .without = "<end_of_utterance>",
      .open = "<|im_start|>",
      .middle = "\n",
      .close = "<|im_end|>\n",
      .assistant = "assistant" },
    { .markers = { "<|start_header_id|>", "<|end_header_id|>" },
      .open = "<|start_header_id|>",
      .middle = "<|end_header_id|>\n\n",
      .close = "<|eot_id|>",
      .assistant = "assistant",
      .trim = true },
    { .markers = { "<|header_start|>", "<|header_end|>" },
      .open = "<|header_start|>",
      .middle = "<|header_end|>\n\n",
      .close = "<|eot|>",
      .assistant = "assistant",
      .trim = true },
    { .markers = { "<|assistant|>", "<|end|>" },
      .open = "<|",
      .middle = "|>\n",
      .close = "<|end|>\n",
      .assistant = "assistant" },
    { .markers = { "<|user|>", "<|endoftext|>" },
      .without = "[gMASK]",
      .open = "<|",
      .middle = "|>\n",
      .close = "<|endoftext|>\n",
      .assistant = "assistant" },
    { .markers = { "<|assistant|>", "<|user|>", "</s>" },
      .without = "[gMASK]",
      .open = "<|",
      .middle = "|>\n",
      .close = "\n",
      .assistant = "assistant" },
    { .markers = { "<start_of_turn>" },
      .open = "<start_of_turn>",
      .middle = "\n",
      .close = "<end_of_turn>\n",
      .assistant = "model",
      .trim = true,
      .system_in_user = true },
    { .markers = { "<|start_of_role|>" },
      .open = "<|start_of_role|>",
      .middle = "<|end_of_role|>",
      .close = "<|end_of_text|>\n",
      .assistant = "assistant" },
};

/* Where a dialogue is a row of turns "[INST] user [/INST] answer". */
struct turns {
    const char *before, *after;         /* round what the user says */
    const char *sys_before, *sys_after; /* round a system message, within the turn */
    const char *answer, *end;           /* round the answer */
    bool sys_turn;                      /* a system message stands before the turn, not in it */
    bool bos;                           /* each turn after an answer starts a text of its own */
    bool trim, trim_answer;
};

static bool has(const char *template, const char *marker)
{
    return strstr(template, marker) != NULL;
}

static bool is_role(const struct chat_message *m, const char *role)
{
    return strcmp(m->role, role) == 0;
}

static int put(struct buffer *out, const char *s, struct error *err)
{
    return buffer_append(out, s, strlen(s), err);
}

static int put_content(struct buffer *out, const char *s, bool trim, struct error *err)
{
    static const char white[] = " \t\r\n\v\f";
    size_t n = strlen(s);
    if (trim) {
        size_t lead = strspn(s, white);
        s += lead;
        n -= lead;
        while (n && strchr(white, s[n - 1]))
            n--;
    }
    return buffer_append(out, s, n, err);
}

static int put_parts(struct buffer *out, const char *const *parts, size_t n, struct error *err)
{
    int code = 0;
    for (size_t i = 0; i < n && !code; i++)
        code = put(out, parts[i], err);
    return code;
}

/* ---- framed messages --------------------------------------------------------------------------------------------- */

static const struct frame *find_frame(const char *template)
{
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        const struct frame *f = &frames[i];
        bool fits = !f->without || !has(template, f->without);
        for (size_t m = 0; m < 3 && f->markers[m]; m++)
            fits = fits && has(template, f->markers[m]);
        if (fits)
            return f;
    }
    return NULL;
}

static int put_frame(struct buffer *out, const struct frame *f, const char *role, const char *lead, const char *content,
                     bool trim, struct error *err)
{
    const char *const start[] = { f->open,
                                  is_role(&(struct chat_message){ role, "" }, "assistant") ? f->assistant : role,
                                  f->middle, lead };
    int code = put_parts(out, start, 4, err);
    if (!code)
        code = put_content(out, content, trim, err);
    return code ? code : put(out, f->close, err);
}

/*
 * The constant of "<|im_start|>system\nTEXT<|im_end|>" within a string literal of a ChatML template: what is said when
 * the first message is not from the system. A piece with a quote or a brace in it is put together from parts and is no
 * constant. Line ends may be written as an escape.
 */
static int default_system(const char *template, struct buffer *text, struct error *err)
{
    static const char open[] = "<|im_start|>system";
    for (const char *p = template; (p = strstr(p, open));) {
        p += strlen(open);
        size_t newline = *p == '\n' ? 1 : strncmp(p, "\\n", 2) == 0 ? 2 : 0;
        const char *end = strstr(p, "<|im_end|>");
        if (!newline || !end || memchr(p, '\'', (size_t)(end - p)) || memchr(p, '"', (size_t)(end - p)) ||
            memchr(p, '{', (size_t)(end - p)))
            continue;
        int code = 0;
        for (p += newline; p < end && !code; p++) {
            bool escaped = p[0] == '\\' && p[1] == 'n';
            code = buffer_append(text, escaped ? "\n" : p, 1, err);
            p += escaped;
        }
        return code;
    }
    return 0;
}

/* Llama 3.1 and later tell the dates in every system message. The day is the constant of the template: a text must not
 * depend on the day it is run. */
static int llama_dates(const char *template, struct buffer *lead, struct error *err)
{
    static const char day[] = "date_string = \"";
    if (!has(template, "Cutting Knowledge Date: December 2023"))
        return 0;
    const char *p = strstr(template, day), *end = p ? strchr(p + strlen(day), '"') : NULL;
    if (!end)
        return 0;
    p += strlen(day);
    return buffer_printf(lead, err, "Cutting Knowledge Date: December 2023\nToday Date: %.*s\n\n", (int)(end - p), p);
}

static bool trims(const char *template)
{
    return has(template, "message['content'] | trim") || has(template, "message['content']|trim") ||
           has(template, "message.content | trim") || has(template, "message.content|trim");
}

static int apply_frame(const struct frame *f, const char *template, const struct chat_message *messages, size_t n,
                       bool add_generation_prompt, struct buffer *out, struct error *err)
{
    struct buffer lead = { 0 }, constant = { 0 };
    const char *system = NULL; /* waits for the first user message */
    bool trim = f->trim || trims(template), first_system = n && is_role(&messages[0], "system");
    int code = llama_dates(template, &lead, err);
    if (!code && strcmp(f->middle, "\n") == 0 && strcmp(f->close, "<|im_end|>\n") == 0)
        code = default_system(template, &constant, err);
    if (!code && !first_system && (lead.len || constant.len))
        code = put_frame(out, f, "system", lead.len ? lead.data : "", constant.len ? constant.data : "", false, err);
    for (size_t i = 0; i < n && !code; i++) {
        const struct chat_message *m = &messages[i];
        if (f->system_in_user && is_role(m, "system")) {
            system = m->content;
            continue;
        }
        struct buffer before = { 0 };
        if (lead.len && i == 0 && first_system)
            code = put(&before, lead.data, err);
        if (!code && system && is_role(m, "user")) {
            code = put_content(&before, system, trim, err);
            if (!code)
                code = put(&before, "\n\n", err);
            system = NULL;
        }
        if (!code)
            code = put_frame(out, f, m->role, before.len ? before.data : "", m->content, trim, err);
        buffer_free(&before);
    }
    if (!code && add_generation_prompt)
        code = put_parts(out, (const char *const[]){ f->open, f->assistant, f->middle }, 3, err);
    buffer_free(&lead);
    buffer_free(&constant);
    return code;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static bool find_turns(const char *template, struct turns *t)
{
    static const struct turns v7 = { "[INST] ", "[/INST]", "[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]",
                                     " ",       "</s>",    .sys_turn = true };
    static const struct turns v1 = { " [INST] ", " [/INST]", "", "\n\n", " ", "</s>", .sys_turn = false };
    static const struct turns v3 = { "[INST] ", "[/INST]", "", "\n\n", " ", "</s>", .trim_answer = true };
    static const struct turns tekken = { "[INST]", "[/INST]", "", "\n\n", "", "</s>", .sys_turn = false };
    static const struct turns llama2 = { "[INST] ", " [/INST]", "<<SYS>>\n",      "\n<</SYS>>\n\n",
                                         "",        "</s>",     .sys_turn = false };

    if (!has(template, "[INST]"))
        return false;
    if (has(template, "[SYSTEM_PROMPT]")) {
        *t = v7;
    } else if (has(template, "' [INST] ' + system_message") || has(template, "[AVAILABLE_TOOLS]")) {
        *t = has(template, " [INST]") ? v1 : has(template, "\"[INST]\"") ? tekken : v3;
    } else {
        *t = llama2;
        t->trim = has(template, "content.strip()");
        t->bos = has(template, "bos_token + '[INST]");
        if (!t->trim && !t->bos && !has(template, "<<SYS>>")) {
            t->sys_before = "";
            t->sys_after = "\n";
        }
        if (has(template, "' ' + content") || has(template, "' '  + content"))
            t->answer = " ";
        if (has(template, "' ' + eos_token"))
            t->end = " </s>";
    }
    return true;
}

static int apply_turns(const struct turns *t, const struct chat_message *messages, size_t n, struct buffer *out,
                       struct error *err)
{
    bool open = false; /* "[INST]" is written, its end not yet */
    int code = 0;
    for (size_t i = 0; i < n && !code; i++) {
        const struct chat_message *m = &messages[i];
        bool system = is_role(m, "system"), user = is_role(m, "user");
        if (!open && (user || (system && !t->sys_turn))) {
            code = put_parts(out, (const char *const[]){ t->bos && i ? "<s>" : "", t->before }, 2, err);
            open = true;
        }
        const char *before = system ? t->sys_before : user ? "" : t->answer;
        if (!code)
            code = put(out, before, err);
        if (!code)
            code = put_content(out, m->content, t->trim || (t->trim_answer && !system && !user), err);
        if (!code)
            code = put(out, system ? t->sys_after : user ? t->after : t->end, err);
        if (user)
            open = false;
    }
    return code;
}

static int apply_deepseek(const struct chat_message *messages, size_t n, bool add_generation_prompt, struct buffer *out,
                          struct error *err)
{
    int code = 0;
    for (size_t i = 0; i < n && !code; i++) {
        const struct chat_message *m = &messages[i];
        bool system = is_role(m, "system"), user = is_role(m, "user");
        const char *const parts[] = { system ? ""
                                      : user ? "<\uff5cUser\uff5c>"
                                             : "<\uff5cAssistant\uff5c>",
                                      m->content,
                                      system ? "\n\n"
                                      : user ? ""
                                             : "<\uff5cend\u2581of\u2581sentence\uff5c>" };
        code = put_parts(out, parts, 3, err);
    }
    return code || !add_generation_prompt ? code : put(out, "<\uff5cAssistant\uff5c>", err);
}

int chat_apply(const char *template, const struct chat_message *messages, size_t n, bool add_generation_prompt,
               struct buffer *out, struct error *err)
{
    struct turns turns;
    char q[260];
    const struct frame *frame = find_frame(template);
    if (frame)
        return apply_frame(frame, template, messages, n, add_generation_prompt, out, err);
    if (find_turns(template, &turns))
        return apply_turns(&turns, messages, n, out, err);
    if (has(template, "<\uff5cAssistant\uff5c>") && has(template, "<\uff5cUser\uff5c>"))
        return apply_deepseek(messages, n, add_generation_prompt, out, err);
    size_t shown = strlen(template) < 60 ? strlen(template) : 60;
    return error_set(err, ERROR_UNSUPPORTED, "a chat template of no known family: \"%s%s\"",
                     text_quote(q, sizeof q, template, shown), template[shown] ? "..." : "");
}
