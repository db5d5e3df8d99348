/* SPDX-License-Identifier: MIT
 *
 * test_capture_failure.c - the system refuses parts of what a capture needs: nothing is tried in
 * vain again, and nothing is left behind.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "capture/loss.h"
#include "capture/mapping.h"
#include "capture/writer.h"
#include "support/cases.h"
#include "support/scratch.h"

enum { MEGABYTE = 1 << 20 };

static void create(crn_capture *capture, char path[SCRATCH_PATH], const char *name)
{
    scratch_path(path, name);
    assert_int_equal(crn_capture_create(capture, path, UINT64_C(16) * MEGABYTE), CAIRN_OK);
    assert_int_equal(crn_capture_publish(capture), CAIRN_OK);
}

static void limit_resource(int resource, rlim_t most, struct rlimit *before)
{
    assert_int_equal(getrlimit(resource, before), 0);
    const struct rlimit limit = {most, before->rlim_max};
    assert_int_equal(setrlimit(resource, &limit), 0);
}

/* ---- space ---- */

/* Each attempt to grow a file on a full disk fills the disk. */
static void what_the_disk_refused_is_not_tried_again(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_capture capture;
    create(&capture, path, "refused.cairn");
    crn_section section;
    crn_section_open(&section, &capture, CRN_SECTION_RECORDS, 0, 0);
    struct rlimit before;
    limit_resource(RLIMIT_FSIZE, MEGABYTE, &before);
    cairn_error refused = crn_section_grow(&section, 4 * MEGABYTE);
    cairn_error beyond_limit = crn_section_grow(&section, 32 * MEGABYTE);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(refused, CAIRN_E_SPACE);
    assert_int_equal(beyond_limit, CAIRN_E_SPACE);
    assert_int_equal(crn_section_grow(&section, 4 * MEGABYTE), CAIRN_E_SPACE);
    assert_int_equal(crn_section_grow(&section, MEGABYTE), CAIRN_OK);
    crn_section_close(&section);
    crn_capture_close(&capture, CRN_STATE_CLOSED);
}

/* ---- chunks ---- */

/* Hides the file and closes its descriptor, so that nothing of it can be mapped. */
static void hide(const crn_capture *capture, const char *path)
{
    char hidden[SCRATCH_PATH];
    assert_int_equal(rename(path, scratch_path(hidden, "hidden")), 0);
    close(capture->file.descriptor);
}

static void show(const char *path)
{
    char hidden[SCRATCH_PATH];
    assert_int_equal(rename(scratch_path(hidden, "hidden"), path), 0);
}

/* Asserts that page number p of the section is full of bytes p + 1. */
static void assert_pages(const char *path, crn_section_kind kind, size_t pages)
{
    crn_reader reader;
    crn_bytes bytes;
    crn_error error = {0};
    assert_true(crn_reader_open(&reader, path, &error));
    assert_true(crn_reader_section(&reader, kind, 0, 0, UINT64_MAX, &bytes, &error));
    assert_true(bytes.size >= pages * CRN_PAGE);
    for (size_t i = 0; i < pages * CRN_PAGE; i++)
        assert_int_equal(bytes.data[i], 1 + i / CRN_PAGE);
    crn_free(bytes.data);
    crn_reader_close(&reader);
}

enum { PAGES = 4 };

static void growth_that_cannot_be_mapped_leaves_no_chunk(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_capture capture;
    create(&capture, path, "section.cairn");
    crn_section section;
    crn_section_open(&section, &capture, CRN_SECTION_RECORDS, 0, 0);
    for (size_t page = 0; page < PAGES; page++) {
        hide(&capture, path);
        for (int i = 0; i < 2; i++)
            assert_int_not_equal(crn_section_grow(&section, section.mapped + 1), CAIRN_OK);
        show(path);
        assert_int_equal(crn_section_grow(&section, (page + 1) * CRN_PAGE), CAIRN_OK);
        memset(section.base + page * CRN_PAGE, (int)page + 1, CRN_PAGE);
    }
    crn_section_close(&section);
    crn_capture_close(&capture, CRN_STATE_CLOSED);
    assert_pages(path, CRN_SECTION_RECORDS, PAGES);
}

static void chunks_that_cannot_be_mapped_are_not_entered(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_capture capture;
    create(&capture, path, "chunks.cairn");
    for (size_t page = 0; page < PAGES; page++) {
        crn_disk_chunk chunk = {
            .kind = CRN_SECTION_DETAILS, .place = page * CRN_PAGE, .size = CRN_PAGE};
        hide(&capture, path);
        for (int i = 0; i < 2; i++)
            assert_null(crn_capture_chunk(&capture, &chunk));
        show(path);
        char *base = crn_capture_chunk(&capture, &chunk);
        assert_non_null(base);
        memset(base, (int)page + 1, CRN_PAGE);
        crn_capture_release(base, CRN_PAGE);
    }
    crn_capture_close(&capture, CRN_STATE_CLOSED);
    assert_pages(path, CRN_SECTION_DETAILS, PAGES);
}

/* More chunks than the first directory has room for, so that memory can run out after it is
 * read. */
