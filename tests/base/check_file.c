/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util/file.h"
#include "base/util/mem.h"
#include "base/util/parallel.h"
#include "tests/support/support.h"

static void put(const char *path, const char *text)
{
    struct error e = { 0 };
    ck_ok(file_write_all(path, text, strlen(text), true, &e), e);
}

static void assert_holds(const char *path, const char *text)
{
    struct error e = { 0 };
    char *data;
    size_t n;
    ck_ok(file_read_all(path, 1 << 20, &data, &n, &e), e);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_str_eq(data, text);
    mem_free(data);
}

static const char *partial_of(const char *name)
{
    char with[256];
    snprintf(with, sizeof with, "%s.partial", name);
    return support_tmp(with);
}

START_TEST(reading_is_bounded)
{
    struct error e = { 0 };
    struct file f;
    char buf[8];
    put(support_tmp("r"), "0123456789");
    for (unsigned flags = 0; flags < 4; flags++) {
        ck_ok(file_open(&f, support_tmp("r"), flags, &e), e);
        ck_assert_uint_eq(f.size, 10);
        ck_assert((f.map != NULL) == !!(flags & FILE_MAP));
        ck_ok(file_read_at(&f, buf, 3, 7, &e), e);
        ck_assert_int_eq(memcmp(buf, "789", 3), 0);
        ck_ok(file_read_at(&f, buf, 0, 10, &e), e);
        ck_assert_int_eq(file_read_at(&f, buf, 4, 7, &e), ERROR_FORMAT);
        ck_assert_ptr_nonnull(strstr(e.text, "truncated"));
        ck_assert_int_eq(file_read_at(&f, buf, 1, UINT64_MAX, &e), ERROR_FORMAT);
        file_drop(&f, 0, UINT64_MAX);
        ck_assert_int_eq(!f.map || f.map[3] == '3', 1);
        file_close(&f);
        file_close(&f);
    }
    ck_ok(file_open(&f, support_tmp("r"), 0, &e), e);
    ck_assert_int_eq(truncate(support_tmp("r"), 5), 0);
    ck_assert_int_eq(file_read_at(&f, buf, 4, 3, &e), ERROR_FORMAT); /* shrank while open */
    file_close(&f);
    put(support_tmp("empty"), "");
    ck_ok(file_open(&f, support_tmp("empty"), FILE_MAP, &e), e);
    ck_assert_ptr_null(f.map);
    file_close(&f);
}
END_TEST

START_TEST(only_regular_files_open)
{
    struct error e = { 0 };
    struct file f;
    ck_assert_int_eq(file_open(&f, support_tmp("missing"), 0, &e), ERROR_MISSING);
    ck_assert_int_eq(f.fd, -1);
    ck_assert_int_eq(file_open(&f, support_tmpdir(), 0, &e), ERROR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "folder"));
    ck_assert_int_eq(file_open(&f, "/dev/null", 0, &e), ERROR_IO);
    ck_assert_int_eq(mkfifo(support_tmp("fifo"), 0600), 0);
    ck_assert_int_eq(file_open(&f, support_tmp("fifo"), 0, &e), ERROR_IO); /* and does not wait */
    ck_assert_int_eq(file_open(&f, support_tmp("a\nb"), 0, &e), ERROR_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "a\\x0ab"));
    char *data;
    size_t n;
    put(support_tmp("long"), "12345");
    ck_assert_int_eq(file_read_all(support_tmp("long"), 4, &data, &n, &e), ERROR_FORMAT);
    ck_assert_ptr_null(data);
}
END_TEST

START_TEST(paths)
{
    struct error e = { 0 };
    char *p = file_join("a/b", "c", &e), *q = file_join("a/", "c", &e), *r = file_join("", "c", &e);
    ck_assert_str_eq(p, "a/b/c");
    ck_assert_str_eq(q, "a/c");
    ck_assert_str_eq(r, "c");
    ck_assert_str_eq(file_basename(p), "c");
    ck_assert_str_eq(file_basename("c"), "c");
    mem_free(p);
    mem_free(q);
    mem_free(r);
    ck_assert(file_is_dir(support_tmpdir()) && file_exists(support_tmpdir()) && !file_exists(support_tmp("no")));
}
END_TEST

