/* SPDX-License-Identifier: MIT
 *
 * model.h - a whole profile in memory, independent of its source. Commands and formats read it;
 * once complete, it does not change.
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
    uint32_t parent; /* block of the lexical parent; 0: no parent */
    uint32_t flags;  /* CAIRN_PRIV_BLOCK_* */
} crn_block_info;

/* An alias: an edge that closes a cycle, or that a limit folded. The calls of the tree edge into
 * context c are in calls_tree[c]. */
typedef struct crn_profile_edge {
    uint32_t from, target; /* contexts */
    uint64_t calls;
    bool folded; /* a limit folded it; false: it closes a cycle */
} crn_profile_edge;

typedef struct crn_note {
    const char *key, *value;
} crn_note;

/* Keys of notes that the code reads. static_calls, "1": contexts without figures are calls that the
 * program may make. mlmon_magic: the program's number at the begin of MLton's files. */
#define CRN_NOTE_STATIC_CALLS "static_calls"
#define CRN_NOTE_MLMON_MAGIC "mlmon_magic"

#define CRN_CONTEXT_NONE ((uint32_t)UINT32_MAX)

/* A profile. Block 0 is "[root]"; folded_block is "[folded]", or 0 if nothing folded. Context 0 is
 * the root; parent[c] < c for c > 0. */
typedef struct crn_profile {
    uint32_t block_count;
    crn_block_info *blocks;
    uint32_t folded_block;

    uint32_t context_count;
    uint32_t *parent;     /* by context; parent[0] is 0 */
    uint32_t *block;      /* by context */
    uint32_t *previous;   /* nearest ancestor with the same block, or CRN_CONTEXT_NONE */
    uint64_t *calls_tree; /* by context: calls over its tree edge; for the root, the number of
                             opened strands */

    uint32_t metric_count; /* at least 4 */
    crn_metric_info metrics[CRN_METRIC_MAX];
    uint64_t *values[CRN_METRIC_MAX]; /* by context: self cost; NULL if all are 0, except for calls.
                                         values[CRN_METRIC_CALLS] sums all incoming edges; wall and
                                         cpu are in ns */

    uint32_t edge_count;
    crn_profile_edge *edges; /* sorted by from */

    size_t note_count; /* "command", "started", "wall", "tick_period", ...: see
                          docs/CAPTURE_FORMAT.md */
    crn_note *notes;

    /* Problems and omissions in words, shown by reports; one line each. */
    size_t warning_count;
    char **warnings;

    crn_interning *names;     /* owns all strings except warnings */
    crn_interning *note_keys; /* owned; maps interned keys to indices in `notes` */
} crn_profile;

/* Loads a capture and merges its lanes. From a truncated capture it loads the complete part and
 * adds a warning. On an error returns NULL and sets `*error`. */
crn_profile *crn_profile_load(const char *path, crn_error *error);

/* Writes the profile as a capture. On an error returns false and sets `*error`. */
bool crn_profile_save(const crn_profile *profile, const char *path, crn_error *error);

void crn_profile_free(crn_profile *profile);

/* Returns true if the block is one of the profile, which may be NULL. */
static inline bool crn_profile_has(const crn_profile *profile, const crn_block_info *block)
{
    return profile && block >= profile->blocks && block < profile->blocks + profile->block_count;
}

/* Returns the value of the note `key`; `otherwise` if the profile lacks it. */
const char *crn_profile_note(const crn_profile *profile, const char *key, const char *otherwise);
/* Compares the keys of two notes, for arrays of pointers to them. */
int crn_note_compare(const void *left, const void *right);
/* Returns the whole number in the note `key`; 0 if the profile lacks it. */
uint64_t crn_profile_note_number(const crn_profile *profile, const char *key);

/* Returns the number of the metric `name`; -1 if the profile lacks it. */
int crn_profile_metric(const crn_profile *profile, const char *name);

/* ---- building profiles: importers, merge, tests ---- */

typedef struct crn_profile_builder crn_profile_builder;

crn_profile_builder *crn_profile_builder_new(void);
/* Returns a builder with the blocks, metrics, notes and warnings of a profile. Blocks and metrics
 * keep their numbers; add no further blocks. */
crn_profile_builder *crn_profile_builder_like(const crn_profile *profile);
/* Returns the block with the name, file, line, column and lexical parent of `info`; adds it if
 * missing. */
uint32_t crn_profile_builder_block(crn_profile_builder *builder, const crn_block_info *info);
/* Returns the metric `name`; adds it if missing. "calls", "ticks", "wall" and "cpu" always exist.
 * Returns CRN_METRIC_MAX if there is no place for another metric; charges to that do nothing. */
uint32_t crn_profile_builder_metric(crn_profile_builder *builder, const char *name,
                                    const char *unit);
/* _root returns the root context. _child returns the canonical child of `context` for `block`, and
 * adds `calls` to the edge between them. */
uint32_t crn_profile_builder_root(crn_profile_builder *builder);
uint32_t crn_profile_builder_child(crn_profile_builder *builder, uint32_t context, uint32_t block,
                                   uint64_t calls);
/* Does the same without a search for cycles: does not shorten the path. */
uint32_t crn_profile_builder_graft(crn_profile_builder *builder, uint32_t context, uint32_t block,
                                   uint64_t calls);
/* Returns the block "[folded]", for crn_profile_builder_child. */
uint32_t crn_profile_builder_folded(crn_profile_builder *builder);
/* Adds all blocks of a profile; sets blocks[b] to the builder's number of block b, for b > 0. */
void crn_profile_builder_blocks(crn_profile_builder *builder, const crn_profile *profile,
                                uint32_t *blocks);
/* Adds `calls` to the alias from one context to another: a cycle, whose `target` is on the path of
 * `from`, or a fold by a limit. */
void crn_profile_builder_edge(crn_profile_builder *builder, uint32_t from, uint32_t target,
                              uint64_t calls, bool folded);
/* Adds `amount` to the context's self cost; of CRN_METRIC_CALLS, to the calls of its tree edge. */
void crn_profile_builder_charge(crn_profile_builder *builder, uint32_t context, uint32_t metric,
                                uint64_t amount);
void crn_profile_builder_note(crn_profile_builder *builder, const char *key, const char *value);
/* Adds a warning, printf-like. */
void crn_profile_builder_warn(crn_profile_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds the contexts, edges, metrics and warnings of `profile`, not its notes. Matches blocks by
 * name, file, line, column and lexical parent; metrics by name. */
void crn_profile_builder_add(crn_profile_builder *builder, const crn_profile *profile);
/* Returns the profile and frees the builder. Never NULL. */
crn_profile *crn_profile_builder_end(crn_profile_builder *builder);

#endif