static void a_reader_without_memory_has_no_chunks(void **state)
{
    (void)state;
    enum { LANES = CRN_PAGE / sizeof(crn_disk_chunk) + 10 };
    char path[SCRATCH_PATH];
    crn_capture capture;
    create(&capture, path, "directories.cairn");
    for (uint32_t lane = 0; lane < LANES; lane++) {
        crn_disk_chunk chunk = {.kind = CRN_SECTION_DETAILS, .lane = lane, .size = CRN_PAGE};
        char *base = crn_capture_chunk(&capture, &chunk);
        assert_non_null(base);
        crn_capture_release(base, CRN_PAGE);
    }
    crn_capture_close(&capture, CRN_STATE_CLOSED);
    uint64_t failures = 0;
    for (bool opened = false; !opened; failures += !opened) {
        crn_reader reader;
        crn_error error = {0};
        crn_memory_fail_at(failures + 1);
        opened = crn_reader_open(&reader, path, &error);
        crn_memory_fail_at(0);
        assert_int_equal(reader.chunk_count, opened ? LANES : 0);
        assert_int_equal(reader.chunks != NULL, opened);
        if (opened)
            crn_reader_close(&reader);
        else
            assert_int_equal(error.code, CAIRN_E_MEMORY);
    }
    assert_true(failures > 2);
}

/* ---- files ---- */

static size_t count_temporary_files(void)
{
    char folder[SCRATCH_PATH];
    size_t count = 0;
    DIR *listing = opendir(scratch_path(folder, ""));
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));)
        count += strncmp(entry->d_name, ".cairn.", strlen(".cairn.")) == 0;
    closedir(listing);
    return count;
}

/* The file gets the number of the closed standard input, and no other number is free. */
static void a_file_without_a_descriptor_is_removed(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_file file;
    struct rlimit before;
    scratch_path(path, "none.cairn");
    int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(STDIN_FILENO);
    limit_resource(RLIMIT_NOFILE, STDERR_FILENO + 1, &before);
    bool created = crn_file_create(&file, path, CRN_MAGIC, strlen(CRN_MAGIC));
    setrlimit(RLIMIT_NOFILE, &before);
    if (input >= 0) {
        dup2(input, STDIN_FILENO);
        close(input);
    }
    assert_false(created);
    assert_int_equal(count_temporary_files(), 0);
}

/* ---- mappings ---- */

/* Opens a reader of a closed capture. */
static void open_reader(crn_reader *reader, const char *name)
{
    char path[SCRATCH_PATH];
    crn_capture capture;
    crn_error error = {0};
    create(&capture, path, name);
    crn_capture_close(&capture, CRN_STATE_CLOSED);
    assert_true(crn_reader_open(reader, path, &error));
}

static void read_behind(const crn_reader *reader, size_t pages, const crn_mapping *mapping)
{
    const volatile char *behind = mapping->base + reader->file_size;
    for (size_t page = 0; page < pages; page++)
        assert_int_equal(behind[page * CRN_PAGE], 0);
}

/* Maps `pages` pages more than the file has, as if it had been cut short since. */
static void open_longer(const crn_reader *reader, size_t pages, crn_mapping *mapping)
{
    crn_reader longer = *reader;
    longer.file_size += pages * CRN_PAGE;
    crn_mapping_open(mapping, &longer);
    assert_non_null(mapping->base);
}

/* Another thread may close a mapping and free its struct while the handler of SIGBUS runs. */
static void the_signal_handler_reads_no_struct_of_a_mapping(void **state)
{
    (void)state;
    crn_reader reader;
    open_reader(&reader, "handler.cairn");
    crn_mapping cut,
        *other = mmap(NULL, CRN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(other != MAP_FAILED);
    open_longer(&reader, 1, &cut);
    crn_mapping_open(other, &reader);
    mprotect(other, CRN_PAGE, PROT_NONE);
    read_behind(&reader, 1, &cut);
    mprotect(other, CRN_PAGE, PROT_READ | PROT_WRITE);
    crn_mapping_close(other);
    crn_mapping_close(&cut);
    munmap(other, CRN_PAGE);
    crn_reader_close(&reader);
}

typedef struct opener {
    crn_reader reader;
    bool ending; /* atomic */
} opener;

static void *open_and_close(void *data)
{
    enum { MAPPINGS = 16 };
    opener *opener = data;
    while (!__atomic_load_n(&opener->ending, __ATOMIC_ACQUIRE)) {
        crn_mapping mappings[MAPPINGS];
        for (int i = 0; i < MAPPINGS; i++)
            crn_mapping_open(&mappings[i], &opener->reader);
        for (int i = 0; i < MAPPINGS; i++)
            crn_mapping_close(&mappings[i]);
    }
    return NULL;
}

static void mappings_may_close_while_another_is_read(void **state)
{
    (void)state;
    enum { PAGES_BEHIND = 100 };
    opener opener = {.ending = false};
    open_reader(&opener.reader, "mapped.cairn");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_and_close, &opener), 0);
    for (uint64_t round = scale(50); round; round--) {
        crn_mapping cut;
        open_longer(&opener.reader, PAGES_BEHIND, &cut);
        read_behind(&opener.reader, PAGES_BEHIND, &cut);
        crn_mapping_close(&cut);
    }
    __atomic_store_n(&opener.ending, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    crn_reader_close(&opener.reader);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(what_the_disk_refused_is_not_tried_again),
        cmocka_unit_test(growth_that_cannot_be_mapped_leaves_no_chunk),
        cmocka_unit_test(chunks_that_cannot_be_mapped_are_not_entered),
        cmocka_unit_test(a_reader_without_memory_has_no_chunks),
        cmocka_unit_test(a_file_without_a_descriptor_is_removed),
        cmocka_unit_test(the_signal_handler_reads_no_struct_of_a_mapping),
        cmocka_unit_test(mappings_may_close_while_another_is_read),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
