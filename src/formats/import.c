/* SPDX-License-Identifier: MIT
 *
 * Functions that the readers share.
 */
#include "formats/formats.h"

bool crn_import_lines(crn_source *source, const crn_import_options *options, crn_format_line *read,
                      void *data, crn_error *error)
{
    char *line;
    size_t length;
    uint64_t done, total;
    bool good = crn_source_rewind(source, error);
    while (good && (line = crn_source_line(source, &length, error))) {
        good = read(data, line, length, error);
        if (options->progress && crn_source_line_number(source) % 1024 == 0) {
            crn_source_position(source, &done, &total);
            options->progress(done, total);
        }
    }
    return good && error->code == 0;
}

crn_profile *crn_import_end(crn_profile_builder *builder, bool good)
{
    crn_profile *profile = crn_profile_builder_end(builder);
    if (good)
        return profile;
    crn_profile_free(profile);
    return NULL;
}
