/* SPDX-License-Identifier: MIT
 *
 * Captures of a run's other processes: x.PID.cairn beside x.cairn, or all files of x.%p.cairn.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "profile/profile.h"
#include "run.h"
#include "spans/spans.h"

static const char own_number[] = "%p"; /* stands for the pid in a capture's name */

bool crn_run_is_pattern(const char *output)
{
    return strstr(output, own_number) != NULL;
}

/* Returns a glob pattern, with x escaped: x.[0-9]*.cairn for x.cairn and x.%p.cairn. */
static char *pattern_of(const char *output)
{
    static const char suffix[] = ".cairn", digits[] = "[0-9]*";
    size_t length = strlen(output), end = sizeof suffix - 1;
    bool is = crn_run_is_pattern(output);
    bool has = !is && crn_path_ends(output, suffix);
    char *pattern = crn_calloc(length + 2, sizeof digits), *at = pattern;
    for (size_t i = 0; i < length - (has ? end : 0); i++) {
        if (is && strncmp(output + i, own_number, sizeof own_number - 1) == 0) {
            at = stpcpy(at, digits);
            i += sizeof own_number - 2;
            continue;
        }
        if (strchr("*?[]\\", output[i]))
            *at++ = '\\';
        *at++ = output[i];
    }
    if (!is)
        sprintf(at, ".%s%s", digits, has ? suffix : "");
    return pattern;
}

crn_list crn_run_captures_beside(const crn_run *run, const struct timespec *since)
{
    glob_t found;
    char *pattern = pattern_of(run->output);
    crn_list captures = {0};
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct stat status;
            if (stat(found.gl_pathv[i], &status) == 0 && S_ISREG(status.st_mode) &&
                status.st_mtim.tv_sec >= since->tv_sec)
                crn_list_add(&captures, crn_strdup(found.gl_pathv[i]));
        }
        globfree(&found);
    }
    crn_free(pattern);
    return captures;
}

void crn_run_captures_free(crn_list *captures)
{
    for (size_t i = 0; i < captures->count; i++)
        crn_free(captures->list[i]);
    crn_free((void *)captures->list);
    *captures = (crn_list){0};
}

/* ---- merging ---- */

/* A process's samples, and a profile of their blocks without contexts. */
typedef struct process {
    crn_profile *blocks;
    crn_trace *trace; /* NULL, as is `blocks`, if it has no samples */
    bool read;        /* its capture could be read */
} process;

static uint32_t program_block(crn_profile_builder *builder, const crn_profile *profile)
{
    const char *command = crn_profile_note(profile, "command", "?");
    size_t length = strcspn(command, " ");
    const char *slash = memrchr(command, '/', length);
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(command + length - (slash ? slash + 1 : command)),
             slash ? slash + 1 : command);
    return crn_profile_builder_block(builder, &(crn_block_info){.name = name, .file = ""});
}

static void put_contexts(crn_profile_builder *builder, const crn_profile *profile, uint32_t program,
                         const uint32_t *blocks)
{
    uint32_t *contexts = crn_calloc(profile->context_count, sizeof *contexts);
    for (uint32_t m = 0; m < profile->metric_count; m++)
        crn_profile_builder_metric(builder, profile->metrics[m].name, profile->metrics[m].unit);
    contexts[0] = crn_profile_builder_child(builder, crn_profile_builder_root(builder), program, 0);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (c)
            contexts[c] = crn_profile_builder_child(builder, contexts[profile->parent[c]],
                                                    blocks[profile->block[c]], 0);
        for (uint32_t m = CRN_METRIC_TICKS; m < profile->metric_count; m++)
            crn_profile_builder_charge(builder, contexts[c], m, crn_self(profile, m, c));
    }
    crn_free(contexts);
}

/* Adds the profile's blocks and sets `blocks` to their numbers in the builder. Returns the number
 * of another block, named like the program. */
static uint32_t put_blocks(crn_profile_builder *builder, const crn_profile *profile,
                           uint32_t *blocks)
{
    for (uint32_t b = 1; b < profile->block_count; b++)
        blocks[b] = crn_profile_builder_block(builder, &profile->blocks[b]);
    return program_block(builder, profile);
}

/* Returns true if the program called exec: its capture was not closed, and another capture has the
 * process's number in its name. */
