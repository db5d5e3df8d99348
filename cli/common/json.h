/* SPDX-License-Identifier: MIT
 *
 * json.h - how profiles' parts look in the JSON of every command: docs/REPORT_JSON.md.
 */
#ifndef CRN_CLI_COMMON_JSON_H
#define CRN_CLI_COMMON_JSON_H

#include <jansson.h>

#include "profile/profile.h"

/* What is not UTF-8 is replaced. */
json_t *crn_json_text(const char *text);
/* Above 2^63 - 1 it becomes a real: most readers end there. */
json_t *crn_json_number(uint64_t number);
json_t *crn_json_block(const crn_profile *profile, uint32_t block);
/* What the summary says of memory; NULL of a profile without allocations. */
json_t *crn_report_memory_json(const crn_profile *profile);

/* A span, what is known of it and what it ran in; the caller's. */
struct crn_spans_report;
json_t *crn_spans_span_json(const struct crn_spans_report *report, uint32_t span);

/* Prints the value on stdout and frees it; the second as a member of an object that has
 * one already. */
void crn_json_write(json_t *value);
void crn_json_write_member(const char *key, json_t *value);

#endif
