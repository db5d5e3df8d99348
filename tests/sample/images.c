/* SPDX-License-Identifier: MIT
 *
 * Copies of program files that were made to mislead: headers that point elsewhere.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "outside/sampler.h"
#include "support/cases.h"

enum { SIZE = 8192, FAR = 1 << 30 };

/* Returns a file in memory with one segment of `mapped` bytes, of which the file is said to have
 * `filled`, and an index of .eh_frame at `index`. */
static const crn_image *image_of(uint64_t filled, uint64_t mapped, uint64_t index)
{
    static char bytes[SIZE];
    char path[64];
    int file = memfd_create("image", 0);
    assert_true(file >= 0);
    Elf64_Ehdr header = {.e_phoff = sizeof header, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
    Elf64_Phdr parts[] = {
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = filled, .p_memsz = mapped},
        {.p_type = PT_GNU_EH_FRAME, .p_vaddr = index, .p_filesz = 64, .p_memsz = 64}};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, parts, sizeof parts);
    assert_int_equal(write(file, bytes, SIZE), SIZE);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const crn_image *image = crn_image_of(path, path);
    close(file);
    return image;
}

static void an_index_outside_the_file_is_not_read(void **state)
{
    (void)state;
    assert_non_null(image_of(SIZE, SIZE, FAR));
    assert_non_null(image_of(SIZE, SIZE, UINT64_MAX - 4));
    assert_non_null(image_of(SIZE, SIZE, SIZE - 4));
}

static void a_segment_with_more_in_the_file_than_in_memory_is_refused(void **state)
{
    (void)state;
    assert_null(image_of(SIZE, SIZE / 2, 0));
    assert_null(image_of(UINT64_MAX, SIZE, 0));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(an_index_outside_the_file_is_not_read),
        cmocka_unit_test(a_segment_with_more_in_the_file_than_in_memory_is_refused),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
