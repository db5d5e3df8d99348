/* SPDX-License-Identifier: MIT
 *
 * view.h - `cairn view`: loaded files, requests and answers.
 *
 * One thread answers requests, one at a time, and owns the files. An answer is JSON that a function
 * prints into memory, often the function of a command, so that the page shows the same figures.
 * answer.c makes a reply of an answer.
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
    CRN_VIEW_TOKEN = 32,       /* characters of the address's secret */
    CRN_VIEW_QUERY_MAX = 8192, /* limit on the length of an address */
    CRN_VIEW_ITEMS_MAX = 64,   /* limit on items of a query */
    CRN_VIEW_FILES_MAX = 16,
    CRN_VIEW_LONGEST = 1000,       /* limit on slowest spans, and on gaps, in the sums */
    CRN_VIEW_KEPT = 32,            /* limit on cached answers */
    CRN_VIEW_KEPT_SIZE = 4 << 20,  /* limit on the bytes of all cached answers */
    CRN_VIEW_UPLOAD_MAX = 1 << 30, /* limit on the bytes of an uploaded file */
};

/* The part of a profile that was shown last, with figures to draw it. */
typedef struct crn_view_part {
    char *key;        /* request that it answers; NULL: no part */
    uint32_t *blocks; /* by block of `owned`: its number in the file; or NULL */
    const crn_profile *profile;
    crn_profile *owned;       /* NULL: `profile` is the file's */
    uint8_t *kept;            /* by context; NULL: all */
    const uint64_t *totals;   /* by context */
    uint64_t *owned_totals;   /* NULL: `totals` are the file's cached ones */
    uint64_t *others;         /* in a comparison: totals of the run before; else NULL */
    double scale;             /* in a comparison: `others` are multiplied by it */
    crn_sampling sampling[2]; /* in a comparison: of the run before, times `scale`; and after */
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
    uint32_t *by_lane; /* by lane: number of spans */
    uint64_t from, to; /* ns: range of time of the spans, with a margin */
} crn_view_choice;

/* Sums over all spans, in the order in which they are computed. */
typedef enum crn_view_sum {
    CRN_SUM_TABLE,
    CRN_SUM_SLOWEST,
    CRN_SUM_FIRST,
    CRN_SUM_MISSING,
    CRN_SUM_TREE,
    CRN_SUMS
} crn_view_sum;

/* A file's sums over all spans, each computed once. */
typedef struct crn_view_sums {
    unsigned done; /* number of available sums: those of crn_view_sum below it */
    crn_span_table table;
    crn_span_parts slowest;   /* at most CRN_VIEW_LONGEST spans */
    crn_missing missing;      /* missing time, with at most CRN_VIEW_LONGEST gaps */
    crn_profile *tree;        /* contexts of all spans */
    uint32_t open;            /* number of open spans */
    uint32_t first;           /* block whose iterations the page shows first */
    char **explained;         /* by block: explanation of all its spans; NULL: made on request */
    uint32_t explained_count; /* length of `explained` */
} crn_view_sums;

/* The profile with the transforms of the last request. */
typedef struct crn_view_transformed {
    char *key;            /* the transforms; NULL: no profile */
    crn_profile *profile; /* blocks have the file's numbers */
    crn_figure_cache known;
} crn_view_transformed;

