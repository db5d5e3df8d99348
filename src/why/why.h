/* SPDX-License-Identifier: MIT
 *
 * why.h - why the total of a metric changed from one group of runs to another.
 *
 * Contexts of both sides are aligned (align.h). The self cost of an aligned context is a product:
 * calls of the path's first function, calls of each further function per call of its caller, and
 * self cost a call. The logarithmic mean Divisia index (Ang, 2004) divides the change of a product
 * among its factors without a rest. So each part of the change belongs to a call edge whose calls
 * per call of the caller changed, to a function whose self cost a call changed, or to a function
 * that is new, gone, or called by other functions now. The parts add up to the change.
 *
 * With several runs on each side, the jackknife (Tukey, 1958) gives each part's standard error.
 */
#ifndef CRN_WHY_WHY_H
#define CRN_WHY_WHY_H

#include "profile/profile.h"

#define CRN_WHY_NONE ((uint32_t)UINT32_MAX)

typedef struct crn_why_input {
    const crn_profile *const *profiles[CRN_SIDES];
    size_t runs[CRN_SIDES]; /* number of runs, at least 1 */
    const char *metric;     /* name of the metric; a profile without it counts as 0 */
} crn_why_input;

typedef enum crn_why_kind {
    CRN_WHY_COST,        /* self cost a call of a function */
    CRN_WHY_CALLS,       /* calls of a function per call of its caller */
    CRN_WHY_MOVED,       /* calls of a function whose callers changed */
    CRN_WHY_CALLER_NEW,  /* cost of a function below a caller that did not call it before */
    CRN_WHY_CALLER_GONE, /* cost of a function below a caller that no longer calls it */
    CRN_WHY_NEW,         /* self cost of a new function */
    CRN_WHY_GONE         /* self cost of a function that is gone */
} crn_why_kind;

typedef struct crn_why_cause {
    crn_why_kind kind;
    uint32_t caller, block;         /* numbers of blocks; `caller` may be CRN_WHY_NONE */
    double amount;                  /* part of the change, per run, in the metric's unit */
    double error;                   /* standard error of `amount`; 0: unknown */
    double half;                    /* half of its 95 % interval; 0: unknown */
    bool chance;                    /* noise between runs, or sampling, explains `amount` */
    double calls[CRN_SIDES];        /* calls that this cause is about, per run */
    double caller_calls[CRN_SIDES]; /* calls of the callers, per run; 0: unknown */
    double cost[CRN_SIDES];         /* cost per run: self for CRN_WHY_COST, _NEW and _GONE, else
                                       inclusive */
    double block_calls[CRN_SIDES];  /* all calls of the function, per run */
    uint32_t context;               /* the context with most cost, for crn_why_path */
} crn_why_cause;

/* A function that was renamed or moved to another file. */
typedef struct crn_why_match {
    const crn_block_info *before, *after;
    double likeness; /* 0 to 1 */
} crn_why_match;

typedef struct crn_why {
    double total[CRN_SIDES]; /* mean total of the runs */
    double low, high;        /* 95 % interval of the change; low = high: unknown */
    bool noise_known;        /* each side has several runs */
    bool chance;             /* noise, or sampling, explains the change of the total */
    bool calls;              /* both sides have calls */
    bool estimated;          /* call paths are estimated (profile/unfold.h) */
    size_t cause_count;
    crn_why_cause *causes; /* largest part first */
    size_t match_count;
    crn_why_match *matches;

    uint32_t block_count;
    const crn_block_info **blocks; /* by number: as in the later profiles, or as before if gone */
    uint32_t context_count;
    uint32_t *parent, *block;     /* by context; context 0 is the root */
    crn_profile *sums[CRN_SIDES]; /* the merged runs, which own the names */
} crn_why;

/* Finds the causes of the change. Unfolds call graphs without call paths (profile/unfold.h). Linear
 * in contexts and runs. Free the result with crn_why_free. */
crn_why crn_why_make(const crn_why_input *input);
void crn_why_free(crn_why *why);

/* Stores the block numbers of a context's path without the root, or the last `most` of them.
 * Returns how many. */
size_t crn_why_path(const crn_why *why, uint32_t context, uint32_t *blocks, size_t most);

#endif
