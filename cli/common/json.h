/* SPDX-License-Identifier: MIT
 *
 * json.h - JSON shared by all commands: docs/REPORT_JSON.md.
 */
#ifndef CRN_CLI_COMMON_JSON_H
#define CRN_CLI_COMMON_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "profile/profile.h"

/* Returns a string; invalid UTF-8 is replaced. */
json_t *crn_json_text(const char *text);
/* Returns a number; above 2^63 - 1 as a real, because most readers take no larger integers. */
json_t *crn_json_number(uint64_t number);
/* Sets a member to such a number. */
void crn_json_set_number(json_t *object, const char *key, uint64_t number);
/* Returns a number; null for NaN and infinity, which JSON lacks. */
json_t *crn_json_real(double number);
/* Returns a block: its number, name and place. */
json_t *crn_json_block(const crn_profile *profile, uint32_t block);
/* Returns the summary of memory; NULL for a profile without allocations. */
json_t *crn_report_memory_json(const crn_profile *profile);

/* Returns how a metric was sampled. */
json_t *crn_report_sampling_json(const crn_sampling *sampling);

/* Returns a span with its attributes and ancestors; owned by the caller. */
struct crn_spans_report;
json_t *crn_spans_span_json(const struct crn_spans_report *report, uint32_t span);

/* Print a value and free it; the second prints a member of an object that has members already. */
void crn_json_write(FILE *out, json_t *value);
void crn_json_write_member(FILE *out, const char *key, json_t *value);
/* Does the same with the element `at` of an array. */
void crn_json_write_element(FILE *out, size_t at, json_t *value);

#endif
