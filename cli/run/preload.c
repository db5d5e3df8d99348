/* SPDX-License-Identifier: MIT
 *
 * Profiles programs as they are: preloads libcairn-sample, which samples time, libcairn-alloc,
 * which records allocations, or libcairn-locks, which records locks.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "profile/profile.h"
#include "run.h"
#include "spans/spans.h"
#include "symbols/symbols.h"

#define USUAL_MEAN "524288"

enum { LOADER_SIZE = 256 /* of a loader's path; the rest is cut off */ };

/* Returns NAME of the preloaded libcairn-NAME. */
static const char *host_of(const crn_run *run)
{
    return run->alloc ? "alloc" : run->locks ? "locks" : "sample";
}

/* Returns the library's file name with its version number: a link without it is there only for
 * development. */
static const char *library_of(const crn_run *run)
{
    return run->alloc   ? "libcairn-alloc.so." CAIRN_SOVERSION
           : run->locks ? "libcairn-locks.so." CAIRN_SOVERSION
                        : "libcairn-sample.so." CAIRN_SOVERSION;
}

/* ---- before the program ------------------------------------------------------------ */

/* Reads the path of the program's dynamic loader, which acts on LD_PRELOAD. Returns false for a
 * program without one. */
static bool read_loader(int file, const Elf64_Ehdr *header, char path[LOADER_SIZE])
{
    for (unsigned i = 0; i < header->e_phnum && header->e_phentsize == sizeof(Elf64_Phdr); i++) {
        Elf64_Phdr entry;
        off_t place = (off_t)(header->e_phoff + i * sizeof entry);
        if (pread(file, &entry, sizeof entry, place) != (ssize_t)sizeof entry)
            break;
        if (entry.p_type != PT_INTERP)
            continue;
        size_t most = entry.p_filesz < LOADER_SIZE ? entry.p_filesz : LOADER_SIZE - 1;
        ssize_t size = pread(file, path, most, (off_t)entry.p_offset);
        path[size > 0 ? size : 0] = '\0';
        return true;
    }
    return false;
}

/* Returns true for glibc's loader. Cairn's libraries need glibc: the loader of another libc refuses
 * to start a program with them. */
static bool is_glibc(const char *loader)
{
    return strncmp(crn_path_name(loader), "ld-", 3) == 0 && !strstr(loader, "ld-musl");
}

/* Returns true for a program that gains privileges: its loader ignores LD_PRELOAD. */
static bool is_privileged(int file)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return false;
    return ((info.st_mode & S_ISUID) && info.st_uid != getuid()) ||
           ((info.st_mode & S_ISGID) && info.st_gid != getgid()) ||
           fgetxattr(file, "security.capability", NULL, 0) > 0;
}

static bool is_for_this_machine(const Elf64_Ehdr *header)
{
    Elf64_Ehdr own = {0};
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool read_own = file >= 0 && pread(file, &own, sizeof own, 0) == (ssize_t)sizeof own;
    if (file >= 0)
        close(file);
    return !read_own || (own.e_machine == header->e_machine &&
                         own.e_ident[EI_CLASS] == header->e_ident[EI_CLASS]);
}

/* Returns true for a Go program. Go's runtime replaces signal handlers; most such programs have no
 * loader. */
static bool is_go(int file)
{
    static const char mark[] = "\xff Go buildinf:";
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size <= 0)
        return false;
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    bool is = bytes != MAP_FAILED && memmem(bytes, (size_t)info.st_size, mark, sizeof mark - 1);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)info.st_size);
    return is;
}

/* Returns why no library can be preloaded into the program, as the rest of a sentence about it; or
 * NULL. `alloc`: the library records allocations. Sets `*foreign` to whether the program is for
 * another architecture. */
