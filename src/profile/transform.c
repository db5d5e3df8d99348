/* SPDX-License-Identifier: MIT */
#include "profile/transform.h"

#include <string.h>

#include "base/memory.h"
#include "profile/freeze.h"
#include "profile/reference.h"

const char *const crn_transform_names[] = {"merge",         "merge-file", "collapse",
                                           "collapse-file", "focus-file", NULL};

/* ---- from text ---- */

static bool is_of_file(crn_transform_kind kind)
{
    return kind != CRN_TRANSFORM_MERGE && kind != CRN_TRANSFORM_COLLAPSE;
}

/* Returns true if `file` is `wanted`, or ends with "/" and `wanted`. */
static bool ends_with(const char *file, const char *wanted)
{
    size_t length = strlen(file), end = strlen(wanted);
    return end && end <= length && strcmp(file + length - end, wanted) == 0 &&
           (end == length || file[length - end - 1] == '/');
}

static bool find_file(const crn_profile *profile, const char *file, uint32_t *block,
                      crn_error *error)
{
    uint32_t found = 0;
    for (uint32_t b = 1; b < profile->block_count; b++) {
        const char *its = profile->blocks[b].file;
        if (!ends_with(its, file))
            continue;
        if (found && strcmp(profile->blocks[found].file, its) != 0)
            return crn_error_set(error, CAIRN_E_ARGUMENT,
                                 "there are several files \"%s\": %s, %s; write more of the path",
                                 file, profile->blocks[found].file, its);
        found = b;
    }
    *block = found;
    return found || crn_error_set(error, CAIRN_E_READ, "no block is in a file \"%s\"", file);
}

bool crn_transform_parse(const crn_profile *profile, const char *text, crn_transform *transform,
                         crn_error *error)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    int kind = 0;
    while (crn_transform_names[kind] && (strlen(crn_transform_names[kind]) != length ||
                                         strncmp(crn_transform_names[kind], text, length) != 0))
        kind++;
    if (!crn_transform_names[kind])
        return crn_error_set(error, CAIRN_E_ARGUMENT,
                             "\"%s\" is no transform; write merge:BLOCK, collapse:BLOCK, "
                             "merge-file:FILE, collapse-file:FILE or focus-file:FILE",
                             text);
    transform->kind = (crn_transform_kind)kind;
    const char *name = colon + 1;
    if (!is_of_file(transform->kind) || *name == '#')
        return crn_reference_block(profile, name, strlen(name), &transform->block, error);
    return find_file(profile, name, &transform->block, error);
}

/* ---- the new contexts ---- */

/* Returns, by block, 1 for the transform's block; for a file, for all blocks of the file. */
static uint8_t *chosen_blocks(const crn_profile *profile, const crn_transform *transform)
{
    uint8_t *chosen = crn_calloc(profile->block_count, 1);
    const char *file = profile->blocks[transform->block].file;
    if (!is_of_file(transform->kind) || !*file)
        chosen[transform->block] = 1;
    else
        for (uint32_t b = 1; b < profile->block_count; b++)
            chosen[b] = strcmp(profile->blocks[b].file, file) == 0;
    chosen[0] = 0;
    return chosen;
}

/* The effect of a transform on a context. */
typedef enum fate {
    FATE_STAYS,
    FATE_JOINS_PARENT,
    FATE_BEGINS, /* it becomes a child of the root */
    FATE_GOES,   /* it and its costs are dropped */
} fate;

/* `outside`, by context: with FOCUS_FILE, 1 if its path has no block of the file. */
static fate fate_of(const crn_profile *profile, crn_transform_kind kind, const uint8_t *chosen,
                    const uint8_t *outside, uint32_t context)
{
    uint32_t parent = profile->parent[context];
    bool is = chosen[profile->block[context]], below = chosen[profile->block[parent]];
    switch (kind) {
    case CRN_TRANSFORM_MERGE:
    case CRN_TRANSFORM_MERGE_FILE:
        return is ? FATE_JOINS_PARENT : FATE_STAYS;
    case CRN_TRANSFORM_COLLAPSE:
        return below ? FATE_JOINS_PARENT : FATE_STAYS;
    case CRN_TRANSFORM_COLLAPSE_FILE:
        return is && below ? FATE_JOINS_PARENT : FATE_STAYS;
    case CRN_TRANSFORM_FOCUS_FILE:
        return !outside[parent] ? FATE_STAYS : is ? FATE_BEGINS : FATE_GOES;
    }
    return FATE_STAYS;
}

