/* SPDX-License-Identifier: MIT
 *
 * Uploads: files dropped onto the page.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "view.h"

enum { PATH_SIZE = 4096 };

struct crn_view_upload {
    crn_view *view;
    FILE *file;
    char path[PATH_SIZE];
    uint64_t size;
    int problem; /* errno; 0: none */
};

/* ---- an upload ---- */

crn_view_upload *crn_view_upload_begin(crn_view *view, const char *name)
{
    crn_view_upload *upload = crn_calloc(1, sizeof *upload);
    upload->view = view;
    char *path = crn_view_upload_path(view, name);
    if (path) {
        snprintf(upload->path, sizeof upload->path, "%s", path);
        upload->file = fopen(upload->path, "wxe");
    }
    crn_free(path);
    if (!upload->file)
        upload->problem = errno ? errno : EIO;
    return upload;
}

void crn_view_upload_add(crn_view_upload *upload, const char *data, size_t size)
{
    upload->size += size;
    if (upload->problem)
        return;
    if (upload->size > CRN_VIEW_UPLOAD_MAX)
        upload->problem = EFBIG;
    else if (fwrite(data, 1, size, upload->file) != size)
        upload->problem = errno;
}

void crn_view_upload_abort(crn_view_upload *upload)
{
    if (upload->file)
        fclose(upload->file);
    if (*upload->path)
        crn_view_upload_remove(upload->path);
    crn_free(upload);
}

/* Loads the file at the query's "path", and answers with its number. */
static bool open_upload(FILE *out, crn_view *view, const crn_view_query *query)
{
    if (!crn_view_upload_open(view, crn_view_text(query, "path")))
        return false;
    fprintf(out, "{\"file\":%zu}\n", view->file_count - 1);
    crn_view_files_look(view, view->file_count - 1);
    return true;
}

crn_view_reply crn_view_upload_end(crn_view_upload *upload)
{
    crn_view *view = upload->view;
    crn_view_query query = {.route = "open", .items = {{"path", upload->path}}, .count = 1};
    if (upload->file && fclose(upload->file) != 0 && !upload->problem)
        upload->problem = errno;
    upload->file = NULL;
    crn_view_reply reply;
    if (upload->problem) {
        reply = crn_view_reply_problem(413, strerror(upload->problem));
        crn_view_upload_abort(upload);
        return reply;
    }
    size_t before = view->file_count;
    reply = crn_view_reply_json(view, &query, open_upload);
    if (view->file_count == before)
        crn_view_upload_abort(upload);
    else
        crn_free(upload);
    return reply;
}
