/* SPDX-License-Identifier: MIT
 *
 * test_limits.c - what bounds hostile files, in a build where the bounds are small.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/pprof.h"
#include "support.h"
#include "support/cases.h"
#include "support/scratch.h"

static void check(crn_format_read *read, const void *bytes, size_t size, const char *says)
{
    crn_error error;
    assert_null(support_read(read, bytes, size, NULL, &error));
    if (!strstr(error.message, says))
        fail_msg("\"%s\" does not say \"%s\"", error.message, says);
}

static char *zipped(const char *bytes, size_t size, size_t *packed_size)
{
    z_stream stream = {0};
    char *packed = malloc(size + 1024);
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)bytes;
    stream.avail_in = (unsigned)size;
    stream.next_out = (unsigned char *)packed;
    stream.avail_out = (unsigned)size + 1024;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *packed_size = stream.total_out;
    deflateEnd(&stream);
    return packed;
}

/* Stacks of a few packed bytes each, without end. */
static void test_bomb(void **state)
{
    (void)state;
    size_t size = CRN_SOURCE_BYTES_MAX + CRN_SOURCE_BYTES_MAX / 2, packed_size;
    char *text = malloc(size);
    for (size_t i = 0; i < size; i++)
        text[i] = "a;b 1\n"[i % 6];
    char *packed = zipped(text, size, &packed_size);
    assert_true(packed_size < size / 100);
    check(crn_folded_read, packed, packed_size, "unpacks to more than");
    check(crn_folded_read, text, size, "unpacks to more than");
    free(packed);
    /* Below that limit, packed files have one by their size, and others have none. */
    size = CRN_SOURCE_RATIO_FROM + CRN_SOURCE_RATIO_FROM / 2;
    packed = zipped(text, size, &packed_size);
    assert_true(packed_size < size / CRN_SOURCE_RATIO_MAX);
    check(crn_folded_read, packed, packed_size, "100 times its size");
    crn_error error;
    crn_profile *whole = support_read(crn_folded_read, text, size / 6 * 6, NULL, &error);
    assert_non_null(whole);
    crn_profile_free(whole);
    free(packed);
    free(text);
}

enum { SHORT_MS = 200, LONG_MS = 120000 };

int limits_writer_ms = SHORT_MS;

/* Reads what the child process writes. */
static void read_from(pid_t writer, const char *path)
{
    crn_error error;
    size_t length;
    crn_source *source = crn_source_open(path, &error);
    assert_non_null(source);
    assert_string_equal(crn_source_line(source, &length, &error), "a;b 1");
    crn_source_close(source);
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
}

/* A pipe without a writer is refused; a writer that opens it late, or writes late, is awaited. */
static void test_lonely_pipe(void **state)
{
    (void)state;
    static const char text[] = "a;b 1\n";
    char path[SCRATCH_PATH];
    crn_error error;
    scratch_path(path, "lonely");
    assert_int_equal(mkfifo(path, 0600), 0);
    limits_writer_ms = SHORT_MS;
    assert_null(crn_source_open(path, &error));
    assert_non_null(strstr(error.message, "nobody writes to"));
    limits_writer_ms = LONG_MS;
    pid_t writer = fork();
    if (writer == 0) {
        usleep(SHORT_MS / 2 * 1000);
        _exit(write(open(path, O_WRONLY), text, strlen(text)) != (ssize_t)strlen(text));
    }
    read_from(writer, path);
    /* No limit is there for a writer that has opened the pipe. */
    limits_writer_ms = SHORT_MS;
    int opened = open(path, O_RDWR);
    writer = fork();
    if (writer == 0) {
        usleep(SHORT_MS * 2 * 1000);
        _exit(write(opened, text, strlen(text)) != (ssize_t)strlen(text));
    }
    close(opened);
    read_from(writer, path);
    unlink(path);
}

/* The writer never stops by itself. */
static void test_endless_pipe(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_error error;
    scratch_path(path, "endless");
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t writer = fork();
    if (writer == 0) {
        static char text[1 << 16];
        memset(text, '\n', sizeof text);
        int pipe = open(path, O_WRONLY);
        while (write(pipe, text, sizeof text) > 0) {
        }
        _exit(0);
    }
    assert_null(crn_source_open(path, &error));
    assert_non_null(strstr(error.message, "does not end within 1 MiB"));
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    assert_null(crn_source_open("/dev/zero", &error));
    assert_non_null(strstr(error.message, "is a device"));
    unlink(path);
}

