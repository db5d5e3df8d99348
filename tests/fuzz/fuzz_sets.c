/* SPDX-License-Identifier: MIT
 *
 * fuzz_sets.c - sets of blocks, given any text (libFuzzer): the result is a set without the root,
 * or an error; and a second reading gives the same.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "query/query.h"

static crn_profile *make_profile(void)
{
    static const char *const names[] = {"main", "parse", "expr", "<gc>", "f<int>", "<true>"};
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t context = crn_profile_builder_root(builder), block = 0, first = 0;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        crn_block_info info = {
            .name = names[i], .file = i % 2 ? "a.c" : "b.c", .line = i + 2, .parent = block};
        block = crn_profile_builder_block(builder, &info);
        context = crn_profile_builder_child(builder, context, block, i + 1);
        crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, 1u << i);
        first = first ? first : context;
    }
    crn_profile_builder_edge(builder, context, first, 3, false);
    return crn_profile_builder_end(builder);
}

/* libc's regcomp copies repeated expressions, nested ones each time, so that its memory grows
 * exponentially with the nesting. */
static bool takes_all_memory(const uint8_t *data, size_t size)
{
    enum { MOST = 8 };
    int repeated = 0;
    for (size_t i = 0; i < size; i++)
        repeated += data[i] == '{' ? MOST + 1 : data[i] == '+';
    return repeated > MOST;
}

/* SQL that may run for ever, fill the memory, or give another result each time. */
static bool is_unbounded(const char *text)
{
    static const char *const words[] = {"recursive", "random", "blob", "printf", "format",
                                        "replace",   "date",   "time", "pragma", "_"};
    char small[512] = "";
    for (size_t i = 0; text[i] && i + 1 < sizeof small; i++)
        small[i] = (char)tolower((unsigned char)text[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(small, words[i]))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static crn_profile *profile;
    const crn_block_set_about about = {CRN_METRIC_TICKS, "<gc>"};
    if (!profile)
        profile = make_profile();
    if (takes_all_memory(data, size))
        return 0;
    char *text = crn_calloc(size + 1, 1);
    if (size)
        memcpy(text, data, size);
    if (is_unbounded(text)) {
        crn_free(text);
        return 0;
    }
    crn_error error = {0};
    uint8_t *set = crn_block_set_make(profile, about, text, &error);
    if (set ? set[0] : !*error.message)
        abort();
    uint8_t *again = crn_block_set_make(profile, about, text, &error);
    if (!set != !again || (set && memcmp(set, again, profile->block_count) != 0))
        abort();
    crn_free(again);
    crn_free(set);
    crn_free(text);
    return 0;
}
