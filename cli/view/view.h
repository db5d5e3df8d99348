/* SPDX-License-Identifier: MIT
 *
 * view.h - `cairn view`: loaded files, requests and answers.
 *
 * One thread answers all requests, one after the other, and owns the files. Each answer is JSON
 * that a function prints into a file in memory, often the one that prints for the command line, so
 * that a page shows the same figures. answer.c makes a reply of it.
 */
#ifndef CRN_CLI_VIEW_VIEW_H
#define CRN_CLI_VIEW_VIEW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include <jansson.h>

#include "cli/report/report.h"
#include "cli/spans/spans.h"
#include "replay/replay.h"
#include "spans/spans.h"

enum {
    CRN_VIEW_TOKEN = 32,       /* characters of the secret in the address */
    CRN_VIEW_QUERY_MAX = 8192, /* limit on the length of an address */
    CRN_VIEW_ITEMS_MAX = 64,   /* limit on items of a query */
    CRN_VIEW_FILES_MAX = 16,
    CRN_VIEW_LONGEST = 1000,
    CRN_VIEW_KEPT = 32,            /* limit on cached answers */
    CRN_VIEW_KEPT_SIZE = 4 << 20,  /* and on their total size in bytes */
    CRN_VIEW_UPLOAD_MAX = 1 << 30, /* bytes of a file that is dropped onto the page */
};

/* The part of the profile that was shown last, with what drawing it needs. */
typedef struct crn_view_part {
    char *key;        /* the request; NULL: empty */
    uint32_t *blocks; /* from blocks of `owned` to those of the file */
    const crn_profile *profile;
    crn_profile *owned;     /* NULL if it is the file's profile */
    uint8_t *kept;          /* by context; NULL: all */
    const uint64_t *totals; /* by context */
    uint64_t *owned_totals; /* NULL if they are the file's cached ones */
    uint64_t *others;       /* of a difference: totals before; otherwise NULL */
    double scale; /* of a difference: totals before are multiplied by this to compare them */
    crn_sampling sampling[2]; /* of a difference: before, multiplied likewise, and after */
    uint32_t metric;
    bool upside_down;
} crn_view_part;

/* The spans of a selection, as a trace of their own. */
typedef struct crn_view_choice {
    char *key;
    uint8_t *kept; /* by span of the file */
    crn_trace *trace;
    uint32_t *origins; /* by span: its number in the file's trace */
    crn_spans *spans;
    uint32_t *by_lane; /* number of spans */
    uint64_t from, to; /* ns: their range, with a margin */
} crn_view_choice;

/* Sums over all spans, in the order of computation. */
typedef enum crn_view_sum {
    CRN_SUM_TABLE,
    CRN_SUM_SLOWEST,
    CRN_SUM_FIRST,
    CRN_SUM_MISSING,
    CRN_SUM_TREE,
    CRN_SUMS
} crn_view_sum;

/* Each is computed once. */
typedef struct crn_view_sums {
    unsigned done; /* the sums before this one are available */
    crn_span_table table;
    crn_span_parts slowest; /* CRN_VIEW_LONGEST slowest spans, */
    crn_missing missing;    /* and as many gaps */
    crn_profile *tree;      /* contexts of spans */
    uint32_t open;          /* number of open spans */
    uint32_t first;         /* block whose iterations are shown first */
    char **explained;       /* by block: what crn_view_explain answers about all of its spans; NULL:
                               not computed in advance */
    uint32_t explained_count; /* length of the array */
} crn_view_sums;

/* The profile with the transforms that were requested last. */
typedef struct crn_view_transformed {
    char *key;            /* the transforms; NULL: empty */
    crn_profile *profile; /* its blocks have the numbers of the file's */
    crn_figure_cache known;
} crn_view_transformed;