static const char *obstacle_of(const char *path, bool alloc, bool *foreign)
{
    Elf64_Ehdr header = {0};
    const char *why = NULL;
    char loader[LOADER_SIZE];
    *foreign = false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL; /* cannot be checked: executable, but not readable */
    bool is_elf = pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                  memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    *foreign = is_elf && !is_for_this_machine(&header);
    if (*foreign)
        why = "is for another architecture than cairn's libraries";
    else if (is_elf && !read_loader(file, &header, loader))
        why = alloc ? "is linked statically, so its malloc cannot be interposed; link it "
                      "dynamically, or with libcairn-alloc.so"
                    : "is linked statically";
    else if (is_elf && !is_glibc(loader))
        why = "is linked with another libc than cairn's libraries";
    else if (is_privileged(file))
        why = alloc ? "is set-uid, set-gid or has capabilities, so the loader ignores LD_PRELOAD; "
                      "run it as its owner, or a copy without them"
                    : "is set-uid, set-gid or has capabilities";
    else if (!alloc && is_elf && is_go(file))
        why = "is a Go program";
    close(file);
    return why;
}

bool crn_run_choose_sampler(crn_run *run, const char *path)
{
    bool foreign = false;
    const char *obstacle = run->outside ? NULL : obstacle_of(path, run->alloc, &foreign);
    if (obstacle && (run->alloc || foreign))
        return crn_cli_fail("%s: %s", path, obstacle) == CRN_EXIT_OK;
    if (obstacle)
        run->outside = obstacle;
    if (run->outside && crn_run_is_pattern(run->output))
        return crn_cli_fail("%s: the sampler from outside writes one capture: remove %%p from the "
                            "capture's name",
                            path) == CRN_EXIT_OK;
    return true;
}

/* Returns true if the file contains `text` or `other`, which may be NULL. */
static bool has_text(const char *path, const char *text, const char *other)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0 || info.st_size <= 0) {
        if (file >= 0)
            close(file);
        return false;
    }
    size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    bool has = memmem(bytes, size, text, strlen(text)) ||
               (other && memmem(bytes, size, other, strlen(other)));
    munmap(bytes, size);
    return has;
}

bool crn_run_uses_cairn(const char *path)
{
    return has_text(path, "libcairn", "CAIRN_OUT");
}

bool crn_run_may_record_locks(const char *path)
{
    bool foreign;
    const char *obstacle = obstacle_of(path, false, &foreign);
    if (!obstacle && !has_text(path, "libcairn.so", NULL) && has_text(path, "CAIRN_OUT", NULL))
        obstacle = "contains a static libcairn; link it with libcairn.so";
    if (obstacle)
        crn_cli_fail("%s: --locks cannot record its locks: it %s", path, obstacle);
    return !obstacle;
}

/* Finds the library in the build directory, beside the installed tool or in a configured folder. */
static bool find_library(const crn_run *run, char *path, size_t size)
{
    const char *name = library_of(run);
    static const char *const places[] = {"%s/hosts/%s/%s", "%s/../lib/%s",
                                         "%s/../libexec/cairn/%s"};
    static const char *const configured[] = {CAIRN_LIB_DIR, CAIRN_LIBEXEC_DIR};
    char self[PATH_MAX], full[PATH_MAX];
    crn_cli_folder(self);
    for (size_t i = 0; i < 5; i++) {
        if (i == 0)
            snprintf(path, size, places[i], self, host_of(run), name);
        else if (i < 3)
            snprintf(path, size, places[i], self, name);
        else
            snprintf(path, size, "%s/%s", configured[i - 3], name);
        if (realpath(path, full) && access(full, R_OK) == 0) {
            snprintf(path, size, "%s", full);
            return true;
        }
    }
    return false;
}

