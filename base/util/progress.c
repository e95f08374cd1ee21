/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/util/json.h"
#include "base/util/mem.h"
#include "base/util/text.h"

enum look { LOOK_TERMINAL, LOOK_LINES, LOOK_JSON };

struct progress {
    pthread_mutex_t lock;
    int fd;
    enum look look;
    bool always_end; /* lines: end each phase with one, even a short phase that printed none */
    bool open;       /* within a phase */
    bool printed;    /* something of this phase stands on the terminal, or a plain line was written */
    char phase[64];
    uint64_t done, total, bytes, total_bytes;
    double start, last;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Progress is a courtesy: what cannot be written is dropped. */
static void put(struct progress *p, const char *s, size_t n)
{
    while (n > 0) {
        ssize_t k = write(p->fd, s, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return;
        s += k;
        n -= (size_t)k;
    }
}

int progress_open(struct progress **out, enum progress_mode mode, int fd, struct error *err)
{
    *out = NULL;
    if (mode == PROGRESS_NONE)
        return 0;
    struct progress *p = mem_zalloc(1, sizeof *p, "progress", err);
    if (!p)
        return ERROR_NOMEM;
    pthread_mutex_init(&p->lock, NULL);
    p->fd = fd;
    p->look = mode == PROGRESS_JSON ? LOOK_JSON : mode == PROGRESS_AUTO && isatty(fd) ? LOOK_TERMINAL : LOOK_LINES;
    p->always_end = mode == PROGRESS_PLAIN;
    *out = p;
    return 0;
}

static void show_json(struct progress *p, double seconds, const char *event)
{
    struct buffer b = { 0 };
    int code = buffer_printf(&b, NULL, "{\"phase\":");
    if (!code)
        code = json_put_str(&b, p->phase, strlen(p->phase), NULL);
    if (!code)
        code = buffer_printf(&b, NULL,
                             ",\"done\":%" PRIu64 ",\"total\":%" PRIu64 ",\"bytes\":%" PRIu64
                             ",\"total_bytes\":%" PRIu64 ",\"seconds\":%.3f,\"event\":\"%s\"}\n",
                             p->done, p->total, p->bytes, p->total_bytes, seconds, event);
    if (!code)
        put(p, b.data, b.len);
    buffer_free(&b);
}

/* "1:02:03" or "2:03" */
static void clock_text(char *buf, size_t cap, double seconds)
{
    unsigned long s = seconds < 3.6e6 ? (unsigned long)(seconds + 0.5) : 3600000ul;
    if (s >= 3600)
        snprintf(buf, cap, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(buf, cap, "%lu:%02lu", s / 60, s % 60);
}

/* Share of the phase that is done, by bytes when they are known, else by items; negative when unknown. */
static double share(const struct progress *p)
{
    if (p->total_bytes)
        return (double)p->bytes / (double)p->total_bytes;
    return p->total ? (double)p->done / (double)p->total : -1;
}

/* "pack: 12/210 tensors..." without its end; ETA only while the phase runs. */
static size_t line_text(const struct progress *p, double seconds, bool running, char *line, size_t cap)
{
    char a[32], b[32];
    size_t n = (size_t)snprintf(line, cap, "%s: %" PRIu64, p->phase, p->done);
    if (p->total)
        n += (size_t)snprintf(line + n, cap - n, "/%" PRIu64, p->total);
    double part = share(p);
    if (part >= 0)
        n += (size_t)snprintf(line + n, cap - n, " (%.0f %%)", 100 * (part > 1 ? 1 : part));
    if (p->bytes || p->total_bytes)
        n += (size_t)snprintf(line + n, cap - n, ", %s", text_bytes(a, sizeof a, p->bytes));
    if (p->total_bytes)
        n += (size_t)snprintf(line + n, cap - n, " of %s", text_bytes(b, sizeof b, p->total_bytes));
    if (seconds > 0.5 && p->bytes)
        n += (size_t)snprintf(line + n, cap - n, ", %s/s",
                              text_bytes(a, sizeof a, (uint64_t)((double)p->bytes / seconds)));
    else if (seconds > 0.5 && p->done)
        n += (size_t)snprintf(line + n, cap - n, ", %.3g/s", (double)p->done / seconds);
    if (running && part > 0 && part < 1 && seconds > 0.5) {
        clock_text(a, sizeof a, seconds * (1 - part) / part);
        n += (size_t)snprintf(line + n, cap - n, ", %s left", a);
    } else if (!running) {
        n += (size_t)snprintf(line + n, cap - n, ", %.1f s", seconds);
    }
    return n;
}

/* Cut to the terminal's width, so that the carriage return really goes back to its start. */
static void show_terminal(struct progress *p, double seconds)
{
    char line[512] = "\r\033[K";
    struct winsize w;
    size_t head = strlen(line), n = head + line_text(p, seconds, true, line + head, sizeof line - head - 1);
    size_t width = ioctl(p->fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? (size_t)w.ws_col - 1 : 79;
    if (n - head > width)
        n = head + width;
    put(p, line, n);
    p->printed = true;
}

static void show_line(struct progress *p, double seconds, bool running)
{
    char line[512];
    size_t n = line_text(p, seconds, running, line, sizeof line - 1);
    line[n++] = '\n';
    put(p, line, n);
    p->printed = true;
}

/* With the lock held. */
static void end_phase(struct progress *p)
{
    double seconds = now() - p->start;
    if (!p->open)
        return;
    p->open = false;
    if (p->look == LOOK_JSON)
        show_json(p, seconds, "end");
    else if (p->look == LOOK_TERMINAL && p->printed)
        put(p, "\r\033[K", 4);
    else if (p->look == LOOK_LINES && (p->printed || p->always_end))
        show_line(p, seconds, false);
}

void progress_phase(struct progress *p, const char *phase, uint64_t total, uint64_t total_bytes)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    end_phase(p);
    p->open = true;
    p->printed = false;
    text_quote(p->phase, sizeof p->phase, phase, strlen(phase));
    p->done = p->bytes = 0;
    p->total = total;
    p->total_bytes = total_bytes;
    p->start = p->last = now();
    if (p->look == LOOK_JSON)
        show_json(p, 0, "start");
    else if (p->look == LOOK_TERMINAL)
        show_terminal(p, 0);
    pthread_mutex_unlock(&p->lock);
}

void progress_add(struct progress *p, uint64_t items, uint64_t bytes)
{
    static const double pause[] = { [LOOK_TERMINAL] = 0.1, [LOOK_LINES] = 10, [LOOK_JSON] = 1 };
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->done += items;
    p->bytes += bytes;
    double t = now();
    if (p->open && t - p->last >= pause[p->look]) {
        p->last = t;
        if (p->look == LOOK_JSON)
            show_json(p, t - p->start, "run");
        else if (p->look == LOOK_TERMINAL)
            show_terminal(p, t - p->start);
        else if (share(p) < 1)
            show_line(p, t - p->start, true);
        else
            p->printed = true; /* the line of progress_end says it */
    }
    pthread_mutex_unlock(&p->lock);
}

void progress_end(struct progress *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    end_phase(p);
    pthread_mutex_unlock(&p->lock);
}

void progress_close(struct progress *p)
{
    if (!p)
        return;
    progress_end(p);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}