static bool called_exec(const crn_profile *profile, const char *path, const crn_list *others)
{
    char number[32];
    bool is_open = strcmp(crn_profile_note(profile, "state", ""), "recording") == 0;
    snprintf(number, sizeof number, ".%s.", crn_profile_note(profile, "process", "?"));
    for (size_t i = 0; is_open && i < others->count; i++)
        if (strcmp(others->list[i], path) != 0 && strstr(others->list[i], number))
            return true;
    return false;
}

/* Returns the profile with all its contexts below a block named like its program. `whole`: without
 * the note on unaccounted time, as the capture lacks nothing at its end. */
static crn_profile *below_program(const crn_profile *profile, bool whole)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t *blocks = crn_calloc(profile->block_count, sizeof *blocks);
    uint32_t program = put_blocks(builder, profile, blocks);
    put_contexts(builder, profile, program, blocks);
    for (size_t i = 0; i < profile->note_count; i++)
        if (!whole || strcmp(profile->notes[i].key, "unaccounted_ns") != 0)
            crn_profile_builder_note(builder, profile->notes[i].key, profile->notes[i].value);
    crn_free(blocks);
    return crn_profile_builder_end(builder);
}

/* Puts the paths of the process's samples below its program's block. */
static void put_below_program(process *process, const crn_profile *profile)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t *blocks = crn_calloc(profile->block_count, sizeof *blocks);
    uint32_t program = put_blocks(builder, profile, blocks);
    crn_trace_rename_blocks(process->trace, blocks, profile->block_count);
    crn_samples_below(&process->trace->samples, program);
    process->blocks = crn_profile_builder_end(builder);
    crn_free(blocks);
}

static void add(crn_merge *merge, const char *path, const crn_list *others, process *process)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    process->trace = profile ? crn_trace_load(path, &error) : NULL;
    process->read = process->trace != NULL;
    if (!process->read) {
        crn_cli_fail("%s", error.message);
        crn_profile_free(profile);
        return;
    }
    crn_profile *below = below_program(profile, called_exec(profile, path, others));
    crn_merge_add(merge, below);
    crn_profile_free(below);
    if (process->trace->samples.count) {
        put_below_program(process, profile);
    } else {
        crn_trace_free(process->trace);
        process->trace = NULL;
    }
    crn_profile_free(profile);
}

/* Returns the samples of all processes; NULL without samples or after an error. */
static crn_trace *join(const process *processes, size_t count, const crn_profile *sum)
{
    const crn_trace **traces = crn_calloc(count, sizeof *traces);
    crn_trace *joined = NULL;
    crn_error error = {0};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!processes[i].trace)
            continue;
        uint32_t *blocks = crn_blocks_match(processes[i].blocks, sum);
        crn_trace_rename_blocks(processes[i].trace, blocks, processes[i].blocks->block_count);
        crn_free(blocks);
        traces[used++] = processes[i].trace;
    }
    if (used && !crn_trace_merge(traces, used, &joined, &error))
        crn_cli_fail("%s", error.message);
    crn_free((void *)traces);
    return joined;
}

/* Merges the captures of several processes into the first, at `path`, and deletes the others. */
static void merge_into(const char *path, const crn_list *others)
{
    size_t count = others->count + 1;
    crn_merge *merge = crn_merge_new();
    process *processes = crn_calloc(count, sizeof *processes);
    for (size_t i = 0; i < count; i++)
        add(merge, i ? others->list[i - 1] : path, others, &processes[i]);
    crn_profile *sum = crn_merge_end(merge);
    crn_trace *joined = join(processes, count, sum);
    if (processes[0].read && crn_cli_save_spans(sum, joined, path) == CRN_EXIT_OK)
        for (size_t i = 1; i < count; i++)
            if (processes[i].read)
                unlink(others->list[i - 1]);
    for (size_t i = 0; i < count; i++) {
        crn_profile_free(processes[i].blocks);
        crn_trace_free(processes[i].trace);
    }
    crn_trace_free(joined);
    crn_profile_free(sum);
    crn_free(processes);
}

bool crn_run_merge(const crn_run *run, const struct timespec *since)
{
    crn_run sampled = {.output = run->sampled};
    crn_list others = crn_run_captures_beside(&sampled, since);
    struct stat status;
    bool there = stat(run->sampled, &status) == 0 && status.st_mtim.tv_sec >= since->tv_sec;
    if (!there && others.count) { /* the first process uses libcairn and has no samples */
        there = rename(others.list[others.count - 1], run->sampled) == 0;
        crn_free(others.list[--others.count]);
    }
    if (there && others.count)
        merge_into(run->sampled, &others);
    crn_run_captures_free(&others);
    return there;
}
