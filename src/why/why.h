/* SPDX-License-Identifier: MIT
 *
 * why.h - why the total of a metric changed from one group of runs to another.
 *
 * The contexts of both sides are aligned (align.h). The self cost of an aligned context is a
 * product: calls of the first function, calls of each function on the path per call of its caller,
 * and self cost a call. The logarithmic mean Divisia index (Ang, 2004) divides the change of a
 * product among its factors without a rest. So each part of the change belongs to one call edge,
 * where the number of calls per call of the caller changed, or to one function, whose self cost a
 * call changed; to functions that are new or gone; and to functions that others call now. The parts
 * add up to the change.
 *
 * With several runs on each side, the jackknife (Tukey, 1958) gives each part's standard error.
 */
#ifndef CRN_WHY_WHY_H
#define CRN_WHY_WHY_H

#include "profile/profile.h"

#define CRN_WHY_NONE ((uint32_t)UINT32_MAX)

typedef struct crn_why_input {
    const crn_profile *const *profiles[CRN_SIDES];
    size_t runs[CRN_SIDES]; /* at least one */
    const char *metric;     /* its name; a profile without it has none of it */
} crn_why_input;

typedef enum crn_why_kind {
    CRN_WHY_COST,        /* self cost a call of a function */
    CRN_WHY_CALLS,       /* calls of a function per call of its caller */
    CRN_WHY_MOVED,       /* calls of a function that other functions call now */
    CRN_WHY_CALLER_NEW,  /* a function calls one that it did not call */
    CRN_WHY_CALLER_GONE, /* a function no longer calls one */
    CRN_WHY_NEW,         /* self cost of a new function */
    CRN_WHY_GONE         /* self cost of a function that is gone */
} crn_why_kind;

typedef struct crn_why_cause {
    crn_why_kind kind;
    uint32_t caller, block;         /* numbers of blocks; `caller` may be CRN_WHY_NONE */
    double amount;                  /* part of the change, per run, in the metric's unit */
    double error;                   /* its standard error; 0 if not known */
    double half;                    /* half of its 95 % interval; 0 if not known */
    bool chance;                    /* the noise between runs, or sampling, explains it */
    double calls[CRN_SIDES];        /* of the function, here, per run */
    double caller_calls[CRN_SIDES]; /* of the callers; 0 if not known */
    double cost[CRN_SIDES];         /* per run: self if the kind is about self, else inclusive */
    double block_calls[CRN_SIDES];  /* of the function, everywhere, per run */
    uint32_t context;               /* of the largest part; see crn_why_path */
} crn_why_cause;

/* A function that was renamed or moved to another file. */
typedef struct crn_why_match {
    const crn_block_info *before, *after;
    double likeness; /* 0 to 1 */
} crn_why_match;

typedef struct crn_why {
    double total[CRN_SIDES]; /* means of the runs */
    double low, high;        /* 95 % interval of the change; equal if not known */
    bool noise_known;        /* several runs on each side */
    bool chance;             /* the change of the total is within noise, or within sampling's */
    bool calls;              /* calls were counted on both sides */
    bool estimated;          /* call paths are estimated; see profile/unfold.h */
    size_t cause_count;
    crn_why_cause *causes; /* largest part first */
    size_t match_count;
    crn_why_match *matches;

    uint32_t block_count;
    const crn_block_info **blocks; /* by number; as after, or as before if gone */
    uint32_t context_count;
    uint32_t *parent, *block;     /* by context: context 0 is the root */
    crn_profile *sums[CRN_SIDES]; /* own the names */
} crn_why;

/* Works it out. Call graphs without call paths are unfolded (profile/unfold.h). Linear in contexts
 * and runs. Free it with crn_why_free. */
crn_why crn_why_make(const crn_why_input *input);
void crn_why_free(crn_why *why);

/* Stores the block numbers of a context's path without the root, or the last `most` of them.
 * Returns how many. */
size_t crn_why_path(const crn_why *why, uint32_t context, uint32_t *blocks, size_t most);

#endif
