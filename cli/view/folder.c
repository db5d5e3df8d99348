/* SPDX-License-Identifier: MIT
 *
 * The folder of uploaded and fetched files. The server deletes it when it ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "view.h"

enum { NAME_MAX_SHOWN = 100, PATH_SIZE = 4096 };

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

/* Makes the path of an upload's own folder, as several uploads may have the same name. */
static void folder_of(const crn_view *view, unsigned number, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%u", view->uploads, number);
}

/* Copies what follows the last slash, with characters that are safe in a file's name and on a
 * terminal. */
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

void crn_view_upload_remove(const char *path)
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
            crn_view_upload_remove(view->files[i].uploaded);
    if (view->uploads)
        rmdir(view->uploads);
}

char *crn_view_upload_path(crn_view *view, const char *name)
{
    char clean[NAME_MAX_SHOWN + 1], folder[PATH_SIZE], path[PATH_SIZE + NAME_MAX_SHOWN + 2];
    clean_name(clean, name);
    if (!make_folder(view))
        return NULL;
    folder_of(view, ++view->upload_count, folder);
    snprintf(path, sizeof path, "%s/%s", folder, clean);
    if (strlen(path) >= PATH_SIZE)
        errno = ENAMETOOLONG;
    return strlen(path) < PATH_SIZE && mkdir(folder, 0700) == 0 ? crn_strdup(path) : NULL;
}

bool crn_view_upload_open(crn_view *view, const char *path)
{
    crn_view_file *file = &view->files[view->file_count];
    if (view->file_count == CRN_VIEW_FILES_MAX) {
        crn_cli_fail("%d files are open, which is the limit", CRN_VIEW_FILES_MAX);
        return false;
    }
    *file = (crn_view_file){.uploaded = crn_strdup(path)};
    file->path = file->uploaded;
    if (!crn_view_file_read(file)) {
        crn_free(file->uploaded);
        *file = (crn_view_file){0};
        return false;
    }
    view->file_count++;
    return true;
}