bool crn_run_preload(const crn_run *run)
{
    char library[PATH_MAX * 2];
    if (!find_library(run, library, sizeof library))
        return crn_cli_fail(access("/proc/self", F_OK) == 0
                                ? "%s is neither beside the tool nor in %s: install it, or build "
                                  "all of cairn"
                                : "%s is not in %s, and is not found beside the tool without "
                                  "/proc: mount it",
                            library_of(run), CAIRN_LIB_DIR) == CRN_EXIT_OK;
    if (strpbrk(library, ": "))
        return crn_cli_fail("%s: a path with a blank or a colon cannot be preloaded; install cairn "
                            "elsewhere",
                            library) == CRN_EXIT_OK;
    const char *others = getenv("LD_PRELOAD");
    size_t size = strlen(library) + (others ? strlen(others) : 0) + 2;
    char *preload = crn_calloc(size, 1);
    /* Cairn's library comes first, to pass calls on to other preloaded allocators. */
    snprintf(preload, size, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    setenv("LD_PRELOAD", preload, 1);
    crn_free(preload);
    if (run->alloc)
        setenv("CAIRN_ALLOC", run->alloc_mean ? run->alloc_mean : USUAL_MEAN, 1);
    else if (run->locks)
        setenv("CAIRN_LOCKS", "on", 1);
    else {
        setenv("CAIRN_SAMPLE", run->sampled, 1);
        setenv("CAIRN_SAMPLE_PROCESS", "0000000000", 1); /* the library writes its pid there */
    }
    if (run->stacks)
        setenv("CAIRN_STACKS", "on", 1);
    return true;
}

/* ---- after the program ------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void note(crn_profile *profile, const char *key,
                                                       const char *format, ...)
{
    char value[1024];
    va_list arguments;
    if (crn_profile_note(profile, key, NULL))
        return; /* the program has set it */
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    crn_profile_put_note(profile, key, value);
}

static void put_command(crn_profile *profile, char **program)
{
    char command[1024] = "";
    for (; *program; program++)
        snprintf(command + strlen(command), sizeof command - strlen(command), "%s%s",
                 *command ? " " : "", *program);
    note(profile, "command", "%s", command);
}

static void put_notes(crn_profile *profile, const crn_run *run, int status,
                      unsigned long long elapsed_ns)
{
    if (!run->attached) {
        put_command(profile, run->program);
        note(profile, "elapsed_ns", "%llu", elapsed_ns);
        if (WIFEXITED(status))
            note(profile, "exit_status", "%d", WEXITSTATUS(status));
        else
            note(profile, "ended_by", "%s", strsignal(WTERMSIG(status)));
    }
    for (size_t i = 0; i < run->labels->count; i++) {
        const char *label = run->labels->list[i], *equals = strchr(label, '=');
        char *key = crn_strdup(label);
        key[equals - label] = '\0';
        crn_profile_put_note(profile, key, equals + 1);
        crn_free(key);
    }
}

void crn_run_finish(const crn_run *run, int status, unsigned long long elapsed_ns)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(run->output, &error);
    crn_trace *trace = profile ? crn_trace_load(run->output, &error) : NULL;
    if (!trace) {
        crn_cli_fail("%s", error.message);
        crn_profile_free(profile);
        return;
    }
    const char *stopped_by = crn_profile_note(profile, "stopped_by", NULL);
    if (stopped_by)
        crn_cli_fail("%s: recording stopped: %s", run->output,
                     cairn_error_text((cairn_error)atoi(stopped_by)));
    if (!crn_cli_is_recording(profile)) {
        crn_symbols_stand_ins its;
        crn_progress_begin("%s: looking up functions", crn_cli_name);
        crn_profile *named = crn_symbols_resolve_blocks(profile, crn_progress_at, &its);
        crn_progress_end();
        put_notes(named, run, status, elapsed_ns);
        crn_trace_replace_blocks(trace, its.first, its.blocks, profile->block_count);
        crn_cli_save_spans(named, trace->samples.count ? trace : NULL, run->output);
        crn_free(its.first);
        crn_free(its.blocks);
        crn_profile_free(named);
    }
    crn_trace_free(trace);
    crn_profile_free(profile);
    if (!run->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: now run: cairn report %s\n", crn_cli_name, run->output);
}
