/* SPDX-License-Identifier: MIT
 *
 * fleet.h - printing for cairn push and cairn fleet, and the options that both have.
 */
#ifndef CRN_CLI_FLEET_FLEET_H
#define CRN_CLI_FLEET_FLEET_H

#include <stdio.h>

#include "cli/common/command.h"
#include "fleet/fleet.h"

typedef struct crn_fleet_given {
    const char *url, *password_file;
    long retry_s;
} crn_fleet_given;

/* clang-format off */
#define CRN_FLEET_OPTIONS(given)                                                                   \
    {"to", .argument = "URL",                                                                      \
     .help = "The database: clickhouse://[USER@]HOST[:PORT]/DATABASE, clickhouses: with TLS; "     \
             "default: $CAIRN_FLEET",                                                              \
     .text = &(given).url},                                                                        \
    {"password-file", .argument = "FILE",                                                          \
     .help = "Read the password from FILE; default: $CAIRN_FLEET_PASSWORD",                        \
     .text = &(given).password_file}
#define CRN_FLEET_OPTION_LABEL(to)                                                                 \
    {"label", 'l', .argument = "KEY=VALUE",                                                        \
     .help = "Label the runs; may be repeated. service, version and host have columns of their own",\
     .more = "The service is otherwise the program's name, and the host this machine's. More "     \
             "labels are taken from the environment variable CAIRN_LABELS, separated by commas.",  \
     .list = (to)}
/* clang-format on */

enum { CRN_FLEET_LABELS = 64 };

/* Zero it; free `texts`. */
typedef struct crn_fleet_labels {
    crn_push_label list[CRN_FLEET_LABELS];
    size_t count;
    char *texts; /* owns those of the environment */
    char host[256], service[256];
} crn_fleet_labels;

/* Takes the labels of the command line, which are changed, and of the environment. On an error
 * prints a message and returns false. */
bool crn_fleet_labels_take(crn_fleet_labels *labels, const crn_list *given);

/* Adds the service and the host, unless labels say them, as the last ones: cut the list to its
 * length before afterwards. */
void crn_fleet_labels_add_own(crn_fleet_labels *labels, const crn_profile *profile);

/* Returns the path of the file with a capture's own labels, CAPTURE.labels, which count in place of
 * all others. Free it with crn_free. */
char *crn_fleet_labels_path(const char *capture);
/* Reads them. Returns false if there is no such file. */
bool crn_fleet_labels_read(crn_fleet_labels *labels, const char *capture);
/* Writes the labels to a new file, synced. On an error prints why, returns false. */
bool crn_fleet_labels_write(const crn_fleet_labels *labels, const char *capture);

/* ---- collectors: otlp://HOST:PORT, pyroscope://HOST:PORT, with an s for TLS ---- */

typedef struct crn_collector crn_collector;

/* Returns true if the address is a collector's. */
bool crn_collector_is(const char *url);
/* `given->url` is a collector's address. Never NULL. */
crn_collector *crn_collector_open(const crn_fleet_given *given);
void crn_collector_close(crn_collector *collector);
/* Reads a capture, sends it, and prints what was sent. */
bool crn_collector_send(crn_collector *collector, crn_fleet_labels *labels, const char *path,
                        crn_error *error);

/* ---- the database ---- */

struct crn_metrics_lines;

typedef struct crn_fleet_sent {
    struct crn_metrics_lines *metrics; /* is set to the capture's lines; NULL: not wanted */
    crn_push_sum sum;
    char service[256];
    uint32_t spans;
    bool read;      /* the capture could be read, whatever the server says */
    bool recording; /* the capture may grow */
} crn_fleet_sent;

/* Reads a capture and adds it, or what is new since `state`, which may be NULL, to the batch: as
 * crn_push. */
bool crn_fleet_send(crn_push_batch *batch, crn_fleet_labels *labels, const char *path,
                    crn_push_state *state, crn_fleet_sent *sent, crn_error *error);

/* Prints what was sent, one line. */
void crn_fleet_print_sent(FILE *out, const char *path, const crn_fleet_sent *sent);

/* Opens the database. On an error prints a message and returns NULL. */
crn_database *crn_fleet_open(const crn_fleet_given *given);

/* Prints the rows of an answer as a table, or as JSON: an array of objects. `unit` is the metric's.
 * Returns false if the answer is cut short. */
bool crn_fleet_print(FILE *out, const crn_question *question, crn_answer *answer, const char *unit,
                     bool json);

/* Parameters of a printed comparison. */
typedef struct crn_fleet_shown {
    const char *metric, *unit;
    size_t limit;
    double fail_above; /* share; below 0: never */
    bool json;
} crn_fleet_shown;

/* Prints a comparison. Returns true if a growth beyond noise is above the threshold. */
bool crn_fleet_print_compare(FILE *out, const crn_fleet_groups *groups,
                             const crn_fleet_compare *compare, const crn_fleet_shown *shown);

/* Asks and prints a question; about->metric may be NULL for the most useful one. Returns false
 * after printing an error. */
bool crn_fleet_ask(FILE *out, crn_database *database, const crn_question *question,
                   const crn_question_about *about, bool json);

/* Compares two groups of runs and prints it; shown->metric likewise, shown->unit is not used. Sets
 * `*above` as crn_fleet_print_compare. Returns false after printing an error. */
bool crn_fleet_ask_compare(FILE *out, crn_database *database, const crn_fleet_filter filters[2],
                           const crn_fleet_shown *shown, bool *above);

/* Explains why the spans of a function differ, within and between the runs that match: fetches the
 * newest 50 of them. Returns false after printing an error. */
bool crn_fleet_explain(crn_database *database, const crn_fleet_filter *filter, const char *function,
                       const crn_fleet_shown *shown);

#endif
