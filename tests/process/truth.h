/* SPDX-License-Identifier: MIT
 *
 * truth.h - the calls that a program under test counts itself, in a file that outlives it.
 *
 * The program reports each call to Cairn and to this page. The driver compares the capture with
 * the page, whatever happens to the program.
 */
#ifndef TESTS_PROCESS_TRUTH_H
#define TESTS_PROCESS_TRUTH_H

#include <stdatomic.h>
#include <stdint.h>

/* All contexts of the cases: a tree whose paths are canonical. */
typedef enum place {
    ROOT,
    WORK,
    WORK_INNER,
    WORK_INNER_LEAF,
    WORK_LEAF,
    OTHER,
    OTHER_LEAF,
    DEEP, /* calls itself, which folds into one context */
    HANDLER,
    LAST,
    MANY, /* has as many children as a case needs, to make the capture grow */
    MANY_FIRST,
    MANY_COUNT = 4000,
    PLACES = MANY_FIRST + MANY_COUNT
} place;

/* The parent and the block of each place below MANY_FIRST; those from it on are MANY's. */
typedef struct place_info {
    place parent;
    const char *block;
} place_info;

static const place_info place_infos[MANY_FIRST] = {
    [ROOT] = {ROOT, "[root]"},      [WORK] = {ROOT, "work"},
    [WORK_INNER] = {WORK, "inner"}, [WORK_INNER_LEAF] = {WORK_INNER, "leaf"},
    [WORK_LEAF] = {WORK, "leaf"},   [OTHER] = {ROOT, "other"},
    [OTHER_LEAF] = {OTHER, "leaf"}, [DEEP] = {ROOT, "deep"},
    [HANDLER] = {ROOT, "handler"},  [LAST] = {ROOT, "last"},
    [MANY] = {ROOT, "many"},
};

/* A call is under way if the program was killed between Cairn's event and the count here, or the
 * other way round. */
typedef struct truth {
    _Atomic uint64_t calls[PLACES];
    _Atomic uint64_t ticks[PLACES];
    _Atomic uint64_t process;  /* whose counts these are, for children */
    _Atomic uint64_t opened;   /* the profile was opened */
    _Atomic uint64_t checked;  /* the tested action took place */
    _Atomic uint64_t finished; /* set by a process that is not a child of the test */
    char skipped[128];         /* why the case cannot be tried here; "" if it was */
} truth;

/* The file: the program's own counts, then those of children that counted. */
enum { TRUTHS = 40 };

/* Flags of a case, for the driver. */
enum {
    LATE = 1,          /* opens the profile by itself */
    ONE_UNDER_WAY = 2, /* killed between two instructions: one call may be under way */
    MAY_NOT_OPEN = 4,  /* the profile may be refused; the program goes on */
    MAY_LOSE = 8,      /* contexts may be folded for want of space: only sums by block are
                          compared */
    NO_SANITIZER = 16, /* a sanitizer does not survive it */
    NO_CAPTURE = 32    /* the capture does not exist afterwards */
};

#endif
