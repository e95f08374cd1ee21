/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

#include "base/util/json.h"
#include "base/util/progress.h"
#include "tests/support/support.h"

/* What is written during three steps of a phase. */
static size_t record(enum progress_mode mode, char *out, size_t cap)
{
    struct error e = { 0 };
    struct progress *p = NULL;
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    ck_ok(progress_open(&p, mode, fd[1], &e), e);
    progress_phase(p, "pack \"x\"\n", 3, 300);
    for (int i = 0; i < 3; i++)
        progress_add(p, 1, 100);
    progress_end(p);
    progress_end(p);
    progress_phase(p, "next", 0, 0);
    progress_close(p);
    close(fd[1]);
    ssize_t n = read(fd[0], out, cap - 1);
    close(fd[0]);
    ck_assert_int_ge(n, 0);
    out[n] = 0;
    return (size_t)n;
}

START_TEST(json_lines)
{
    char out[4096], *line = out, *end;
    int lines = 0;
    record(PROGRESS_JSON, out, sizeof out);
    for (; (end = strchr(line, '\n')); line = end + 1, lines++) {
        struct error e = { 0 };
        struct json_doc *d = NULL;
        uint64_t done = 9, total = 9;
        const char *phase = NULL, *event = NULL;
        ck_ok(json_parse(&d, line, (size_t)(end - line), "line", 2, 0, &e), e);
        const struct json *o = json_root(d);
        ck_ok(json_need_u64(d, o, "done", 0, 3, &done, &e), e);
        ck_ok(json_need_u64(d, o, "total", 0, 3, &total, &e), e);
        ck_ok(json_need_str(d, o, "phase", &phase, &e), e);
        ck_ok(json_need_str(d, o, "event", &event, &e), e);
        if (lines == 0)
            ck_assert(done == 0 && total == 3 && strcmp(event, "start") == 0 && strstr(phase, "pack \"x\""));
        if (lines == 1)
            ck_assert(done == 3 && strcmp(event, "end") == 0);
        if (lines == 2)
            ck_assert(total == 0 && strcmp(phase, "next") == 0);
        json_free(d);
    }
    ck_assert_int_eq(lines, 4);
    ck_assert_int_eq(*line, 0);
}
END_TEST

START_TEST(plain_lines)
{
    char out[4096];
    record(PROGRESS_PLAIN, out, sizeof out);
    ck_assert_ptr_eq(strstr(out, "pack \"x\"\\x0a: 3/3 (100 %), 300 B of 300 B, 0.0 s\n"), out);
    ck_assert_ptr_null(strchr(out, '\r'));
    /* a short phase that is not watched on a terminal is not worth a line */
    ck_assert_uint_eq(record(PROGRESS_AUTO, out, sizeof out), 0);
}
END_TEST

START_TEST(silence)
{
    struct error e = { 0 };
    struct progress *p = (void *)1;
    ck_ok(progress_open(&p, PROGRESS_NONE, 2, &e), e);
    ck_assert_ptr_null(p);
    progress_phase(p, "x", 1, 1);
    progress_add(p, 1, 1);
    progress_end(p);
    progress_close(p);
}
END_TEST

START_TEST(terminal_line_redraws_and_is_cleared)
{
    struct error e = { 0 };
    struct progress *p = NULL;
    struct winsize size = { .ws_row = 24, .ws_col = 30 };
    char out[4096];
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, &size) != 0)
        return; /* no pseudo-terminals here */
    ck_ok(progress_open(&p, PROGRESS_AUTO, slave, &e), e);
    progress_phase(p, "a rather long name of a phase, longer than the line", 3, 0);
    usleep(120000);
    progress_add(p, 2, 0);
    progress_end(p);
    progress_close(p);
    size_t n = 0;
    for (struct pollfd ready = { .fd = master, .events = POLLIN }; poll(&ready, 1, 5000) == 1;) {
        ssize_t got = read(master, out + n, sizeof out - 1 - n);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
        out[n] = 0;
        if (n > 4 && strcmp(out + n - 4, "\r\033[K") == 0)
            break;
    }
    ck_assert_ptr_null(strchr(out, '\n'));
    ck_assert_str_eq(out + n - 4, "\r\033[K");
    ck_assert_uint_eq(strcspn(out + 4, "\r"), 29);
    close(slave);
    close(master);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("progress");
    TCase *c = tcase_create("progress");
    tcase_add_test(c, json_lines);
    tcase_add_test(c, plain_lines);
    tcase_add_test(c, silence);
    tcase_add_test(c, terminal_line_redraws_and_is_cleared);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
