/* SPDX-License-Identifier: MIT
 *
 * model.h - a whole profile in memory, independent of its source. Commands and formats work on it.
 * It does not change once made.
 */
#ifndef CRN_PROFILE_MODEL_H
#define CRN_PROFILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/interning.h"
#include "profile/metric.h"

typedef struct crn_block_info {
    const char *name; /* never NULL; owned by the profile */
    const char *file; /* "" if unknown */
    uint32_t line, column;
    uint32_t parent; /* block of the lexical parent, 0 if none */
    uint32_t flags;  /* CAIRN_PRIV_BLOCK_* */
} crn_block_info;

/* An edge that is not part of the tree: the back edge of a cycle, or a fold by a limit. The calls
 * of the tree edge into context c are calls_tree[c]. */
typedef struct crn_profile_edge {
    uint32_t from, target; /* contexts */
    uint64_t calls;
    bool folded; /* fold by a limit; otherwise a cycle */
} crn_profile_edge;

typedef struct crn_note {
    const char *key, *value;
} crn_note;

/* Keys of notes that decide something: contexts without figures are calls that the program may
 * make; the number of the program that MLton's files begin with. */
#define CRN_NOTE_STATIC_CALLS "static_calls"
#define CRN_NOTE_MLMON_MAGIC "mlmon_magic"

#define CRN_CONTEXT_NONE ((uint32_t)UINT32_MAX)

/* A profile. Block 0 is the root, "[root]"; folded_block, if not 0, is "[folded]". Context 0 is the
 * root context; parent[c] < c for c > 0. */
typedef struct crn_profile {
    uint32_t block_count;
    crn_block_info *blocks;
    uint32_t folded_block;

    uint32_t context_count;
    uint32_t *parent;     /* by context; parent[0] is 0 */
    uint32_t *block;      /* by context */
    uint32_t *previous;   /* nearest proper ancestor with the same block, CRN_CONTEXT_NONE if there
                             is none */
    uint64_t *calls_tree; /* by context: calls over its tree edge; of the root: opened strands */

    uint32_t metric_count; /* at least 4 */
    crn_metric_info metrics[CRN_METRIC_MAX];
    uint64_t *values[CRN_METRIC_MAX]; /* by context, self cost; NULL if all are 0.
                                         values[CRN_METRIC_CALLS] is the sum over all incoming
                                         edges; wall and cpu are in nanoseconds */

    uint32_t edge_count;
    crn_profile_edge *edges; /* sorted by from */

    size_t note_count; /* "command", "started", "wall_mode", "tick_period", ...: see
                          docs/CAPTURE_FORMAT.md */
    crn_note *notes;

    /* Problems and omissions in words, shown by reports; one line each. */
    size_t warning_count;
    char **warnings;

    crn_interning *names;     /* owns all strings except the warnings */
    crn_interning *note_keys; /* owned; from interned keys to indices of `notes` */
} crn_profile;

/* Loads a capture and merges all lanes. A capture that is cut short is loaded as far as possible,
 * with a warning. On an error returns NULL and sets `*error`. */
crn_profile *crn_profile_load(const char *path, crn_error *error);

/* Writes the profile as a capture. */
bool crn_profile_save(const crn_profile *profile, const char *path, crn_error *error);

void crn_profile_free(crn_profile *profile);

/* Returns the note of this key, or `otherwise`. */
const char *crn_profile_note(const crn_profile *profile, const char *key, const char *otherwise);

/* Returns the number of the metric with this name, or -1. */
int crn_profile_metric(const crn_profile *profile, const char *name);

/* ---- building profiles: importers, merge, tests ---- */

typedef struct crn_profile_builder crn_profile_builder;

crn_profile_builder *crn_profile_builder_new(void);
/* Returns a builder with the blocks, metrics, notes and warnings of a profile, with the same
 * numbers; use these, and add no further blocks. */
crn_profile_builder *crn_profile_builder_like(const crn_profile *profile);
/* Finds or adds the block with this name, file, line, column and lexical parent. */
uint32_t crn_profile_builder_block(crn_profile_builder *builder, const crn_block_info *info);
/* Finds or adds a metric by name ("calls", "ticks", "wall" and "cpu" are always there). */
uint32_t crn_profile_builder_metric(crn_profile_builder *builder, const char *name,
                                    const char *unit);
/* Returns the root context; the canonical child of `context` for `block`. If `calls` is not 0, they
 * are counted on the edge to it. */
uint32_t crn_profile_builder_root(crn_profile_builder *builder);
uint32_t crn_profile_builder_child(crn_profile_builder *builder, uint32_t context, uint32_t block,
                                   uint64_t calls);
/* The same without a search for cycles: the path stays as it is. */
uint32_t crn_profile_builder_graft(crn_profile_builder *builder, uint32_t context, uint32_t block,
                                   uint64_t calls);
/* Returns the block "[folded]", for crn_profile_builder_child. */
uint32_t crn_profile_builder_folded(crn_profile_builder *builder);
/* Adds all blocks of a profile; blocks[b] becomes the builder's number of block b, 0 for 0. */
void crn_profile_builder_blocks(crn_profile_builder *builder, const crn_profile *profile,
                                uint32_t *blocks);
/* Counts calls on the edge from a context to one that is on its path, or into which a limit has
 * folded it. */
void crn_profile_builder_edge(crn_profile_builder *builder, uint32_t from, uint32_t target,
                              uint64_t calls, bool folded);
void crn_profile_builder_charge(crn_profile_builder *builder, uint32_t context, uint32_t metric,
                                uint64_t amount);
void crn_profile_builder_note(crn_profile_builder *builder, const char *key, const char *value);
/* Adds a warning, printf-like. */
void crn_profile_builder_warn(crn_profile_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds all of `profile`: blocks are matched by name, file, line, column and lexical parent, metrics
 * by name. */
void crn_profile_builder_add(crn_profile_builder *builder, const crn_profile *profile);
/* Returns the profile and frees the builder. Never NULL. */
crn_profile *crn_profile_builder_end(crn_profile_builder *builder);

#endif
