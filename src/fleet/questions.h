/* SPDX-License-Identifier: MIT
 *
 * questions.h - questions about a fleet as data: their SQL and the columns of their answers.
 */
#ifndef CRN_FLEET_QUESTIONS_H
#define CRN_FLEET_QUESTIONS_H

#include "fleet/filter.h"

typedef enum crn_question_kind {
    CRN_QUESTION_TEXT,   /* String */
    CRN_QUESTION_ID,     /* FixedString(16) */
    CRN_QUESTION_TIME,   /* UInt32, seconds since 1970 */
    CRN_QUESTION_COUNT,  /* UInt64 */
    CRN_QUESTION_METRIC, /* UInt64, in the metric's unit */
    CRN_QUESTION_NS      /* UInt64, nanoseconds */
} crn_question_kind;

typedef struct crn_question_column {
    const char *title;
    crn_question_kind kind;
} crn_question_column;

/* Parameters of a question; what a question does not use is ignored. */
typedef struct crn_question_about {
    const crn_fleet_filter *filter;
    const char *metric, *block; /* block: a function's name; NULL: all functions */
    const char *by; /* top: "version", "host", "service" or a label's name; each of its values has
                       its own rows. NULL: do not divide rows */
    bool by_total;  /* sort by total, not by self */
    uint64_t limit; /* rows */
    uint64_t step;  /* heat: seconds of a column; 0: an hour */
} crn_question_about;

typedef struct crn_question {
    const char *name;
    const crn_question_column *columns;
    size_t column_count;
    bool by_block; /* can be asked about one block */
    bool costs;    /* has figures in a metric */
    void (*sql)(crn_sql *sql, const crn_question_about *about);
} crn_question;

/* runs: newest first. top: functions by cost over all runs. trend, history, hours: the cost of a
 * function, or of everything, by version, by run, by hour. spans: durations by name. heat: numbers
 * of spans by time and duration, each with the run of its longest span. slowest: single spans. */
extern const crn_question crn_questions[];
extern const size_t crn_question_count;

/* Adds the query for metrics with any cost: columns name, unit; the most useful metric first. */
void crn_question_metrics(crn_sql *sql, const crn_fleet_filter *filter);

#endif