START_TEST(writer_makes_the_bytes)
{
    struct error e = { 0 };
    struct writer w;
    char buf[4], *data, *want = mem_zalloc(3 << 20, 1, "x", &e);
    size_t n;
    ck_ok(writer_open(&w, support_tmp("w"), false, &e), e);
    for (uint64_t i = 0; i < 1000; i++)
        ck_ok(writer_write(&w, "abc", 3, &e), e);
    ck_ok(writer_zeros(&w, 5000, &e), e);
    ck_ok(writer_write(&w, want, 2 << 20, &e), e); /* larger than the buffer */
    ck_ok(writer_write(&w, "end", 3, &e), e);
    ck_assert_uint_eq(w.pos, 3000 + 5000 + (2 << 20) + 3);
    ck_ok(writer_patch(&w, "HEAD", 4, 0, &e), e);
    ck_ok(writer_patch(&w, "END", 3, w.pos - 3, &e), e);
    ck_assert_int_eq(writer_patch(&w, "x", 1, w.pos, &e), ERROR_INTERNAL);
    ck_ok(writer_read_back(&w, buf, 4, 1, &e), e);
    ck_assert_int_eq(memcmp(buf, "EADb", 4), 0);
    ck_assert_int_eq(writer_read_back(&w, buf, 4, w.pos - 3, &e), ERROR_INTERNAL);
    ck_assert(!file_exists(support_tmp("w")) && file_exists(partial_of("w")));
    ck_ok(writer_commit(&w, &e), e);
    writer_abort(&w);
    ck_assert(!file_exists(partial_of("w")));
    ck_ok(file_read_all(support_tmp("w"), 3 << 20, &data, &n, &e), e);
    for (int i = 0; i < 1000; i++)
        memcpy(want + 3 * i, "abc", 3);
    memcpy(want, "HEAD", 4);
    memcpy(want + n - 3, "END", 3);
    ck_assert_uint_eq(n, 3000 + 5000 + (2 << 20) + 3);
    ck_assert_int_eq(memcmp(data, want, n), 0);
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    ck_assert_int_eq(stat(support_tmp("w"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0666 & ~mask);
    mem_free(data);
    mem_free(want);
    ck_assert_int_eq(writer_commit(&w, &e), ERROR_INTERNAL);
}
END_TEST

START_TEST(old_output_survives)
{
    struct error e = { 0 };
    struct writer w;
    put(support_tmp("old"), "good");
    ck_assert_int_eq(writer_open(&w, support_tmp("old"), false, &e), ERROR_EXISTS);
    ck_ok(writer_open(&w, support_tmp("old"), true, &e), e);
    ck_ok(writer_write(&w, "half", 4, &e), e);
    assert_holds(support_tmp("old"), "good");
    writer_abort(&w);
    writer_abort(&w);
    assert_holds(support_tmp("old"), "good");
    ck_assert(!file_exists(partial_of("old")));
    /* without --force, one that appears meanwhile is kept too */
    ck_ok(writer_open(&w, support_tmp("race"), false, &e), e);
    int fd = open(support_tmp("race"), O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(write(fd, "other", 5), 5);
    close(fd);
    ck_assert_int_eq(writer_commit(&w, &e), ERROR_EXISTS);
    assert_holds(support_tmp("race"), "other");
    ck_assert(!file_exists(partial_of("race")));
}
END_TEST

START_TEST(stale_partial_is_replaced_live_one_is_not)
{
    struct error e = { 0 };
    struct writer w, second;
    put(support_tmp("victim"), "precious");
    ck_assert_int_eq(symlink(support_tmp("victim"), partial_of("s")), 0);
    ck_ok(writer_open(&w, support_tmp("s"), false, &e), e); /* the link is removed, not followed */
    ck_ok(writer_write(&w, "new", 3, &e), e);
    ck_assert_int_eq(writer_open(&second, support_tmp("s"), false, &e), ERROR_EXISTS);
    ck_assert_ptr_nonnull(strstr(e.text, "another run"));
    ck_ok(writer_commit(&w, &e), e);
    assert_holds(support_tmp("victim"), "precious");
    assert_holds(support_tmp("s"), "new");
    int fd = open(partial_of("s"), O_WRONLY | O_CREAT, 0600); /* a killed run's rest */
    ck_assert_int_eq(write(fd, "rest of it", 10), 10);
    close(fd);
    put(support_tmp("s"), "newer");
    assert_holds(support_tmp("s"), "newer");
    ck_assert_int_eq(mkdir(partial_of("d"), 0700), 0);
    ck_assert_int_eq(writer_open(&w, support_tmp("d"), false, &e), ERROR_EXISTS);
}
END_TEST

START_TEST(link_keeps_pointing)
{
    struct error e = { 0 };
    struct stat st;
    put(support_tmp("target"), "before");
    ck_assert_int_eq(symlink("target", support_tmp("link")), 0);
    ck_assert_int_eq(file_check_output(support_tmp("link"), 0, false, &e), ERROR_EXISTS);
    put(support_tmp("link"), "after");
    assert_holds(support_tmp("target"), "after");
    ck_assert_int_eq(lstat(support_tmp("link"), &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    ck_assert_int_eq(symlink("nowhere", support_tmp("dangling")), 0);
    ck_assert_int_eq(file_write_all(support_tmp("dangling"), "x", 1, true, &e), ERROR_IO);
}
END_TEST

START_TEST(output_is_checked_first)
{
    struct error e = { 0 };
    ck_ok(file_check_output(support_tmp("fresh"), 1 << 20, false, &e), e);
    ck_assert(!file_exists(support_tmp("fresh")));
    ck_assert_int_eq(file_check_output(support_tmp("no/such/x"), 0, false, &e), ERROR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "No such file"));
    ck_assert_int_eq(file_check_output("/proc/self/x", 0, false, &e) == 0, 0);
    ck_assert_int_eq(file_check_output(support_tmpdir(), 0, true, &e), ERROR_EXISTS);
    ck_assert_int_eq(file_check_output("/dev/null", 0, true, &e), ERROR_EXISTS);
    ck_assert_int_eq(file_check_output("", 0, true, &e), ERROR_USAGE);
    ck_assert_int_eq(file_check_output("a/", 0, true, &e), ERROR_USAGE);
    put(support_tmp("plain"), "x");
    ck_assert_int_eq(file_check_output(support_tmp("plain/x"), 0, true, &e), ERROR_IO);
    uint64_t room = 0;
    ck_assert(file_free_space(support_tmp("fresh"), &room) && room > 0);
    ck_assert(!file_free_space(support_tmp("no/such/x"), &room));
    ck_assert_int_eq(file_check_output(support_tmp("fresh"), (uint64_t)1 << 60, false, &e), ERROR_NOSPACE);
    ck_assert_ptr_nonnull(strstr(e.text, "missing"));
}
END_TEST

START_TEST(finished_file_is_moved)
{
    struct error e = { 0 };
    put(support_tmp("from"), "new");
    put(support_tmp("to"), "old");
    ck_assert_int_eq(file_move(support_tmp("from"), support_tmp("to"), false, &e), ERROR_EXISTS);
    assert_holds(support_tmp("to"), "old");
    ck_ok(file_move(support_tmp("from"), support_tmp("to"), true, &e), e);
    assert_holds(support_tmp("to"), "new");
    ck_assert_int_eq(file_move(support_tmp("from"), support_tmp("to2"), true, &e), ERROR_IO);
}
END_TEST

START_TEST(output_that_is_an_input)
{
    struct error e = { 0 };
    const char *in = support_tmp("input"), *inputs[] = { support_tmp("other"), in };
    put(in, "in");
    put(inputs[0], "other");
    ck_assert_int_eq(file_not_same(in, inputs, 2, &e), ERROR_EXISTS);
    ck_assert_int_eq(link(in, support_tmp("hard")), 0);
    ck_assert_int_eq(file_not_same(support_tmp("hard"), inputs, 2, &e), ERROR_EXISTS);
    ck_assert_int_eq(symlink(in, support_tmp("soft")), 0);
    ck_assert_int_eq(file_not_same(support_tmp("soft"), inputs, 2, &e), ERROR_EXISTS);
    ck_assert_ptr_nonnull(strstr(e.text, "soft"));
    ck_assert_ptr_nonnull(strstr(e.text, "/input"));
    ck_ok(file_not_same(support_tmp("out"), inputs, 2, &e), e);
    put(partial_of("out"), "p");
    inputs[0] = partial_of("out");
    ck_assert_int_eq(file_not_same(support_tmp("out"), inputs, 2, &e), ERROR_EXISTS);
}
END_TEST

START_TEST(full_disk)
{
    struct error e = { 0 };
    struct writer w;
    static char block[1 << 16];
    struct rlimit small = { 1 << 20, RLIM_INFINITY };
    interrupt_install(); /* SIGXFSZ would end the process */
    put(support_tmp("full"), "good");
    ck_ok(writer_open(&w, support_tmp("full"), true, &e), e);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = 0;
    for (int i = 0; i < 64 && !code; i++)
        code = writer_write(&w, block, sizeof block, &e);
    ck_assert_int_eq(code, ERROR_NOSPACE);
    ck_assert_int_eq(writer_commit(&w, &e), ERROR_NOSPACE);
    assert_holds(support_tmp("full"), "good");
    ck_assert(!file_exists(partial_of("full")));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("file");
    TCase *c = tcase_create("file");
    tcase_add_test(c, reading_is_bounded);
    tcase_add_test(c, only_regular_files_open);
    tcase_add_test(c, paths);
    tcase_add_test(c, writer_makes_the_bytes);
    tcase_add_test(c, old_output_survives);
    tcase_add_test(c, stale_partial_is_replaced_live_one_is_not);
    tcase_add_test(c, link_keeps_pointing);
    tcase_add_test(c, output_is_checked_first);
    tcase_add_test(c, finished_file_is_moved);
    tcase_add_test(c, output_that_is_an_input);
    tcase_add_test(c, full_disk);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
