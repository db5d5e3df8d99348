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

typedef struct crn_fleet_sent {
    crn_push_sum sum;
    char service[256];
    bool recording; /* the capture may grow */
} crn_fleet_sent;

/* Reads a capture and sends it, or what is new since `state`, which may be NULL. */
bool crn_fleet_send(crn_database *database, crn_fleet_labels *labels, const char *path,
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

#endif
