/* SPDX-License-Identifier: MIT
 *
 * Reading of words of an interpreter's structures at addresses that may be wrong: what the calling
 * thread reads in place is what the kernel copies, and no address faults.
 */
#include <string.h>
#include <sys/mman.h>

#include "sample/objects.h"
#include "support/cases.h"
#include "support/random.h"

enum { PAGE = CRN_UNWIND_PAGE, WORD = sizeof(uintptr_t), WALKS = 2000, READS = 8 };

/* Five pages: the first and the fourth cannot be read, the fifth is not mapped. */
static char *map(void)
{
    char *pages = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    for (size_t at = 0; at < 5 * PAGE; at += WORD)
        memcpy(pages + at, &at, sizeof at);
    mprotect(pages, PAGE, PROT_NONE);
    mprotect(pages + 3 * PAGE, PAGE, PROT_NONE);
    munmap(pages + 4 * PAGE, PAGE);
    return pages;
}

static uintptr_t any_address(random_source *random, const char *pages)
{
    switch (random_below(random, 4)) {
    case 0:
        return random_below(random, 2 * PAGE); /* members of an object at 0 or near it */
    case 1:
        return random_next(random);
    case 2:
        return UINTPTR_MAX - random_below(random, 2 * PAGE);
    default:
        return (uintptr_t)pages + random_below(random, 5 * PAGE);
    }
}

static void words_in_place_are_those_that_the_kernel_copies(void **state)
{
    (void)state;
    random_source random = {1};
    char *pages = map(), copy[PAGE];
    size_t found = 0;
    for (int i = 0; i < WALKS; i++) {
        crn_unwind_memory memory = {.copy = copy};
        crn_unwind_walk walk = {.memory = &memory};
        crn_words in_place = {.own = true}, copied = {.own = false};
        for (int k = 0; k < READS; k++) {
            uintptr_t address = any_address(&random, pages);
            address -= random_chance(&random, 3, 4) ? address % WORD : 0;
            uintptr_t word = crn_word_at(&walk, &in_place, address);
            assert_int_equal(word, crn_word_at(&walk, &copied, address));
            found += word != 0;
        }
    }
    assert_true(found > WALKS / 4);
    munmap(pages, 4 * PAGE);
}

/* A register that has a small number is taken for an object's address. */
static void the_first_page_of_memory_is_not_read(void **state)
{
    (void)state;
    crn_unwind_memory memory = {.low = 0};
    crn_unwind_walk walk = {.memory = &memory};
    for (uintptr_t address = 0; address < 2 * PAGE; address += WORD) {
        crn_words words = {.own = true};
        assert_int_equal(crn_word_at(&walk, &words, address), 0);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(words_in_place_are_those_that_the_kernel_copies),
        cmocka_unit_test(the_first_page_of_memory_is_not_read),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
