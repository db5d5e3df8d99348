/* SPDX-License-Identifier: MIT
 *
 * The warnings of compared captures: missing data are a difference that the program did not make.
 */
#include <stdio.h>

#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "warnings.h"

void crn_diff_warnings_text(FILE *out, const crn_diff_captures *captures)
{
    for (size_t i = 0; i < captures->count; i++) {
        const crn_profile *profile = captures->profiles[i];
        for (size_t j = 0; j < profile->warning_count; j++) {
            crn_terminal_style(out, CRN_STYLE_WARM);
            fprintf(out, "warning ");
            crn_terminal_style(out, CRN_STYLE_PLAIN);
            crn_terminal_text(out, captures->paths[i], 0, false);
            fputs(": ", out);
            crn_terminal_text(out, profile->warnings[j], 0, false);
            putc('\n', out);
        }
    }
}

void crn_diff_warnings_json(FILE *out, const crn_diff_captures *captures)
{
    json_t *warnings = json_array();
    for (size_t i = 0; i < captures->count; i++) {
        const crn_profile *profile = captures->profiles[i];
        for (size_t j = 0; j < profile->warning_count; j++) {
            json_t *warning = json_object();
            json_object_set_new(warning, "capture", crn_json_text(captures->paths[i]));
            json_object_set_new(warning, "text", crn_json_text(profile->warnings[j]));
            json_array_append_new(warnings, warning);
        }
    }
    crn_json_write_member(out, "warnings", warnings);
}
