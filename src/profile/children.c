/* SPDX-License-Identifier: MIT */
#include "profile/children.h"

#include "base/memory.h"

void crn_children_walk(const crn_profile *profile, crn_children_visit *enter,
                       crn_children_visit *leave, void *data)
{
    /* 0: no child or sibling, as the root is neither. */
    uint32_t *first = crn_calloc(profile->context_count, sizeof *first);
    uint32_t *next = crn_calloc(profile->context_count, sizeof *next);
    for (uint32_t c = profile->context_count - 1; c > 0; c--) {
        next[c] = first[profile->parent[c]];
        first[profile->parent[c]] = c;
    }
    uint32_t context = 0;
    enter(data, context);
    for (;;) {
        if (first[context]) {
            context = first[context];
            enter(data, context);
            continue;
        }
        leave(data, context);
        while (context && !next[context]) {
            context = profile->parent[context];
            leave(data, context);
        }
        if (context == 0)
            break;
        context = next[context];
        enter(data, context);
    }
    crn_free(first);
    crn_free(next);
}
