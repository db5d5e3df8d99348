/* SPDX-License-Identifier: MIT
 *
 * Files that are dropped onto the page. They stay in a folder of their own until the server ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "view.h"

enum { NAME_MAX_SHOWN = 100, PATH_SIZE = 4096 };

struct crn_view_upload {
    crn_view *view;
    FILE *file;
    char path[PATH_SIZE];
    uint64_t size;
    int problem; /* errno; 0: none */
};

/* ---- the folder ---- */

static bool make_folder(crn_view *view)
{
    const char *temporary = getenv("TMPDIR");
    char path[PATH_SIZE];
    if (view->uploads)
        return true;
    int length = snprintf(path, sizeof path, "%s/cairn-view-XXXXXX",
                          temporary && *temporary ? temporary : "/tmp");
    if (length < 0 || (size_t)length >= sizeof path || !mkdtemp(path))
        return false;
    view->uploads = crn_strdup(path);
    return true;
}

/* Each upload has a folder, because several may have one name. */
static void folder_of(const crn_view *view, unsigned number, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%u", view->uploads, number);
}

/* Copies the end of a path, with letters that are safe in a file's name and on a terminal. */
static void clean_name(char clean[NAME_MAX_SHOWN + 1], const char *name)
{
    const char *slash = strrchr(name, '/');
    size_t length = 0;
    for (name = slash ? slash + 1 : name; *name && length < NAME_MAX_SHOWN; name++) {
        unsigned char letter = (unsigned char)*name;
        bool safe = letter > ' ' && letter < 127 && letter != '\\';
        clean[length++] = safe ? (char)letter : '_';
    }
    clean[length] = 0;
    if (!*clean || *clean == '.')
        strcpy(clean, "dropped");
}

static void remove_upload(const char *path)
{
    char folder[PATH_SIZE];
    snprintf(folder, sizeof folder, "%s", path);
    unlink(path);
    *strrchr(folder, '/') = 0;
    rmdir(folder);
}

void crn_view_uploads_remove(crn_view *view)
{
    for (size_t i = 0; i < view->file_count; i++)
        if (view->files[i].uploaded)
            remove_upload(view->files[i].uploaded);
    if (view->uploads)
        rmdir(view->uploads);
}

/* ---- an upload ---- */

crn_view_upload *crn_view_upload_begin(crn_view *view, const char *name)
{
    char clean[NAME_MAX_SHOWN + 1], folder[PATH_SIZE];
    crn_view_upload *upload = crn_calloc(1, sizeof *upload);
    upload->view = view;
    clean_name(clean, name);
    if (make_folder(view)) {
        folder_of(view, ++view->upload_count, folder);
        int length = snprintf(upload->path, sizeof upload->path, "%s/%s", folder, clean);
        if (length > 0 && (size_t)length < sizeof upload->path && mkdir(folder, 0700) == 0)
            upload->file = fopen(upload->path, "wxe");
    }
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
        remove_upload(upload->path);
    crn_free(upload);
}

/* Loads the file at the query's "path" as one more of the view. */
static bool open_upload(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_view_file *file = &view->files[view->file_count];
    if (view->file_count == CRN_VIEW_FILES_MAX) {
        crn_cli_fail("%d files are open, which is the limit", CRN_VIEW_FILES_MAX);
        return false;
    }
    *file = (crn_view_file){.uploaded = crn_strdup(crn_view_text(query, "path"))};
    file->path = file->uploaded;
    if (!crn_view_file_read(file)) {
        crn_free(file->uploaded);
        *file = (crn_view_file){0};
        return false;
    }
    view->file_count++;
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
