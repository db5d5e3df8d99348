/* SPDX-License-Identifier: MIT
 *
 * view.h - `cairn view`: what it holds of each file, what a request asks, and who answers.
 *
 * One thread answers all requests, one after the other; the files are its own. Each answer is
 * JSON that a function prints on stdout, as the commands do: answer.c turns that into a
 * reply, so a page shows what the command line says.
 */
#ifndef CRN_CLI_VIEW_VIEW_H
#define CRN_CLI_VIEW_VIEW_H

#include <pthread.h>
#include <time.h>

#include "cli/report/report.h"
#include "cli/spans/spans.h"
#include "replay/replay.h"
#include "spans/spans.h"

enum {
    CRN_VIEW_TOKEN = 32,       /* characters of the address that nobody can guess */
    CRN_VIEW_QUERY_MAX = 8192, /* bytes of an address */
    CRN_VIEW_ITEMS_MAX = 64,   /* parts of a query */
    CRN_VIEW_FILES_MAX = 16,
    CRN_VIEW_LONGEST = 1000,
    CRN_VIEW_KEPT = 32,           /* answers, */
    CRN_VIEW_KEPT_SIZE = 4 << 20, /* of so many bytes in all at most */
};

/* The part of the profile that was looked at last, and what it takes to draw it. */
typedef struct crn_view_part {
    char *key;        /* what was asked for; NULL: nothing is here */
    uint32_t *blocks; /* the file's, by those of `owned` */
    const crn_profile *profile;
    crn_profile *owned;     /* NULL when it is the file's */
    uint8_t *kept;          /* by context; NULL: everything */
    const uint64_t *totals; /* by context */
    uint64_t *owned_totals; /* NULL when they are what is known of the file */
    uint64_t *others;       /* the same of what was before, of a difference; else NULL */
    uint32_t metric;
    bool upside_down;
} crn_view_part;

/* The spans that a selection keeps: a trace of their own. */
typedef struct crn_view_choice {
    char *key;
    uint8_t *kept; /* by span of the file */
    crn_trace *trace;
    uint32_t *origins; /* by span: its number in the file's trace */
    crn_spans *spans;
    uint32_t *by_lane; /* how many */
    uint64_t from, to; /* ns: what they lie in, and a little more */
} crn_view_choice;

/* What is asked of all spans, in the order in which it is worked out. */
typedef enum crn_view_sum {
    CRN_SUM_TABLE,
    CRN_SUM_SLOWEST,
    CRN_SUM_FIRST,
    CRN_SUM_MISSING,
    CRN_SUM_TREE,
    CRN_SUMS
} crn_view_sum;

/* It is worked out once, each as soon as can be. */
typedef struct crn_view_sums {
    unsigned done; /* the sums below this are there */
    crn_span_table table;
    crn_span_parts slowest; /* CRN_VIEW_LONGEST of them, and */
    crn_missing missing;    /* of the gaps */
    crn_profile *tree;      /* by what they ran in */
    uint32_t open;          /* spans that have not ended */
    uint32_t first;         /* block whose iterations are shown first */
} crn_view_sums;

typedef struct crn_view_file {
    const char *path;
    crn_profile *profile; /* with functions in place of addresses */
    crn_profile *plain;   /* as it is in the capture, which spans refer to; may be `profile` */
    crn_trace *trace;     /* NULL until it is asked for */
    crn_spans *spans;
    crn_chart *chart;
    crn_view_sums *sums;     /* NULL until there are spans */
    bool no_replay;          /* none is made before it is asked for */
    bool preparing;          /* sums, or what follows: the spans are not replaced before */
    crn_view_part span_part; /* of the spans, as a profile */
    crn_replay *replay;      /* of the spans, to be run again; NULL until asked for */
    crn_view_part part;
    crn_figure_cache known; /* of `profile` */
    crn_view_choice choice;
    bool foreign;            /* was made of another tool's file */
    bool left;               /* its program is gone without closing it, and all it left was read */
    bool looked_at;          /* its spans were read; it may have none */
    uint32_t generation;     /* goes up when what it holds has changed */
    double read_at, cost;    /* seconds: when it was read, and how long that took */
    struct timespec changed; /* the file itself, when it was read */
    uint64_t inode;
    uint64_t totals[CRN_METRIC_MAX];
} crn_view_file;

/* An answer that was given, for when it is asked for again: going back is quick. */
typedef struct crn_view_kept {
    char *key; /* NULL: nothing is here */
    char *body;
    size_t size;
} crn_view_kept;

typedef struct crn_view {
    crn_view_file files[CRN_VIEW_FILES_MAX];
    size_t file_count;
    char **sources; /* folders whose files may be shown, as realpath has them */
    size_t source_count;
    crn_view_part both; /* two files as one, for their difference */
    char token[CRN_VIEW_TOKEN + 1];
    unsigned port;
    bool page; /* the page is served, too */
    crn_view_kept kept[CRN_VIEW_KEPT];
    unsigned kept_next; /* the oldest */
    size_t kept_size;   /* of all */
    pthread_mutex_t lock;
    pthread_cond_t looked; /* at a file's spans */
} crn_view;

/* ---- what a request asks ---- */

typedef struct crn_view_item {
    const char *key, *value;
} crn_view_item;

typedef struct crn_view_query {
    const char *route; /* after "api/" */
    crn_view_item items[CRN_VIEW_ITEMS_MAX];
    size_t count;
} crn_view_query;

/* NULL if the query has no such part. */
const char *crn_view_text(const crn_view_query *query, const char *key);
/* A whole number between 0 and `most`; `otherwise` where the query has none. False, after saying
 * why, where it is no such number. */