/* The state of a transformation. */
typedef struct change {
    const crn_profile *profile;
    crn_transform_kind kind;
    uint8_t *chosen;    /* by block */
    uint8_t *gone;      /* by context: it is dropped with its costs */
    uint8_t *joined;    /* by context: it joined an ancestor */
    uint32_t *contexts; /* by context: the builder's context */
} change;

/* Returns true if the context joins its parent. With COLLAPSE all descendants of a joined context
 * do. */
static bool joins(const change *change, uint32_t context, fate fate)
{
    return fate == FATE_JOINS_PARENT || (change->kind == CRN_TRANSFORM_COLLAPSE &&
                                         change->joined[change->profile->parent[context]]);
}

static void map_contexts(change *change, crn_profile_builder *builder)
{
    const crn_profile *profile = change->profile;
    uint32_t root = crn_profile_builder_root(builder);
    change->gone[0] = change->kind == CRN_TRANSFORM_FOCUS_FILE;
    change->contexts[0] = root;
    crn_profile_builder_charge(builder, root, CRN_METRIC_CALLS, profile->calls_tree[0]);
    for (uint32_t c = 1; c < profile->context_count; c++) {
        uint32_t above = change->contexts[profile->parent[c]];
        fate fate = fate_of(profile, change->kind, change->chosen, change->gone, c);
        change->contexts[c] = above;
        change->gone[c] = fate == FATE_GOES;
        change->joined[c] = joins(change, c, fate);
        if (!change->gone[c] && !change->joined[c])
            change->contexts[c] =
                crn_profile_builder_graft(builder, fate == FATE_BEGINS ? root : above,
                                          profile->block[c], profile->calls_tree[c]);
    }
}

/* Adds the aliases whose both ends stay and whose target did not join an ancestor. */
static void map_edges(const change *change, crn_profile_builder *builder)
{
    const crn_profile *profile = change->profile;
    bool collapses =
        change->kind == CRN_TRANSFORM_COLLAPSE || change->kind == CRN_TRANSFORM_COLLAPSE_FILE;
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        uint32_t from = change->contexts[edge->from], target = change->contexts[edge->target];
        bool within = collapses && from == target && change->chosen[profile->block[edge->target]];
        if (!change->gone[edge->from] && !change->gone[edge->target] &&
            !change->joined[edge->target] && !within)
            crn_profile_builder_edge(builder, from, target, edge->calls, edge->folded);
    }
}

static void map_costs(const change *change, crn_profile_builder *builder)
{
    const crn_profile *profile = change->profile;
    for (uint32_t m = CRN_METRIC_TICKS; m < profile->metric_count; m++)
        for (uint32_t c = 0; profile->values[m] && c < profile->context_count; c++)
            if (!change->gone[c])
                crn_profile_builder_charge(builder, change->contexts[c], m, profile->values[m][c]);
}

/* `chosen`, by block: what the transform is applied to. Frees it. */
static crn_profile *transform_blocks(const crn_profile *profile, crn_transform_kind kind,
                                     uint8_t *chosen)
{
    crn_profile_builder *builder = crn_profile_builder_like(profile);
    change change = {profile,
                     kind,
                     chosen,
                     crn_calloc(profile->context_count, 1),
                     crn_calloc(profile->context_count, 1),
                     crn_calloc(profile->context_count, sizeof *change.contexts)};
    map_contexts(&change, builder);
    map_edges(&change, builder);
    map_costs(&change, builder);
    crn_free(change.chosen);
    crn_free(change.gone);
    crn_free(change.joined);
    crn_free(change.contexts);
    crn_profile *made = crn_profile_builder_end(builder);
    made->folded_block = profile->folded_block;
    return made;
}

static crn_profile *transform_once(const crn_profile *profile, const crn_transform *transform)
{
    return transform_blocks(profile, transform->kind, chosen_blocks(profile, transform));
}

crn_profile *crn_profile_keep_blocks(const crn_profile *profile, const uint8_t *kept)
{
    uint8_t *merged = crn_calloc(profile->block_count, 1);
    for (uint32_t b = 1; b < profile->block_count; b++)
        merged[b] = !kept[b];
    return transform_blocks(profile, CRN_TRANSFORM_MERGE, merged);
}

crn_profile *crn_profile_transform(const crn_profile *profile, const crn_transform *transforms,
                                   size_t count)
{
    static const crn_transform none = {CRN_TRANSFORM_MERGE, 0}; /* makes a copy */
    crn_profile *made = transform_once(profile, count ? transforms : &none);
    for (size_t i = 1; i < count; i++) {
        crn_profile *next = transform_once(made, &transforms[i]);
        crn_profile_free(made);
        made = next;
    }
    return made;
}
