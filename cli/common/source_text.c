/* SPDX-License-Identifier: MIT */
#include "source_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { SOURCE_MAX = 4 << 20 };

char *crn_source_text(const char *path, size_t *size, const char **reason)
{
    struct stat info;
    char *text = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    *reason = "it cannot be read";
    if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
        if (info.st_size > SOURCE_MAX) {
            *reason = "the file is too long to be shown";
        } else {
            text = crn_calloc((size_t)info.st_size + 1, 1);
            ssize_t got = read(file, text, (size_t)info.st_size);
            if (got < 0) {
                crn_free(text);
                text = NULL;
            }
            *size = got > 0 ? (size_t)got : 0;
        }
    }
    if (file >= 0)
        close(file);
    return text;
}
