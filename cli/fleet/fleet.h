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
/* clang-format on */

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
