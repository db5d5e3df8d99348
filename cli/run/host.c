/* SPDX-License-Identifier: MIT
 *
 * Finds hosts: programs called cairn-NAME, which run scripts of the language NAME.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "run.h"

/* Finds them beside the tool in a build directory; installed, below the same prefix or the
 * configured one. */
static const crn_list *find_hosts(void)
{
    static crn_list hosts;
    static const char *const places[] = {"%s/hosts/*/cairn-*", "%s/../libexec/cairn/cairn-*",
                                         CAIRN_LIBEXEC_DIR "/cairn-*"};
    char self[PATH_MAX], pattern[PATH_MAX + 64];
    glob_t found = {0};
    if (hosts.list)
        return &hosts;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(pattern, sizeof pattern, places[i], self);
        glob(pattern, i ? GLOB_APPEND : 0, NULL, &found);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat info;
        char *path = found.gl_pathv[i];
        if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0)
            crn_list_add(&hosts, crn_strdup(path));
    }
    globfree(&found);
    return &hosts;
}

static const char *name_of(const char *host)
{
    return strrchr(host, '/') + sizeof "cairn-";
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *crn_run_suffix(const char *script)
{
    const crn_list *hosts = find_hosts();
    const char *suffix = strrchr(base_of(script), '.');
    for (size_t i = 0; suffix && i < hosts->count; i++)
        if (strcmp(suffix + 1, name_of(hosts->list[i])) == 0)
            return suffix;
    return NULL;
}

bool crn_run_is_interpreter(const char *program)
{
    const crn_list *hosts = find_hosts();
    for (size_t i = 0; i < hosts->count; i++) {
        const char *name = name_of(hosts->list[i]), *base = base_of(program);
        size_t length = strlen(name);
        if (strncmp(base, name, length) == 0 &&
            !base[length + strspn(base + length, "0123456789.")])
            return true;
    }
    return false;
}

const char *crn_run_host(const char *script)
{
    const crn_list *hosts = find_hosts();
    const char *suffix = crn_run_suffix(script);
    for (size_t i = 0; i < hosts->count; i++)
        if (!suffix || strcmp(suffix + 1, name_of(hosts->list[i])) == 0)
            return hosts->list[i];
    return NULL;
}
