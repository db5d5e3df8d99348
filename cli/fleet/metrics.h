/* SPDX-License-Identifier: MIT
 *
 * metrics.h - the agent's figures as Prometheus text: calls and time of the costliest functions,
 * and durations of spans.
 */
#ifndef CRN_CLI_FLEET_METRICS_H
#define CRN_CLI_FLEET_METRICS_H

#include "fleet.h"

enum { CRN_METRICS_FAMILIES = 3 }; /* calls, time, durations of spans */

/* Lines of one capture, by family; NULL: none. The lines of a family must be printed together. */
typedef struct crn_metrics_lines {
    char *families[CRN_METRICS_FAMILIES];
} crn_metrics_lines;

/* Makes the lines of a capture: for the 50 functions with the most calls and the 50 with the most
 * time, and for each span name. `profile` has functions in place of addresses; spans refer to the
 * blocks of `recorded`. Free the lines with crn_metrics_lines_free. */
crn_metrics_lines crn_metrics_lines_make(const crn_profile *profile, const crn_profile *recorded,
                                         const crn_span_store *spans,
                                         const crn_fleet_labels *labels, const char *capture);
void crn_metrics_lines_free(crn_metrics_lines *lines);

typedef struct crn_metrics_server crn_metrics_server;

/* Serves /metrics on the loopback interface, from a thread. On an error prints a message and
 * returns NULL. */
crn_metrics_server *crn_metrics_serve(unsigned port);
void crn_metrics_stop(crn_metrics_server *server);
/* Replaces what is served by the lines of all captures. */
void crn_metrics_set(crn_metrics_server *server, const crn_metrics_lines *const *lines,
                     size_t count);

#endif