bool crn_view_number(const crn_view_query *query, const char *key, uint64_t otherwise,
                     uint64_t most, uint64_t *number);
/* The file that "file" names by its place; NULL after saying why. */
crn_view_file *crn_view_file_of(crn_view *view, const crn_view_query *query);

/* ---- files ---- */

/* False after saying why. */
bool crn_view_file_read(crn_view_file *file);
/* Reads it again if its program still writes it, and if that is not too often; once at once when
 * the program is gone; and when another file is there in its place. */
void crn_view_file_renew(crn_view *view, crn_view_file *file);
/* As in a report; a file whose program is gone counts as running until it was read again. */
crn_report_state crn_view_file_state(const crn_view_file *file);
void crn_view_file_close(crn_view_file *file);
/* Reads the spans, in a thread of its own. */
void crn_view_file_look(crn_view *view, crn_view_file *file);
/* Waits until they are there; false after saying why there are none. */
bool crn_view_file_spans(crn_view *view, crn_view_file *file);
/* The sums of a file that has spans: waits until that one is there, and those before it. */
const crn_view_sums *crn_view_sums_of(crn_view *view, crn_view_file *file, crn_view_sum sum);
/* Works out the next one, which nobody looks at until `done` says that it is there. */
void crn_view_sums_add(crn_view_sums *sums, const crn_spans *spans, const crn_profile *profile);
void crn_view_sums_free(crn_view_sums *sums);
/* The spans that the query's choice of iterations leaves, or NULL where it makes none. False after
 * saying that what it chooses by is none. */
bool crn_view_choice_of(crn_view_file *file, const crn_view_query *query,
                        const crn_view_choice **choice);
/* The spans to be run again: waits for them, or has them made. */
const crn_replay *crn_view_replay_of(crn_view *view, crn_view_file *file);
crn_replay *crn_view_replay_make(const crn_view_file *file);
void crn_view_replay_clear(crn_view_file *file);
void crn_view_part_clear(crn_view_part *part);
void crn_view_choice_clear(crn_view_choice *choice);

/* ---- answers: each prints a JSON value, or says why not and returns false ---- */

typedef bool crn_view_answer(crn_view *view, const crn_view_query *query);
crn_view_answer crn_view_captures, crn_view_blocks;
crn_view_answer crn_view_report, crn_view_steps, crn_view_sequences, crn_view_match;
crn_view_answer crn_view_flame, crn_view_graph, crn_view_source;
crn_view_answer crn_view_diff, crn_view_diff_flame;
crn_view_answer crn_view_spans, crn_view_span, crn_view_timeline, crn_view_iterations;
crn_view_answer crn_view_explain, crn_view_whatif, crn_view_span_flame;

/* Prints the timeline of all lanes from begin to end, as finely as it takes at most that many bars.
 * Returns the spans of these, the longest first; to be freed with crn_free. */
uint32_t *crn_view_timeline_whole(const crn_view_file *file, uint32_t most, uint32_t *count);

/* What is to be looked at: the report of the query's file, focus, drops and metric, with all
 * choices made. To be ended with crn_view_report_end whatever is returned. */
bool crn_view_report_begin(crn_view *view, const crn_view_query *query, crn_report *report,
                           crn_view_file **file);
void crn_view_report_end(crn_report *report);

/* The part of the profile that the query's focus, drops, metric and `upside down` mean; kept for
 * the next request that means the same. NULL after saying why. */
const crn_view_part *crn_view_part_of(crn_view *view, const crn_view_query *query,
                                      crn_view_file **file);

/* The text of the file that a capture calls `name`, if it lies below the view's sources; to be
 * freed with crn_free. NULL and a reason if there is none. */
char *crn_view_source_text(const crn_view *view, const char *name, size_t *size,
                           const char **reason);

/* Prints the boxes of a part, for "root" and "width"; false after saying why not. */
bool crn_view_write_part(const crn_view_part *part, const crn_view_query *query);
/* The numbers that a profile's blocks have in that which it was made of; to be freed with
 * crn_free. */
uint32_t *crn_view_numbers_of(const crn_profile *profile, const crn_profile *made);

/* Prints the member "blocks": those in `used` by their number, or by that in `numbers`. */
void crn_view_write_blocks(const crn_profile *profile, const uint8_t *used,
                           const uint32_t *numbers);

/* ---- the server ---- */

typedef struct crn_view_reply {
    unsigned status;
    const char *type;
    char *body; /* to be freed with free, if `owned` */
    size_t size;
    bool owned;
} crn_view_reply;

/* Answers a request for `path` ("/TOKEN/..."), whose host was checked. */
crn_view_reply crn_view_reply_to(crn_view *view, const char *path, crn_view_query *query);
/* Runs an answer and gives what it printed, or an error; what is kept need not run again. */
crn_view_reply crn_view_reply_json(crn_view *view, const crn_view_query *query,
                                   crn_view_answer *answer);

void crn_view_kept_clear(crn_view *view);

/* ---- a page in one file ---- */

/* What a page brings along besides the profile, as JSON: answers on the spans of the report's
 * capture, and sources. To be freed with free. NULL when there is no memory. */
char *crn_view_brought(const crn_report *report, size_t *size);

struct MHD_Daemon;
/* Listens on the loopback interface; `port` 0 is any. NULL after saying why. */
struct MHD_Daemon *crn_view_listen(crn_view *view, unsigned port);
void crn_view_stop(struct MHD_Daemon *daemon);

/* ---- the page, as it was built; empty if it was not ---- */

typedef struct crn_page {
    const unsigned char *script, *style;
    size_t script_size, style_size;
} crn_page;
extern const crn_page crn_page_built;

#endif
