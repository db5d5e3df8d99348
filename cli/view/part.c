/* SPDX-License-Identifier: MIT
 *
 * Parts of a profile, and the blocks that answers refer to.
 */
#include <stdio.h>

#include "base/memory.h"
#include "cli/common/json.h"
#include "profile/profile.h"
#include "view.h"

void crn_view_part_clear(crn_view_part *part)
{
    crn_free(part->key);
    crn_free(part->blocks);
    crn_profile_free(part->owned);
    crn_free(part->kept);
    crn_free(part->owned_totals);
    crn_free(part->others);
    *part = (crn_view_part){0};
}

void crn_view_transformed_clear(crn_view_transformed *transformed)
{
    crn_figure_cache_clear(&transformed->known);
    crn_profile_free(transformed->profile);
    crn_free(transformed->key);
    *transformed = (crn_view_transformed){0};
}

uint32_t *crn_view_numbers_of(const crn_profile *profile, const crn_profile *made)
{
    crn_block_join join = crn_block_join_make(profile, made);
    uint32_t *first = crn_calloc(join.count, sizeof *first);
    uint32_t *numbers = crn_calloc(made->block_count, sizeof *numbers);
    for (uint32_t b = profile->block_count; b-- > 0;)
        first[join.numbers[CRN_BEFORE][b]] = b;
    for (uint32_t b = 0; b < made->block_count; b++)
        numbers[b] = first[join.numbers[CRN_AFTER][b]];
    crn_free(first);
    crn_block_join_free(&join);
    return numbers;
}

void crn_view_write_blocks(FILE *out, const crn_profile *profile, const uint8_t *used,
                           const uint32_t *numbers)
{
    const char *joint = "\n";
    fputs(",\n\"blocks\":{", out);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        if (!used[b])
            continue;
        fprintf(out, "%s\"%u\":", joint, numbers ? numbers[b] : b);
        json_t *json = crn_json_block(profile, b);
        if (numbers)
            json_object_set_new(json, "id", crn_json_number(numbers[b]));
        crn_json_write(out, json);
        joint = ",\n";
    }
    fputs("}", out);
}
