/* SPDX-License-Identifier: MIT
 *
 * fleet.h - cairn push and cairn fleet: labels, sending, printing, and common options.
 */
#ifndef CRN_CLI_FLEET_FLEET_H
#define CRN_CLI_FLEET_FLEET_H

#include <stdio.h>

#include "cli/common/command.h"
#include "fleet/fleet.h"

typedef struct crn_fleet_given {
    const char *url, *password_file; /* NULL: not given */
    long retry_s;                    /* seconds to repeat requests that fail for a passing reason */
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

/* Labels of runs. Set it to zeros before use, and free `texts` after. */
typedef struct crn_fleet_labels {
    crn_push_label list[CRN_FLEET_LABELS];
    size_t count;
    char *texts; /* owns texts of the environment, or of the labels file */
    char host[256], service[256];
} crn_fleet_labels;

/* Takes the labels of the command line, whose texts it changes, and of the environment. On an error
 * prints a message and returns false. */
bool crn_fleet_labels_take(crn_fleet_labels *labels, const crn_list *given);

/* Appends the labels service and host unless the list has them. To remove them, restore `count`. */
void crn_fleet_labels_add_own(crn_fleet_labels *labels, const crn_profile *profile);

/* Returns the path of the file with a capture's own labels, CAPTURE.labels, which replace all other
 * labels. Free it with crn_free. */
char *crn_fleet_labels_path(const char *capture);
/* Reads the labels beside a capture. Returns false if it has none. */
bool crn_fleet_labels_read(crn_fleet_labels *labels, const char *capture);
/* Writes the labels to a new file, synced. On an error prints why, returns false. */
bool crn_fleet_labels_write(const crn_fleet_labels *labels, const char *capture);

/* ---- OTLP collectors and Pyroscope: otlp[s]://HOST:PORT, pyroscope[s]://HOST:PORT ---- */

typedef struct crn_collector crn_collector;

/* Returns true if the address is an OTLP collector's or Pyroscope's. */
bool crn_collector_is(const char *url);
/* Prepares to send to given->url, which must be an address of a collector. Never NULL. */
crn_collector *crn_collector_open(const crn_fleet_given *given);
void crn_collector_close(crn_collector *collector);
/* Reads a capture, sends it, and prints what it sent. Returns false and sets `*error` on an error.
 */
bool crn_collector_send(crn_collector *collector, crn_fleet_labels *labels, const char *path,
                        crn_error *error);

/* ---- the database ---- */

struct crn_metrics_lines;

typedef struct crn_fleet_sent {
    struct crn_metrics_lines *metrics; /* gets the capture's lines, which replace earlier ones;
                                          NULL: no lines are made */
    crn_push_sum sum;
    char service[256];
    uint32_t spans;
    bool read;      /* the capture was read, even if the server failed */
    bool recording; /* the capture may grow */
} crn_fleet_sent;

/* Reads a capture and adds all of it, or what is new since `state` (may be NULL), to the batch, as
 * crn_push does. */
bool crn_fleet_send(crn_push_batch *batch, crn_fleet_labels *labels, const char *path,
                    crn_push_state *state, crn_fleet_sent *sent, crn_error *error);

/* Prints a line on what was sent. */
void crn_fleet_print_sent(FILE *out, const char *path, const crn_fleet_sent *sent);

/* Opens the database. On an error prints a message and returns NULL. */
crn_database *crn_fleet_open(const crn_fleet_given *given);

/* Prints the rows of an answer as a table, or as a JSON array of objects. `unit` is the metric's.
 * Returns false if the answer is cut short or damaged. */
bool crn_fleet_print(FILE *out, const crn_question *question, crn_answer *answer, const char *unit,
                     bool json);

/* Parameters of a printed comparison. */
typedef struct crn_fleet_shown {
    const char *metric, *unit;
    size_t limit;      /* on rows; 0: none */
    double fail_above; /* growth as a share; below 0: never fails */
    bool json;
} crn_fleet_shown;

/* Prints a comparison. Returns true if a growth is beyond noise and above shown->fail_above. */
bool crn_fleet_print_compare(FILE *out, const crn_fleet_groups *groups,
                             const crn_fleet_compare *compare, const crn_fleet_shown *shown);

/* Asks a question and prints the answer. about->metric may be NULL: the most useful metric. On an
 * error prints a message and returns false. */
bool crn_fleet_ask(FILE *out, crn_database *database, const crn_question *question,
                   const crn_question_about *about, bool json);

/* Compares two groups of runs and prints it. shown->metric NULL: the most useful; shown->unit is
 * not used. Sets `*above` as crn_fleet_print_compare returns it. On an error prints why, returns
 * false. */
bool crn_fleet_ask_compare(FILE *out, crn_database *database, const crn_fleet_filter filters[2],
                           const crn_fleet_shown *shown, bool *above);

/* Explains why the spans of a function differ, within runs and between them. Fetches the newest 50
 * runs that match. On an error prints a message and returns false. */
bool crn_fleet_explain(crn_database *database, const crn_fleet_filter *filter, const char *function,
                       const crn_fleet_shown *shown);

#endif