typedef struct crn_view_file {
    const char *path;
    crn_profile *profile; /* with functions for addresses */
    crn_profile *plain;   /* as recorded, which spans refer to; may be `profile` */
    crn_trace *trace;     /* NULL until requested */
    crn_spans *spans;
    crn_chart *chart;
    crn_counter_tracks *counters;
    crn_view_sums *sums;     /* NULL until there are spans */
    bool no_replay;          /* make no replay in advance */
    bool replay_wanted;      /* a request waits for the replay */
    bool preparing;          /* sums or a replay are being computed: spans must not be replaced */
    crn_view_part span_part; /* the spans as a profile */
    crn_replay *replay;      /* NULL until requested */
    crn_view_part part;
    crn_figure_cache known; /* of `profile` */
    crn_view_transformed transformed;
    crn_view_choice choice;
    char *uploaded;          /* the same path of a file that was dropped onto the page */
    bool foreign;            /* imported from another tool's file */
    bool left;               /* its program ended without closing it, and everything was read */
    bool looked_at;          /* its spans were read; there may be none */
    uint32_t generation;     /* incremented when its contents change */
    double read_at, cost;    /* seconds: time of reading; duration of reading */
    struct timespec changed; /* modification time of the file when it was read */
    uint64_t inode;
    uint64_t totals[CRN_METRIC_MAX];
} crn_view_file;

/* A cached answer. */
typedef struct crn_view_kept {
    char *key; /* NULL: empty */
    char *body;
    size_t size;
} crn_view_kept;

typedef struct crn_view {
    crn_view_file files[CRN_VIEW_FILES_MAX];
    size_t file_count;
    char **sources; /* folders whose files may be shown, resolved */
    size_t source_count;
    crn_view_part both; /* union of two files, for their difference */
    char token[CRN_VIEW_TOKEN + 1];
    unsigned port;
    bool page;    /* serve the page, too */
    bool serving; /* requests come: compute answers in advance */
    crn_view_kept kept[CRN_VIEW_KEPT];
    unsigned kept_next; /* the oldest */
    size_t kept_size;   /* of all */
    char *uploads;      /* folder of files that were dropped onto the page; NULL: none yet */
    unsigned upload_count;
    struct crn_database *fleet; /* cairn view --fleet; NULL: none */
    atomic_uint readers;        /* threads that read spans */
    pthread_mutex_t lock;
    pthread_cond_t looked; /* signalled when a file's spans have been read */
} crn_view;

/* ---- requests ---- */

typedef struct crn_view_item {
    const char *key, *value;
} crn_view_item;

typedef struct crn_view_query {
    const char *route; /* after "api/" */
    crn_view_item items[CRN_VIEW_ITEMS_MAX];
    size_t count;
} crn_view_query;

/* Returns NULL if the query has no such item. */
const char *crn_view_text(const crn_view_query *query, const char *key);
/* Parses an integer from 0 to `most`; `otherwise` if it is missing. Returns false after printing an
 * error. */
bool crn_view_number(const crn_view_query *query, const char *key, uint64_t otherwise,
                     uint64_t most, uint64_t *number);
/* Returns the file with the index "file"; NULL after printing an error. */
crn_view_file *crn_view_file_of(crn_view *view, const crn_view_query *query);

/* ---- files ---- */

/* Returns false after printing an error. */
bool crn_view_file_read(crn_view_file *file);
/* Reloads a file if its program still writes it, but not too often; once when the program has
 * ended; and when another file has replaced it. */
void crn_view_file_renew(crn_view *view, crn_view_file *file);
/* As in a report; a file whose program has ended counts as running until it is reloaded. */
crn_report_state crn_view_file_state(const crn_view_file *file);
void crn_view_file_close(crn_view_file *file);
/* Reads the spans. */
void crn_view_file_look(crn_view *view, crn_view_file *file);
/* Starts a thread that reads the spans of the files from number `first` on. Returns 0 or an error
 * number. */
int crn_view_files_look(crn_view *view, size_t first);
/* Waits for the spans; returns false after printing why there are none. */
bool crn_view_file_spans(crn_view *view, crn_view_file *file);
/* Returns the sums of a file with spans, after waiting for that one and those before it. */
const crn_view_sums *crn_view_sums_of(crn_view *view, crn_view_file *file, crn_view_sum sum);
/* Computes the next sum; readers check `done` first. */
void crn_view_sums_add(crn_view_sums *sums, const crn_spans *spans, const crn_profile *profile);
void crn_view_sums_free(crn_view_sums *sums);
/* Prints the explanation of a block's spans, all or the chosen ones. If there is a view, frees the
 * replay first where both would need too much memory. */