static void test_long_line(void **state)
{
    (void)state;
    size_t size = CRN_SOURCE_LINE_MAX * 4;
    char *text = malloc(size);
    memset(text, 'x', size);
    check(crn_folded_read, text, size, "line is longer");
    check(crn_perf_read, text, size, "line is longer");
    free(text);
}

/* Writes a protobuf field with its length. */
static size_t put_field(uint8_t *to, unsigned number, const void *bytes, size_t size)
{
    size_t count = 0;
    to[count++] = (uint8_t)(number << 3 | 2);
    for (size_t rest = size;; rest >>= 7) {
        to[count++] = (uint8_t)((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0));
        if (rest < 0x80)
            break;
    }
    if (bytes)
        memcpy(to + count, bytes, size);
    return count + size;
}

static void test_tables(void **state)
{
    (void)state;
    size_t size = 0, room = CRN_PPROF_TABLES_MAX + 4096;
    uint8_t *bytes = malloc(room);
    while (size + 128 < room)
        size += put_field(bytes + size, CRN_PPROF_STRING, "a string that is long", 21);
    check(crn_pprof_read, bytes, size, "names and places take more");
    free(bytes);
}

static void test_field(void **state)
{
    (void)state;
    uint8_t *bytes = calloc(CRN_PPROF_FIELD_MAX + 64, 1);
    size_t size = put_field(bytes, CRN_PPROF_STRING, NULL, CRN_PPROF_FIELD_MAX + 1);
    check(crn_pprof_read, bytes, size, "a field that is too long");
    /* A length beyond the end of the file is refused before memory is allocated for it. */
    size = put_field(bytes, CRN_PPROF_STRING, NULL, CRN_PPROF_FIELD_MAX);
    check(crn_pprof_read, bytes, size - 1, "truncated");
    free(bytes);
}

/* Samples of many locations, each of many inlined frames: a small file with large contents. */
static void test_deep_stack(void **state)
{
    (void)state;
    enum { LINES = 1000 };
    uint8_t *bytes = malloc(1 << 20), *location = malloc(1 << 16), sample[64];
    size_t size = 0, length = 0;
    length += (size_t)snprintf((char *)location, 4, "\x08\x01");
    for (int i = 0; i < LINES; i++)
        length += put_field(location + length, 4, "\x08\x01", 2);
    size += put_field(bytes + size, CRN_PPROF_STRING, "", 0);
    size += put_field(bytes + size, CRN_PPROF_SAMPLE_TYPE, "", 0);
    size += put_field(bytes + size, CRN_PPROF_LOCATION, location, length);
    length = put_field(sample, 1, "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", 24);
    length += put_field(sample + length, 2, "\1", 1);
    size += put_field(bytes + size, CRN_PPROF_SAMPLE, sample, length);
    assert_true(CRN_PPROF_FRAMES_MAX < LINES * 24);
    check(crn_pprof_read, bytes, size, "a stack that is too deep");
    free(location);
    free(bytes);
}

/* Contexts whose paths, written out, would make too large a file. */
static void test_export(void **state)
{
    (void)state;
    crn_profile *profile = support_path(400);
    crn_export_options choice = {.metric = CRN_METRIC_CALLS, .times = true};
    crn_format_write *const writers[] = {crn_pprof_write, crn_folded_write};
    for (size_t i = 0; i < COUNT(writers); i++) {
        crn_error error = {0};
        FILE *out = tmpfile();
        assert_false(writers[i](profile, &choice, out, &error));
        assert_non_null(strstr(error.message, "80200 blocks"));
        fclose(out);
    }
    size_t size;
    free(support_write(crn_speedscope_write, profile, NULL, &size));
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bomb),         cmocka_unit_test(test_lonely_pipe),
        cmocka_unit_test(test_endless_pipe), cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_tables),       cmocka_unit_test(test_field),
        cmocka_unit_test(test_deep_stack),   cmocka_unit_test(test_export),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
