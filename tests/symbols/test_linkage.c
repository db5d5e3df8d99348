/* SPDX-License-Identifier: MIT
 *
 * test_linkage.c - entries of procedure linkage tables have the names that objdump gives them.
 *
 * usage: test_linkage FILE...   programs and libraries
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/damage.h"
#include "support/random.h"
#include "support/scratch.h"
#include "symbols/linkage.h"

enum {
    ROUNDS = 20000,
    HEADERS = 2048, /* bytes, those of sections, at the file's end */
    ENTRIES = 7     /* of linkage.c */
};

static char **files;

static Elf *open_elf(const char *path, int *descriptor)
{
    *descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(*descriptor >= 0);
    assert_true(elf_version(EV_CURRENT) != EV_NONE);
    Elf *elf = elf_begin(*descriptor, ELF_C_READ, NULL);
    assert_non_null(elf);
    return elf;
}

/* Compares the entries that begin lines such as "0000000000001030 <puts@plt>:"; returns how many.
 */
static int compare(const crn_linkage *linkage, FILE *listing)
{
    int compared = 0;
    char line[8192];
    while (fgets(line, sizeof line, listing)) {
        static const char chosen[] = "*ABS*+0x"; /* then the address of an IFUNC */
        char *end, *name, *suffix = strstr(line, "@plt>:");
        uint64_t address = strtoull(line, &end, 16);
        if (!suffix || strncmp(end, " <", 2) != 0)
            continue;
        name = end + 2;
        *suffix = '\0';
        name[strcspn(name, "@")] = '\0'; /* before the version */
        for (uint64_t inside = 0; inside < 8; inside++) {
            const crn_linkage_entry *entry = crn_linkage_find(linkage, address + inside);
            assert_non_null(entry);
            assert_int_equal(entry->low, address);
            if (strncmp(name, chosen, sizeof chosen - 1) == 0) {
                assert_int_equal(entry->resolver, strtoull(name + sizeof chosen - 1, NULL, 16));
                continue;
            }
            assert_non_null(entry->name);
            assert_string_equal(entry->name, name);
        }
        compared++;
    }
    return compared;
}

static void entries_have_the_names_of_objdump(void **state)
{
    (void)state;
    for (char **file = files; *file; file++) {
        char command[4200];
        int descriptor;
        Elf *elf = open_elf(*file, &descriptor);
        crn_linkage linkage = crn_linkage_make(elf);
        snprintf(command, sizeof command, "LC_ALL=C objdump -d '%s'", *file);
        FILE *listing = popen(command, "r");
        assert_non_null(listing);
        assert_true(compare(&linkage, listing) > 0);
        assert_int_equal(pclose(listing), 0);
        assert_null(crn_linkage_find(&linkage, 0));
        assert_null(crn_linkage_find(&linkage, linkage.entries[linkage.count - 1].high));
        crn_linkage_free(&linkage);
        elf_end(elf);
        close(descriptor);
    }
}

/* Damaged files give entries with any names or none, and no access outside of them. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    size_t size;
    unsigned char *bytes = scratch_read(files[0], &size), *copy = malloc(size);
    random_source random = {1};
    int fewer = 0; /* rounds in which the damage took entries or names */
    assert_non_null(bytes);
    assert_non_null(copy);
    for (int round = 0; round < ROUNDS; round++) {
        size_t headers = random_chance(&random, 3, 4) ? size - HEADERS : 0;
        memcpy(copy, bytes, size);
        damage_fields(&random, copy + headers, size - headers, 1 + random_below(&random, 20));
        size_t named = 0;
        Elf *elf = elf_memory((char *)copy, size);
        crn_linkage linkage = elf ? crn_linkage_make(elf) : (crn_linkage){0};
        for (size_t i = 0; i < linkage.count; i++) {
            const crn_linkage_entry *entry = crn_linkage_find(&linkage, linkage.entries[i].low);
            assert_true(!entry || !entry->name || strlen(entry->name) < size);
            named += linkage.entries[i].name != NULL;
        }
        fewer += named < ENTRIES;
        crn_linkage_free(&linkage);
        elf_end(elf);
    }
    assert_true(fewer > ROUNDS / 10);
    free(copy);
    free(bytes);
}

/* Appends a copy of the section headers, and `more` of a table's section that has all bytes of the
 * file, so that the entries of all headers together would take gigabytes. */
static unsigned char *with_headers(const unsigned char *bytes, size_t *size, uint16_t more)
{
    Elf64_Ehdr file;
    memcpy(&file, bytes, sizeof file);
    size_t old = file.e_shnum * sizeof(Elf64_Shdr), added = more * sizeof(Elf64_Shdr);
    unsigned char *made = malloc(*size + old + added);
    assert_non_null(made);
    memcpy(made, bytes, *size);
    memcpy(made + *size, bytes + file.e_shoff, old);
    Elf64_Shdr table = {0};
    for (uint16_t i = 0; i < file.e_shnum; i++) {
        Elf64_Shdr header;
        memcpy(&header, bytes + file.e_shoff + i * sizeof header, sizeof header);
        if (header.sh_type == SHT_PROGBITS && header.sh_entsize == 16)
            table = header; /* .plt or .plt.sec */
    }
    assert_int_equal(table.sh_entsize, 16);
    table.sh_offset = 0;
    table.sh_size = *size;
    table.sh_entsize = 8;
    for (uint16_t i = 0; i < more; i++)
        memcpy(made + *size + old + i * sizeof table, &table, sizeof table);
    file.e_shoff = *size;
    file.e_shnum = (uint16_t)(file.e_shnum + more);
    memcpy(made, &file, sizeof file);
    *size += old + added;
    return made;
}

static void many_headers_of_one_section_have_a_limit(void **state)
{
    (void)state;
    enum { HEADERS_MORE = 60000, SMALLEST = 8 };
    size_t size;
    unsigned char *bytes = scratch_read(files[0], &size);
    assert_non_null(bytes);
    unsigned char *made = with_headers(bytes, &size, HEADERS_MORE);
    Elf *elf = elf_memory((char *)made, size);
    assert_non_null(elf);
    crn_linkage linkage = crn_linkage_make(elf);
    assert_in_range(linkage.count, CRN_LINKAGE_MAX / SMALLEST / 2,
                    CRN_LINKAGE_MAX / SMALLEST + HEADERS_MORE);
    crn_linkage_free(&linkage);
    elf_end(elf);
    free(made);
    free(bytes);
}

int main(int argc, char **argv)
{
    (void)argc;
    files = argv + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_have_the_names_of_objdump),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(many_headers_of_one_section_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