typedef struct crn_view_file {
    const char *path;
    crn_profile *profile; /* with functions in place of addresses */
    crn_profile *plain;   /* as recorded, which spans refer to; may equal `profile` */
    crn_trace *trace;     /* NULL until requested */
    crn_spans *spans;
    crn_chart *chart;
    crn_counter_tracks *counters;
    crn_view_sums *sums;     /* NULL: no spans yet */
    bool no_replay;          /* the thread that prepares the file makes no replay */
    bool replay_wanted;      /* a request waits for the replay */
    bool preparing;          /* a thread computes sums or a replay: spans must not be replaced */
    crn_view_part span_part; /* contexts of chosen spans */
    crn_replay *replay;      /* NULL until requested */
    crn_view_part part;
    crn_figure_cache known; /* of `profile` */
    crn_view_transformed transformed;
    crn_view_choice choice;
    char *uploaded;          /* equals `path` if the file was uploaded or fetched; or NULL */
    bool foreign;            /* imported from another tool's file */
    bool left;               /* its program ended without closing it, and all of it was read */
    bool looked_at;          /* spans were read, if it has any */
    uint32_t generation;     /* incremented when its contents change */
    double read_at, cost;    /* seconds: time of reading (CLOCK_MONOTONIC); its duration */
    struct timespec changed; /* modification time as of reading */
    uint64_t inode;
    uint64_t totals[CRN_METRIC_MAX]; /* by metric */
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
    crn_view_part both; /* both files of a difference, as one profile */
    char token[CRN_VIEW_TOKEN + 1];
    unsigned port;
    bool page;    /* serves the page, not only answers */
    bool serving; /* computes answers in advance, as requests will come */
    crn_view_kept kept[CRN_VIEW_KEPT];
    unsigned kept_next; /* the entry to replace next */
    size_t kept_size;   /* bytes of all entries */
    char *uploads;      /* folder of uploaded and fetched files; NULL: none yet */
    unsigned upload_count;
    struct crn_database *fleet; /* database of --fleet; NULL: none */
    atomic_uint readers;        /* number of threads that read spans */
    pthread_mutex_t lock;       /* held while a request is answered */
    pthread_cond_t looked;      /* signalled when spans, sums or a replay are ready */
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

/* Returns the first value of `key`; NULL if the query lacks it. */
const char *crn_view_text(const crn_view_query *query, const char *key);
/* Does the same, and returns NULL for an empty value. */
const char *crn_view_some_text(const crn_view_query *query, const char *key);
/* Parses an integer from 0 to `most`; `otherwise` if the query lacks it. On an error prints a
 * message and returns false. */
bool crn_view_number(const crn_view_query *query, const char *key, uint64_t otherwise,
                     uint64_t most, uint64_t *number);
/* Returns the file with the number "file". On an error prints a message and returns NULL. */
crn_view_file *crn_view_file_of(crn_view *view, const crn_view_query *query);

/* ---- files: functions that wait are called with view->lock held, and release it meanwhile ---- */

/* Reads a file. On an error prints a message and returns false. */
bool crn_view_file_read(crn_view_file *file);
/* Reloads a file that its program still writes, but not too often; once more when the program has
 * ended; and when another file has replaced it. Waits until no thread prepares the file. */
void crn_view_file_renew(crn_view *view, crn_view_file *file);
/* Returns the state as a report does, but a file counts as running until it is reloaded. */
crn_report_state crn_view_file_state(const crn_view_file *file);
void crn_view_file_close(crn_view_file *file);
/* Reads a file's spans and computes figures. Locks view->lock, which the caller must not hold. */
void crn_view_file_look(crn_view *view, crn_view_file *file);
/* Starts a thread that calls crn_view_file_look for the files from number `first` on. Returns 0 or
 * an errno. */
int crn_view_files_look(crn_view *view, size_t first);
/* Waits until spans are read. If there are none, prints why and returns false. */
bool crn_view_file_spans(crn_view *view, crn_view_file *file);
/* Waits until `sum` and those before it are computed. Returns the sums of a file with spans. */
const crn_view_sums *crn_view_sums_of(crn_view *view, crn_view_file *file, crn_view_sum sum);
/* Computes sum number `done`; the caller then increments `done`. */
void crn_view_sums_add(crn_view_sums *sums, const crn_spans *spans, const crn_profile *profile);
void crn_view_sums_free(crn_view_sums *sums);
/* Prints the explanation of a block's spans: of all, or of a choice's. With a view, first waits for
 * the replay and frees it if both would need too much memory. `view` and `choice` may be NULL. */
void crn_view_explanation_write(FILE *out, crn_view *view, crn_view_file *file, uint32_t block,
                                const crn_view_choice *choice);
/* Explains blocks with so many spans that a request would take long, into `explained`; stops if a
 * request waits for the replay. Locks view->lock. */
void crn_view_explain_ahead(crn_view *view, crn_view_file *file);
/* Sets `*choice` to the query's chosen spans; NULL without a choice. On an error prints why,
 * returns false. */
bool crn_view_choice_of(crn_view_file *file, const crn_view_query *query,
                        const crn_view_choice **choice);
/* Returns the query's file with its spans loaded, and sets `*choice` as crn_view_choice_of does. On
 * an error prints why, returns NULL. */
crn_view_file *crn_view_file_chosen(crn_view *view, const crn_view_query *query,
                                    const crn_view_choice **choice);
/* A window of time to draw. */
typedef struct crn_view_window {
    uint64_t from, to; /* ns; from < to */
    uint32_t pixels;   /* at least 1 */
} crn_view_window;

/* Parses "from" and "to", by default the range of the choice (NULL: of all spans), and "pixels", by
 * default `pixels`, at most `most`. On an error prints a message and returns false. */
bool crn_view_window_of(const crn_view_file *file, const crn_view_choice *choice,
                        const crn_view_query *query, uint32_t pixels, uint32_t most,
                        crn_view_window *window);
/* Returns the file's replay: waits if a thread may be making it, and makes it if there is none. */
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

/* Prints the timeline of all lanes with at most `most` bars. Returns the bars' spans, the longest
 * first; free them with crn_free. */
uint32_t *crn_view_timeline_whole(FILE *out, const crn_view_file *file, uint32_t most,
                                  uint32_t *count);

/* Sets up the report for the query's file, focus, exclusions, transforms and metric. On an error
 * prints a message and returns false. In any case call crn_view_report_end afterwards. */
bool crn_view_report_begin(crn_view *view, const crn_view_query *query, crn_report *report,
                           crn_view_file **file);
void crn_view_report_end(crn_report *report);

/* Returns the lines on how the report's figures were measured, and the number of functions. */
json_t *crn_view_measured_json(const crn_report *report);

/* Returns the part of the profile for the query's focus, exclusions, metric and direction, and
 * caches it. On an error prints a message and returns NULL. */
const crn_view_part *crn_view_part_of(crn_view *view, const crn_view_query *query,
                                      crn_view_file **file);

/* Returns the text of the file that a capture calls `name`, if it is below the view's folders; free
 * it with crn_free. Otherwise returns NULL and a reason. */
char *crn_view_source_text(const crn_view *view, const char *name, size_t *size,
                           const char **reason);

/* Prints a part's boxes for "root" and "width". On an error prints a message and returns false. */
bool crn_view_write_part(FILE *out, const crn_view_part *part, const crn_view_query *query);
/* Returns, by block of `made`, its number in `profile`, from which `made` was derived. Free it with
 * crn_free. */
uint32_t *crn_view_numbers_of(const crn_profile *profile, const crn_profile *made);

/* Prints the member "blocks": the blocks in `used`, under their own numbers or those in
 * `numbers`. */
void crn_view_write_blocks(FILE *out, const crn_profile *profile, const uint8_t *used,
                           const uint32_t *numbers);

/* ---- server ---- */

typedef struct crn_view_reply {
    unsigned status;
    const char *type;
    char *body; /* free it with free, if `owned` */
    size_t size;
    bool owned;
    char file_name[128]; /* name under which a browser saves it; "": shows it */
} crn_view_reply;

/* Answers a request for `path` ("/TOKEN/..."). The caller has checked the host. */
crn_view_reply crn_view_reply_to(crn_view *view, const char *path, crn_view_query *query);
/* Runs an answer, or takes it from the cache. Returns its output, or the error. */
crn_view_reply crn_view_reply_json(crn_view *view, const crn_view_query *query,
                                   crn_view_answer *answer);

/* Returns {"error": text}. */
crn_view_reply crn_view_reply_problem(unsigned status, const char *text);

void crn_view_kept_clear(crn_view *view);

/* Returns true if the path begins with the secret and a slash; `*rest` becomes what follows
 * them. */
bool crn_view_has_token(const crn_view *view, const char *path, const char **rest);

/* Returns the path of a new file, with a safe form of `name`, in the folder of uploads. Free it
 * with crn_free; NULL with errno set on an error. */
char *crn_view_upload_path(crn_view *view, const char *name);
/* Deletes an uploaded file and its folder. */
void crn_view_upload_remove(const char *path);
/* Loads an uploaded file as one more of the view; copies `path`. On an error prints why, returns
 * false. */
bool crn_view_upload_open(crn_view *view, const char *path);

/* ---- runs in a fleet's database: cairn view --fleet ---- */

/* Opens the sum of the newest service's runs as a file. On an error prints why, returns false. */
bool crn_view_fleet_begin(crn_view *view);
/* Answers with the database's services and metrics. */
bool crn_view_fleet(FILE *out, crn_view *view, const crn_view_query *query);
/* Answers with a question's result. */
bool crn_view_fleet_ask(FILE *out, crn_view *view, const crn_view_query *query);
/* Answers with a comparison of two groups of runs. */
bool crn_view_fleet_diff(FILE *out, crn_view *view, const crn_view_query *query);
/* Opens a run, or the sum of several, as one more file, and answers with its number. */
bool crn_view_fleet_open(FILE *out, crn_view *view, const crn_view_query *query);

/* A file that the page sends. crn_view_upload_begin and _add keep an error; _end answers with the
 * file's number, or with the error. _end and _abort free the upload. */
typedef struct crn_view_upload crn_view_upload;
crn_view_upload *crn_view_upload_begin(crn_view *view, const char *name);
void crn_view_upload_add(crn_view_upload *upload, const char *data, size_t size);
crn_view_reply crn_view_upload_end(crn_view_upload *upload);
void crn_view_upload_abort(crn_view_upload *upload);
/* Deletes uploaded and fetched files. */
void crn_view_uploads_remove(crn_view *view);

/* Answers "api/export" with the query's file as "html", a page in one file, or as "pprof". */
crn_view_reply crn_view_export(crn_view *view, const crn_view_query *query);

/* ---- single-file page ---- */

/* Prints the page with the report's profile in it. Returns false on an error. */
bool crn_view_html_write(FILE *out, const crn_report *report);

/* Returns what a single-file page has besides the profile, as JSON: answers about the capture's
 * spans, and sources. Free it with free. NULL if out of memory. */
char *crn_view_stored(const crn_report *report, size_t *size);

struct MHD_Daemon;
/* Starts the server on the loopback interface; `port` 0: any. On an error prints why, returns
 * NULL. */
struct MHD_Daemon *crn_view_listen(crn_view *view, unsigned port);
void crn_view_stop(struct MHD_Daemon *daemon);

/* ---- the built page; empty if the tool was built without it ---- */

typedef struct crn_page {
    const unsigned char *script, *style;
    size_t script_size, style_size;
} crn_page;
extern const crn_page crn_page_built;

#endif
