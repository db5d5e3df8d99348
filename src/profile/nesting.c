/* SPDX-License-Identifier: MIT */
#include "profile/nesting.h"

#include <ctype.h>
#include <string.h>

#include "base/memory.h"

/* Returns true for a block that is a whole file, such as a main chunk: first line, no column, no
 * lexical parent. */
static bool is_whole_file(const crn_block_info *info)
{
    return !info->parent && info->line <= 1 && !info->column;
}

/* Returns true if the inner name begins with the outer name and a separator. */
static bool says(const char *inner, const char *outer)
{
    size_t length = strlen(outer);
    return length && strncmp(inner, outer, length) == 0 && inner[length] &&
           !isalnum((unsigned char)inner[length]) && inner[length] != '_';
}

uint32_t crn_nesting_around(const crn_profile *profile, uint32_t block,
                            uint32_t around[CRN_NESTING_MOST])
{
    uint32_t count = 0;
    const char *inner = profile->blocks[block].name;
    uint32_t at = profile->blocks[block].parent;
    for (int i = 0; i < CRN_NESTING_MOST && at && at < profile->block_count; i++) {
        const crn_block_info *info = &profile->blocks[at];
        if (is_whole_file(info))
            break;
        if (!says(inner, info->name))
            around[count++] = at;
        inner = info->name;
        at = info->parent;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t outer = around[count - 1 - i];
        around[count - 1 - i] = around[i];
        around[i] = outer;
    }
    return count;
}

static char *join(const crn_profile *profile, uint32_t block, bool with_itself)
{
    uint32_t around[CRN_NESTING_MOST + 1];
    uint32_t count = crn_nesting_around(profile, block, around);
    if (with_itself)
        around[count++] = block;
    size_t size = 1;
    for (uint32_t i = 0; i < count; i++)
        size += strlen(profile->blocks[around[i]].name) + 1;
    char *name = crn_calloc(size, 1), *end = name;
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            *end++ = '.';
        end = stpcpy(end, profile->blocks[around[i]].name);
    }
    return name;
}

char *crn_nesting_outer(const crn_profile *profile, uint32_t block)
{
    return join(profile, block, false);
}

char *crn_nesting_name(const crn_profile *profile, uint32_t block)
{
    return join(profile, block, true);
}
