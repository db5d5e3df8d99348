/* SPDX-License-Identifier: MIT
 *
 * Reading of jitdump files: functions, moved ones, and files that are damaged at every place.
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "support/cases.h"
#include "symbols/compiled.h"
#include "symbols/jitdump.h"

enum { LOAD, MOVE, OTHER = 9, HEADER = 40, SIZE = 1024 };

typedef struct dump {
    char bytes[SIZE];
    size_t used;
} dump;

static void put(dump *dump, const void *bytes, size_t size)
{
    assert_true(dump->used + size <= SIZE);
    memcpy(dump->bytes + dump->used, bytes, size);
    dump->used += size;
}

static void put_record(dump *dump, uint32_t kind, const uint64_t words[5], const char *name)
{
    size_t name_size = name ? strlen(name) + 1 : 0;
    uint32_t head[2] = {kind, (uint32_t)(16 + 40 + name_size)};
    uint64_t time = 1;
    put(dump, head, sizeof head);
    put(dump, &time, sizeof time);
    put(dump, words, 40);
    if (name)
        put(dump, name, name_size);
}

/* Two functions, one of them moved, and a record that is skipped. */
static dump example(void)
{
    dump dump = {.used = HEADER};
    const uint32_t magic = 0x4a695444, version = 1, size = HEADER;
    memcpy(dump.bytes, &magic, 4);
    memcpy(dump.bytes + 4, &version, 4);
    memcpy(dump.bytes + 8, &size, 4);
    put_record(&dump, LOAD, (uint64_t[]){0, 0x1000, 0x1000, 0x100, 1}, "first");
    put_record(&dump, OTHER, (uint64_t[]){0, 0x1000, 0x1000, 0x100, 1}, "no function");
    put_record(&dump, LOAD, (uint64_t[]){0, 0x2000, 0x2000, 0x80, 2}, "second");
    put_record(&dump, MOVE, (uint64_t[]){0, 0x3000, 0x1000, 0x3000, 0x100}, NULL);
    return dump;
}

static crn_compiled *read_back(const dump *dump, size_t size, char path[64])
{
    snprintf(path, 64, "/tmp/jit-%ld.dump", (long)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(dump->bytes, 1, size, file), size);
    fclose(file);
    crn_compiled *compiled = crn_compiled_read(path);
    unlink(path);
    return compiled;
}

static void names(void **state)
{
    (void)state;
    assert_true(crn_jitdump_is("/home/me/jit-12.dump"));
    assert_false(crn_jitdump_is("/home/me/jit-12.dump.old"));
    assert_false(crn_jitdump_is("/home/me/jit-.dump"));
    assert_false(crn_jitdump_is("jit-12.dump"));
    assert_true(crn_compiled_is_map("/home/me/jit-12.dump"));
}

static void functions_are_found(void **state)
{
    char path[64];
    uint64_t number;
    dump dump = example();
    (void)state;
    crn_compiled *compiled = read_back(&dump, dump.used, path);
    assert_string_equal(crn_compiled_find(compiled, 0x1010, &number), "first");
    assert_string_equal(crn_compiled_find(compiled, 0x207f, &number), "second");
    assert_string_equal(crn_compiled_find(compiled, 0x30ff, &number), "first");
    assert_null(crn_compiled_find(compiled, 0x2080, &number));
    assert_null(crn_compiled_find(compiled, 0x3100, &number));
    crn_compiled_free(compiled);
}

static void damage_ends_the_file(void **state)
{
    char path[64];
    uint64_t number;
    dump whole = example();
    (void)state;
    for (size_t size = 0; size < whole.used; size++) {
        crn_compiled *compiled = read_back(&whole, size, path);
        assert_null(crn_compiled_find(compiled, 0x30ff, &number));
        crn_compiled_free(compiled);
    }
    for (size_t at = 0; at < whole.used; at++)
        for (int value = 0; value < 256; value += 51) {
            dump damaged = whole;
            damaged.bytes[at] = (char)value;
            crn_compiled *compiled = read_back(&damaged, damaged.used, path);
            crn_compiled_find(compiled, 0x1010, &number);
            crn_compiled_free(compiled);
        }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(functions_are_found),
        cmocka_unit_test(damage_ends_the_file),
    };
    return cmocka_run_group_tests_name("jitdump", cases, NULL, NULL);
}
