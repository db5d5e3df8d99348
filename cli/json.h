/* SPDX-License-Identifier: MIT
 *
 * json.h - how profiles' parts look in the JSON of every command: docs/REPORT_JSON.md.
 */
#ifndef CRN_CLI_JSON_H
#define CRN_CLI_JSON_H

#include <jansson.h>

#include "analysis/profile.h"

/* What is not UTF-8 is replaced. */
json_t *crn_json_text(const char *text);
/* Above 2^63 - 1 it becomes a real: most readers end there. */
json_t *crn_json_number(uint64_t number);
json_t *crn_json_block(const crn_profile *profile, uint32_t block);

/* Prints the value on stdout and frees it; the second as a member of an object that has
 * one already. */
void crn_json_write(json_t *value);
void crn_json_write_member(const char *key, json_t *value);

#endif