void crn_view_explanation_write(FILE *out, crn_view *view, crn_view_file *file, uint32_t block,
                                const crn_view_choice *choice);
/* Explains the blocks with so many spans that a request would take long, until `explained` has them
 * or a request waits for the replay. */
void crn_view_explain_ahead(crn_view *view, crn_view_file *file);
/* Sets the chosen spans of the query; NULL without a choice. Returns false after printing an
 * error. */
bool crn_view_choice_of(crn_view_file *file, const crn_view_query *query,
                        const crn_view_choice **choice);
/* A window of time that is drawn. */
typedef struct crn_view_window {
    uint64_t from, to; /* ns; from < to */
    uint32_t pixels;   /* at least 1 */
} crn_view_window;

/* Parses "from" and "to", by default those of the choice (NULL: of all), and "pixels", by default
 * `pixels` and at most `most`. Returns false after printing an error. */
bool crn_view_window_of(const crn_view_file *file, const crn_view_choice *choice,
                        const crn_view_query *query, uint32_t pixels, uint32_t most,
                        crn_view_window *window);
/* Returns the replay, waiting for it or making it. */
const crn_replay *crn_view_replay_of(crn_view *view, crn_view_file *file);
crn_replay *crn_view_replay_make(const crn_view_file *file);
void crn_view_replay_clear(crn_view_file *file);
void crn_view_part_clear(crn_view_part *part);
void crn_view_transformed_clear(crn_view_transformed *transformed);
void crn_view_choice_clear(crn_view_choice *choice);

/* ---- answers: each prints a JSON value, or calls crn_cli_fail and returns false ---- */

typedef bool crn_view_answer(FILE *out, crn_view *view, const crn_view_query *query);
crn_view_answer crn_view_captures, crn_view_blocks;
crn_view_answer crn_view_report, crn_view_measured, crn_view_steps, crn_view_sequences,
    crn_view_match;
crn_view_answer crn_view_flame, crn_view_graph, crn_view_source;
crn_view_answer crn_view_diff, crn_view_diff_flame, crn_view_why;
crn_view_answer crn_view_spans, crn_view_span, crn_view_timeline, crn_view_counters,
    crn_view_moments, crn_view_iterations;
crn_view_answer crn_view_explain, crn_view_latency, crn_view_whatif, crn_view_span_flame;
crn_view_answer crn_view_sql, crn_view_schema;

/* Prints the timeline of all lanes with at most `most` bars. Returns the spans of these, longest
 * first; free them with crn_free. */
uint32_t *crn_view_timeline_whole(FILE *out, const crn_view_file *file, uint32_t most,
                                  uint32_t *count);

/* Sets up the report of the query's file, focus, exclusions and metric. End it with
 * crn_view_report_end, whatever is returned. */
bool crn_view_report_begin(crn_view *view, const crn_view_query *query, crn_report *report,
                           crn_view_file **file);
void crn_view_report_end(crn_report *report);

/* Returns how the report's figures were measured (`lines`), and the number of functions. */
json_t *crn_view_measured_json(const crn_report *report);

/* Returns the part of the profile for the query's focus, exclusions, metric and direction; cached
 * for the next request. NULL after printing an error. */
const crn_view_part *crn_view_part_of(crn_view *view, const crn_view_query *query,
                                      crn_view_file **file);

/* Returns the text of the file that a capture calls `name`, if it is below the view's folders; free
 * it with crn_free. NULL and a reason if there is none. */
char *crn_view_source_text(const crn_view *view, const char *name, size_t *size,
                           const char **reason);

/* Prints the boxes of a part for "root" and "width"; returns false after printing an error. */
bool crn_view_write_part(FILE *out, const crn_view_part *part, const crn_view_query *query);
/* Returns, by block of `made`, its number in the profile that it was made from; free it with
 * crn_free. */
