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

/* Contexts that may come up: a tree whose paths are canonical. */
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
    MANY, /* has as many children as a program wants, to make the capture grow */
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

/* Under way: a call that Cairn was told of and that is not counted here yet, or the other way
 * round, when the program was ended from outside. */
typedef struct truth {
    _Atomic uint64_t calls[PLACES];
    _Atomic uint64_t ticks[PLACES];
    _Atomic uint64_t process;  /* whose counts these are, for children */
    _Atomic uint64_t opened;   /* the profile could be opened */
    _Atomic uint64_t checked;  /* what the case is about did happen */
    _Atomic uint64_t finished; /* by a process that nobody can wait for */
    char skipped[128];         /* why the case cannot be tried here; "" if it was */
} truth;

/* The file: the program's own counts, then those of children that counted. */
enum { TRUTHS = 40 };

/* What the driver must know of a case. */
enum {
    LATE = 1,          /* opens the profile by itself */
    ONE_UNDER_WAY = 2, /* is ended between two instructions: one call may be under way */
    MAY_NOT_OPEN = 4,  /* the profile may be refused; the program goes on */
    MAY_LOSE = 8,      /* contexts may be folded for want of room: only sums by block hold */
    NO_SANITIZER = 16, /* what it does to itself a sanitizer does not survive */
    NO_CAPTURE = 32    /* nothing is left to look at */
};

#endif
