/* SPDX-License-Identifier: MIT
 *
 * Finds hosts: programs called cairn-NAME that run scripts in place of the interpreter NAME. NAME
 * is a language with the host's version, as in cairn-lua5.4.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "run.h"

/* Returns the hosts in the build directory, beside the installed tool and in the configured
 * folder. */
static const crn_list *find_hosts(void)
{
    static crn_list hosts;
    static const char *const places[] = {"%s/hosts/*/cairn-*", "%s/../libexec/cairn/cairn-*",
                                         CAIRN_LIBEXEC_DIR "/cairn-*"};
    char self[PATH_MAX], pattern[PATH_MAX + 64];
    glob_t found = {0};
    if (hosts.list)
        return &hosts;
    crn_cli_folder(self);
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

static size_t language_length(const char *name)
{
    return strcspn(name, "0123456789");
}

static bool is_language(const char *host, const char *language)
{
    const char *name = name_of(host);
    size_t length = language_length(name);
    return strncmp(language, name, length) == 0 && !language[length];
}

const char *crn_run_suffix(const char *script)
{
    const crn_list *hosts = find_hosts();
    const char *suffix = strrchr(crn_path_name(script), '.');
    for (size_t i = 0; suffix && i < hosts->count; i++)
        if (is_language(hosts->list[i], suffix + 1))
            return suffix;
    return NULL;
}

bool crn_run_find_on_path(const char *name, char found[PATH_MAX])
{
    struct stat info;
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t length = strcspn(list, ":");
        snprintf(found, PATH_MAX, "%.*s/%s", (int)length, list, name);
        if (access(found, X_OK) == 0 && stat(found, &info) == 0 && S_ISREG(info.st_mode))
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/* Returns true if the name has the host's language and no other version. A host without a version
 * stands in for all versions. */
static bool is_name_of(const char *name, const char *host)
{
    const char *own = name_of(host);
    size_t length = language_length(own);
    if (strncmp(name, own, length) != 0 || name[length + strspn(name + length, "0123456789.")])
        return false;
    return !own[length] || !name[length] || strcmp(name, own) == 0;
}

/* Returns true if the program is a link to a name that the host does not stand in for. Most systems
 * link the name without a version to one version. */
static bool is_link_to_another(const char *program, const char *host)
{
    char found[PATH_MAX], real[PATH_MAX];
    if (!strchr(program, '/')) {
        if (!crn_run_find_on_path(program, found))
            return false;
        program = found;
    }
    return realpath(program, real) && !is_name_of(crn_path_name(real), host);
}

bool crn_run_is_interpreter(const char *program)
{
    const crn_list *hosts = find_hosts();
    for (size_t i = 0; i < hosts->count; i++)
        if (is_name_of(crn_path_name(program), hosts->list[i]))
            return !is_link_to_another(program, hosts->list[i]);
    return false;
}

const char *crn_run_host(const char *script)
{
    const crn_list *hosts = find_hosts();
    const char *suffix = crn_run_suffix(script);
    for (size_t i = 0; i < hosts->count; i++)
        if (!suffix || is_language(hosts->list[i], suffix + 1))
            return hosts->list[i];
    return NULL;
}