uint32_t *crn_view_numbers_of(const crn_profile *profile, const crn_profile *made);

/* Prints the member "blocks": the blocks in `used`, by number or by `numbers`. */
void crn_view_write_blocks(FILE *out, const crn_profile *profile, const uint8_t *used,
                           const uint32_t *numbers);

/* ---- server ---- */

typedef struct crn_view_reply {
    unsigned status;
    const char *type;
    char *body; /* free it with free, if `owned` */
    size_t size;
    bool owned;
    char file_name[128]; /* under which a browser saves it; "": it is shown */
} crn_view_reply;

/* Answers a request for `path` ("/TOKEN/..."); its host has been checked. */
crn_view_reply crn_view_reply_to(crn_view *view, const char *path, crn_view_query *query);
/* Runs an answer, or takes it from the cache. Returns its output, or an error. */
crn_view_reply crn_view_reply_json(crn_view *view, const crn_view_query *query,
                                   crn_view_answer *answer);

/* Returns {"error": text}. */
crn_view_reply crn_view_reply_problem(unsigned status, const char *text);

void crn_view_kept_clear(crn_view *view);

/* Returns true if the path begins with the secret; `*rest` becomes what follows it and a slash. */
bool crn_view_has_token(const crn_view *view, const char *path, const char **rest);

/* A file that the page sends. Begin and add never fail; end answers with the file's number, or with
 * what went wrong. */
/* Returns the path of a new file in the folder of uploads, whose name is made safe. Free it with
 * crn_free; NULL with errno set on an error. */
char *crn_view_upload_path(crn_view *view, const char *name);
/* Deletes it. */
void crn_view_upload_remove(const char *path);
/* Loads such a file as one more of the view, which then owns the path. Returns false after printing
 * an error. */
bool crn_view_upload_open(crn_view *view, const char *path);

/* ---- runs in a fleet's database: cairn view --fleet ---- */

/* Fetches the sum of the runs that match as one more file. Returns false after printing an error.
 */
bool crn_view_fleet_begin(crn_view *view);
/* The database's services and versions; a question of cairn fleet; a comparison; and opening of a
 * run, or of the sum of several, as one more file. */
bool crn_view_fleet(FILE *out, crn_view *view, const crn_view_query *query);
bool crn_view_fleet_ask(FILE *out, crn_view *view, const crn_view_query *query);
bool crn_view_fleet_diff(FILE *out, crn_view *view, const crn_view_query *query);
bool crn_view_fleet_open(FILE *out, crn_view *view, const crn_view_query *query);

typedef struct crn_view_upload crn_view_upload;
crn_view_upload *crn_view_upload_begin(crn_view *view, const char *name);
void crn_view_upload_add(crn_view_upload *upload, const char *data, size_t size);
crn_view_reply crn_view_upload_end(crn_view_upload *upload);
void crn_view_upload_abort(crn_view_upload *upload);
/* Deletes the uploaded files from the disk. */
void crn_view_uploads_remove(crn_view *view);

/* Answers "api/export": the file of the query as "html" (the page in one file) or "pprof". */
crn_view_reply crn_view_export(crn_view *view, const crn_view_query *query);

/* ---- single-file page ---- */

/* Prints the page with the report's profile in it. Returns false on an error. */
bool crn_view_html_write(FILE *out, const crn_report *report);

/* Returns the data of a single-file page besides the profile, as JSON: answers about the capture's
 * spans, and sources. Free it with free. NULL without memory. */
char *crn_view_stored(const crn_report *report, size_t *size);

struct MHD_Daemon;
/* Listens on the loopback interface; `port` 0 is any. NULL after printing an error. */
struct MHD_Daemon *crn_view_listen(crn_view *view, unsigned port);
void crn_view_stop(struct MHD_Daemon *daemon);

/* ---- the built page; empty if it was not built ---- */

typedef struct crn_page {
    const unsigned char *script, *style;
    size_t script_size, style_size;
} crn_page;
extern const crn_page crn_page_built;

#endif
