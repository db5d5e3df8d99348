/* SPDX-License-Identifier: MIT
 *
 * cairn cc and cairn c++ run gcc and g++ with the plugin that inserts enter and leave. cairn clang
 * and cairn clang++ run clang, which has hooks of its own, so they need no plugin. All four link
 * the libraries that the inserted code calls. They take their own options off the command line, and
 * pass all other arguments on to the compiler.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/cc/cc.h"
#include "cli/common/cli.h"
#include "commands.h"

#define WORDS(array) (sizeof(array) / sizeof *(array))

typedef struct command_line {
    char **words;
    size_t count, capacity;
} command_line;

static void add(command_line *line, const char *word)
{
    if (line->count + 1 >= line->capacity) {
        line->capacity = line->capacity ? line->capacity * 2 : 64;
        line->words = crn_realloc(line->words, line->capacity, sizeof *line->words);
    }
    line->words[line->count++] = (char *)(uintptr_t)word;
    line->words[line->count] = NULL;
}

__attribute__((format(printf, 2, 3))) static void addf(command_line *line, const char *format, ...)
{
    char *word = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&word, format, arguments);
    va_end(arguments);
    if (length >= 0)
        add(line, word);
}

typedef struct compiler {
    const char *first;    /* runs if it exists */
    const char *plain;    /* runs otherwise */
    const char *variable; /* environment variable: names a compiler to run in place of both */
    bool is_clang;
} compiler;

/* ---- files of Cairn ------------------------------------------------------------------- */

/* Folders of the libraries, in a build directory. */
enum { FOLDER_GCC, FOLDER_RUNTIME, FOLDER_ALLOC, FOLDER_CLANG, FOLDERS };

typedef struct parts {
    char begin[PATH_MAX * 3]; /* object of hosts/gcc/begin.c */
    char plugin[PATH_MAX * 3];
    char sleds[PATH_MAX * 3];            /* object of hosts/clang/begin.c */
    char folders[FOLDERS][PATH_MAX * 2]; /* an installed Cairn has one */
    size_t folder_count;
} parts;

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_MAX * 3];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, R_OK) == 0;
}

/* Returns the file without which the compiler's programs cannot be profiled. */
static const char *needed_by(const compiler *compiler)
{
    return compiler->is_clang ? "cairn_sleds.o" : "cairn_gcc.so";
}

/* Finds Cairn's files in the build directory, beside the installed tool or in the configured
 * folders. Returns false if the file that the compiler needs is not there. */
static bool find(parts *parts, const compiler *compiler)
{
    const char *needed = needed_by(compiler);
    char self[PATH_MAX], built[PATH_MAX * 2];
    crn_cli_folder(self);
    snprintf(built, sizeof built, "%s/hosts/%s", self, compiler->is_clang ? "clang" : "gcc");
    if (is_there(built, needed)) {
        snprintf(parts->plugin, sizeof parts->plugin, "%s/hosts/gcc/cairn_gcc.so", self);
        snprintf(parts->begin, sizeof parts->begin, "%s/hosts/gcc/cairn_begin.o", self);
        snprintf(parts->folders[FOLDER_GCC], sizeof *parts->folders, "%s/hosts/gcc", self);
        snprintf(parts->folders[FOLDER_RUNTIME], sizeof *parts->folders, "%s/src", self);
        snprintf(parts->folders[FOLDER_ALLOC], sizeof *parts->folders, "%s/hosts/alloc", self);
        snprintf(parts->folders[FOLDER_CLANG], sizeof *parts->folders, "%s/hosts/clang", self);
        snprintf(parts->sleds, sizeof parts->sleds, "%s/hosts/clang/cairn_sleds.o", self);
        parts->folder_count = FOLDERS;
        return true;
    }
    char above[PATH_MAX + 8], folder[PATH_MAX * 2];
    snprintf(above, sizeof above, "%s/..", self);
    char *prefix = realpath(above, NULL);
    snprintf(folder, sizeof folder, "%s/libexec/cairn", prefix ? prefix : "/usr");
    snprintf(parts->folders[0], sizeof parts->folders[0], "%s/lib", prefix ? prefix : "/usr");
    free(prefix);
    if (!is_there(folder, needed)) {
        snprintf(folder, sizeof folder, "%s", CAIRN_LIBEXEC_DIR);
        snprintf(parts->folders[0], sizeof parts->folders[0], "%s", CAIRN_LIB_DIR);
    }
    snprintf(parts->plugin, sizeof parts->plugin, "%s/cairn_gcc.so", folder);
    snprintf(parts->begin, sizeof parts->begin, "%s/cairn_begin.o", folder);
    snprintf(parts->sleds, sizeof parts->sleds, "%s/cairn_sleds.o", folder);
    parts->folder_count = 1;
    return is_there(folder, needed);
}

/* ---- options -------------------------------------------------------------------------- */

typedef enum kind { KIND_COUNT, KIND_COUNT_TIME, KIND_TIME, KIND_ALLOC } kind;

static struct {
    int kind;
    bool inlined, frames, standby, verify, calls, stack, branch, zero;
    bool lean;
    const char *before; /* --lean: the capture that chooses functions; NULL: an estimate does */
    long small;         /* 0: not given */
    crn_list arguments; /* KEY=VALUE, for the plugin */
} given;

/* Passes an option on to the plugin, which has one of the same name. */
static void pass(struct argp_state *state, const crn_option *option, char *value)
{
    char *text = NULL;
    (void)state;
    if (asprintf(&text, value ? "%s=%s" : "%s", option->name, value) >= 0)
        crn_list_add(&given.arguments, text);
}

static void set_lean(struct argp_state *state, const crn_option *option, char *value)
{
    (void)state;
    (void)option;
    given.lean = true;
    given.before = value;
}

/* --small: N is in instructions for clang, in statements for gcc's plugin. `further`: more
 * sentences for the manual page. `pass_on`: passes the option to gcc's plugin; NULL for clang. */
#define OPTION_SMALL(text, further, pass_on)                                                       \
    {                                                                                              \
        "small", .argument = "N", .help = (text), .more = (further), .number = &given.small,       \
                 .least = 1, .most = 1000000, .set = (pass_on)                                     \
    }
#define OPTIONS_OF_BOTH(inlined_text, inlined_further)                                             \
    {"profile",                                                                                    \
     .argument = "KIND",                                                                           \
     .words = CRN_WORDS("count", "count+time", "time", "alloc"),                                   \
     .help =                                                                                       \
         "count (default; exact calls by context, and whatever clock is chosen when it runs), "    \
         "alloc (what is allocated, too), time (nothing is inserted: samples of processor "        \
         "time)",                                                                                  \
     .more = "count+time differs from count with --inlined of cairn cc.",                          \
     .choice = &given.kind},                                                                       \
        {"stack", .help = "With --profile=time: record callers, too", .flag = &given.stack},       \
        {"zero", .help = "Record functions that never run, for cairn report --zero",               \
         .flag = &given.zero},                                                                     \
    {                                                                                              \
        "inlined", .help = (inlined_text), .more = (inlined_further), .flag = &given.inlined       \
    }

static const crn_option gcc_options[] = {
    OPTIONS_OF_BOTH(
        "Count inlined functions, too; with --profile=count+time also their time",
        "The counts equal those of gcc -O0. With count and alloc, the time of an inlined "
        "function is charged to the function that has its code. --profile=time refuses "
        "this option: it finds inlined functions anyway."),
    {"only", .argument = "REGEX",
     .help = "Only functions whose names match one of these; may be "
             "repeated",
     .more = "Names are those that reports show. Regular expressions are POSIX extended ones.",
     .set = pass},
    {"skip", .argument = "REGEX", .help = "Leave out functions whose names match; may be repeated",
     .set = pass},
    {"only-file", .argument = "REGEX", .help = "Only functions of files that match", .set = pass},
    {"skip-file", .argument = "REGEX", .help = "Leave out functions of files that match",
     .set = pass},
    OPTION_SMALL("Leave out functions that call nothing and have fewer than N statements; the "
                 "report has their number of calls",
                 "It is shown with the callers; such a call costs one counter. In tail position it "
                 "counts for the caller's caller.",
                 pass),
    {"clones", .help = "Make clones of a function blocks of their own",
     .more =
         "Clones for some callers, for vectors or for a processor then are blocks such as "
         "work.constprop.0, work.simdclone.bN4v and work.target_clone.avx2. cairn report --merge "
         "adds them up again. Not with --inlined, which inserts Enter before clones are made.",
     .set = pass},
    {"branch", .help = "Also count the branches taken",
     .more = "Each direction of a branch is a block. Best with -O0.", .flag = &given.branch},
    {"standby",
     .help = "Make a program to be shipped: it costs next to nothing until it is profiled",
     .more =
         "Without a profile a function executes four instructions more: two tests. A profiled run "
         "takes longer than without this option. With CAIRN_SWITCH=USR2 in the program's "
         "environment "
         "that signal, or cairn attach, switches recording on and off while it runs.",
     .flag = &given.standby},
    {"lean", .argument = "CAPTURE", .optional = true,
     .help = "Count the functions that are called most, but do not enter them: exact counts at a "
             "few per cent of cost",
     .more = "They are those with 99.9 % of the calls of an earlier run, CAPTURE; without one an "
             "estimate chooses them. Their callees appear below the context around them. "
             "CAIRN_LEAN=CAPTURE in the environment does the same.",
     .set = set_lean},
    {"verify", .help = "Check at run time that enter and leave match",
     .more = "If they do not, the capture's note \"verify\" says at least how often.",
     .flag = &given.verify},
    {"calls", .help = "Call functions instead of inlining them", .flag = &given.calls},
    {"frames", .flag = &given.frames}, /* for tests, like `broken` */
    {"broken", .argument = "WHAT", .set = pass},
    {0},
};

static const crn_option clang_options[] = {
    OPTIONS_OF_BOTH("Count inlined functions, too; there are no tail calls then", NULL),
    OPTION_SMALL("Leave out functions that have no loop and fewer than N instructions",
                 "Their calls are not counted.", NULL),
    {0},
};

static const crn_command *command; /* being run */

static bool is_ours(const char *word)
{
    return strncmp(word, "--", 2) == 0 && crn_command_option(command, word + 2) &&
           (strcmp(word, "--profile") != 0); /* gcc's own --profile means -p */
}

/* Refuses what the compiler would misread: with cairn clang, an option that only cairn cc has; and
 * an option whose argument is the next word, in place of --option=argument. */
static void refuse(const char *word, const char *next)
{
    const crn_option *option =
        strncmp(word, "--", 2) == 0 ? crn_command_option(&crn_command_cc, word + 2) : NULL;
    if (!option)
        return;
    if (!crn_command_option(command, word + 2))
        exit(crn_cli_fail("--%s needs the plugin for gcc: use cairn cc", option->name));
    bool ours = strcmp(option->name, "profile") != 0;
    for (int i = 0; !ours && next && option->words[i]; i++)
        ours = strcmp(next, option->words[i]) == 0;
    if (ours && option->argument && !option->optional && !strchr(word, '='))
        exit(crn_cli_fail("%s needs its argument in the same word: %s=%s", word, word,
                          next ? next : "..."));
}

/* Adds clang's flags: for XRay's sleds, which hosts/clang patches, or with --inlined for calls of
 * hooks. -g is for the debug information, which has the names and inlined functions. */
static void add_hooks(command_line *line, bool links)
{
    add(line, "-g");
    if (given.kind == KIND_TIME)
        return;
    if (given.inlined) {
        add(line, "-finstrument-functions");
        add(line, "-fno-omit-frame-pointer");
        return;
    }
    add(line, "-fxray-instrument");
    addf(line, "-fxray-instruction-threshold=%ld", given.small ? given.small : 1);
    if (links)
        add(line, "-fnoxray-link-deps");
}

/* Adds gcc's flags: the plugin and its options. `lean_list` is a descriptor of the functions that
 * --lean=CAPTURE counts. */
static void add_plugin(command_line *line, const parts *parts, int lean_list)
{
    if (given.kind == KIND_TIME) { /* samples need debug information for inlined functions */
        add(line, "-g");
        return;
    }
    addf(line, "-fplugin=%s", parts->plugin);
    if (given.inlined)
        add(line, "-fplugin-arg-cairn_gcc-inlined");
    if (given.frames || given.kind == KIND_COUNT_TIME) /* gives inlined functions times */
        add(line, "-fplugin-arg-cairn_gcc-frames");
    if (given.calls)
        add(line, "-fplugin-arg-cairn_gcc-calls");
    if (given.standby)
        add(line, "-fplugin-arg-cairn_gcc-standby");
    if (given.lean && given.before)
        addf(line, "-fplugin-arg-cairn_gcc-lean=/proc/self/fd/%d", lean_list);
    else if (given.lean)
        add(line, "-fplugin-arg-cairn_gcc-lean");
    if (given.kind == KIND_ALLOC)
        add(line, "-fplugin-arg-cairn_gcc-alloc");
    if (given.verify)
        add(line, "-fplugin-arg-cairn_gcc-verify");
    if (given.zero)
        addf(line, "-fplugin-arg-cairn_gcc-%s", given.branch ? "branch" : "zero");
    for (size_t i = 0; i < given.arguments.count; i++)
        addf(line, "-fplugin-arg-cairn_gcc-%s", given.arguments.list[i]);
}

/* Functions of libc that libcairn-gcc replaces when linked statically (hosts/gcc/interpose.h). */
static const char *const wrapped[] = {"pthread_create", "thrd_create", "sigaction", "signal",
                                      "bsd_signal",     "ssignal",     "sigset",    "sysv_signal",
                                      "__sysv_signal",  "_Fork",       "clone",     "syscall"};

/* Returns true if the dynamic linker must search folder number `i` for a program's libraries. The
 * linker searches the run path for the C library, too, and tries fifty names in each folder: 35
 * microseconds. In a build directory, hosts/gcc has a link to the runtime, so such a program
 * searches as many folders as that of an installed Cairn. */
static bool is_searched(const parts *parts, size_t i, bool is_clang)
{
    if (parts->folder_count == 1)
        return true;
    return i != FOLDER_RUNTIME && (i != FOLDER_ALLOC || given.kind == KIND_ALLOC) &&
           (i != FOLDER_CLANG || (is_clang && given.kind != KIND_TIME));
}

/* Adds Cairn's libraries behind all other words, and a run path to find them. */
static void add_libraries(command_line *line, const parts *parts, const crn_cc_job *job,
                          bool is_clang)
{
    for (size_t i = 0; i < parts->folder_count; i++)
        addf(line, "-L%s", parts->folders[i]);
    if ((given.zero || is_clang) && given.kind != KIND_TIME) {
        add(line, "-xnone"); /* ends an -x: the next word is an object */
        add(line, is_clang ? parts->sleds : parts->begin);
        if (is_clang && given.zero)
            add(line, "-Wl,--defsym=cairn_priv_sleds_zero=1");
    }
    /* Linked even if no object refers to them: libraries loaded later may. */
    add(line, "-Wl,--push-state,--no-as-needed");
    if (given.kind == KIND_ALLOC && !job->is_static)
        add(line, "-lcairn-alloc");
    if (is_clang && given.kind != KIND_TIME)
        add(line, "-lcairn-clang");
    add(line, given.kind == KIND_TIME ? "-lcairn-time" : "-lcairn-gcc");
    add(line, "-lcairn");
    add(line, "-Wl,--pop-state");
    if (job->is_static) {
        add(line, "-lpthread");
        if (job->is_bare) { /* no default libraries follow, but Cairn's need these two */
            add(line, "-lc");
            add(line, "-lgcc");
        }
        for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; i++)
            addf(line, "-Wl,--wrap=%s", wrapped[i]);
        /* Makes the linker take Cairn's function first: libgcc has one of that name, for split
         * stacks. */
        add(line, "-Wl,--undefined=__wrap_pthread_create");
        return;
    }
    if (given.kind == KIND_TIME && given.stack && !job->is_shared) {
        add(line, "-Wl,--defsym=cairn_priv_time_stack=1");
        add(line, "-Wl,--export-dynamic-symbol=cairn_priv_time_stack");
    }
    for (size_t i = 0; i < parts->folder_count; i++)
        if (is_searched(parts, i, is_clang))
            addf(line, "-Wl,-rpath,%s", parts->folders[i]);
}

static bool is_clang(const char *path)
{
    return strstr(crn_path_name(path), "clang") != NULL;
}

static int run(const compiler *compiler, command_line *line)
{
    const char *chosen = getenv(compiler->variable);
    bool is_chosen = chosen && *chosen;
    if (is_chosen && is_clang(chosen) != compiler->is_clang)
        return crn_cli_fail("%s names %s, which is for cairn %s", compiler->variable, chosen,
                            compiler->is_clang ? "cc" : "clang");
    line->words[0] = (char *)(uintptr_t)(is_chosen ? chosen : compiler->first);
    execvp(line->words[0], line->words);
    if (errno == ENOENT && !is_chosen) {
        line->words[0] = (char *)(uintptr_t)compiler->plain;
        execvp(line->words[0], line->words);
    }
    return crn_cli_fail("%s cannot be run: %s", line->words[0], strerror(errno));
}

static int compile(int argc, char **argv, const compiler *compiler)
{
    static parts parts;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        crn_command_help(command, argv[0]);
        return CRN_EXIT_OK;
    }
    command_line line = {NULL, 0, 0}, theirs = {NULL, 0, 0};
    add(&line, compiler->plain);
    add(&theirs, compiler->plain);
    char **words = crn_cc_words(argc, argv, is_ours);
    for (int i = 1; words[i]; i++) {
        refuse(words[i], words[i + 1]);
        if (!crn_command_take(command, words[i]))
            add(&theirs, words[i]);
    }
    given.zero |= given.branch;
    const char *before = compiler->is_clang ? NULL : getenv("CAIRN_LEAN");
    if (!given.lean && before && *before)
        set_lean(NULL, NULL, (char *)(uintptr_t)before);
    if (given.lean && (given.inlined || given.standby || given.small || given.calls ||
                       given.verify || given.branch))
        return crn_cli_fail(
            "--lean cannot be combined with --inlined, --standby, --small, --calls, "
            "--verify or --branch: leave these out, or --lean and CAIRN_LEAN");
    if (compiler->is_clang && given.inlined && (given.zero || given.small))
        return crn_cli_fail("--inlined cannot be combined with --zero or --small: only functions "
                            "that run are known");
    if (!compiler->is_clang && given.inlined && given.kind == KIND_TIME)
        return crn_cli_fail("--inlined needs a profile that counts: --profile=time finds inlined "
                            "functions without it");
    crn_cc_job job = crn_cc_read(theirs.words + 1);
    if (given.kind == KIND_TIME && job.links && job.is_static)
        return crn_cli_fail("--profile=time needs a dynamically linked program: remove -static");
    if (job.compiles && job.fixed && !compiler->is_clang && given.kind != KIND_TIME)
        return crn_cli_fail(
            "%s: Enter and Leave need that register; compile files that need this option with gcc",
            job.fixed);
    int lean_list = -1;
    if (!compiler->is_clang && given.kind != KIND_TIME && (job.compiles || job.links)) {
        if (given.before && (lean_list = crn_cc_lean_list(given.before)) < 0)
            return CRN_EXIT_BAD;
    }
    if (job.compiles || job.links) {
        if (!find(&parts, compiler))
            return crn_cli_fail("%s is neither beside the tool nor in %s: install it, or build "
                                "with -Dgcc=enabled",
                                needed_by(compiler), CAIRN_LIBEXEC_DIR);
        if (compiler->is_clang)
            add_hooks(&line, job.links);
        else
            add_plugin(&line, &parts, lean_list);
    }
    for (size_t i = 1; i < theirs.count; i++)
        add(&line, theirs.words[i]);
    if (job.links)
        add_libraries(&line, &parts, &job, compiler->is_clang);
    return run(compiler, &line);
}

#define FOR_GCC "CC=\"cairn cc\" CXX=\"cairn c++\""
#define FOR_CLANG "CC=\"cairn clang\" CXX=\"cairn clang++\""
#define DOC(plain, variables, more_help)                                                           \
    "Compile and link as " plain " does, so that the program profiles itself when cairn run "      \
    "starts it, or with CAIRN_OUT=FILE in its environment. All options but these are " plain       \
    "'s.\v"                                                                                        \
    "  " variables " ./configure && make\n\n"                                                      \
    "docs/COMPILE.md says what is inserted; " plain " " more_help " says what " plain " takes."

static int run_cc(int argc, char **argv)
{
    command = &crn_command_cc;
    return compile(argc, argv, &(compiler){"gcc-12", "gcc", "CAIRN_GCC", false});
}

const crn_command crn_command_cc = {
    .name = "cc",
    .purpose = "compile C like gcc, with profiling",
    .arguments = "gcc-ARGUMENT...",
    .doc = DOC("gcc", FOR_GCC, "--help=common"),
    .options = gcc_options,
    .run_raw = run_cc,
};

static int run_cxx(int argc, char **argv)
{
    command = &crn_command_cxx;
    return compile(argc, argv, &(compiler){"g++-12", "g++", "CAIRN_GCC", false});
}

const crn_command crn_command_cxx = {
    .name = "c++",
    .purpose = "compile C++ like g++, with profiling",
    .arguments = "g++-ARGUMENT...",
    .doc = DOC("g++", FOR_GCC, "--help=common"),
    .options = gcc_options,
    .run_raw = run_cxx,
};

static int run_clang(int argc, char **argv)
{
    command = &crn_command_clang;
    return compile(argc, argv, &(compiler){"clang-14", "clang", "CAIRN_CLANG", true});
}

const crn_command crn_command_clang = {
    .name = "clang",
    .purpose = "compile C like clang, with profiling",
    .arguments = "clang-ARGUMENT...",
    .doc = DOC("clang", FOR_CLANG, "--help"),
    .options = clang_options,
    .run_raw = run_clang,
};

static int run_clangxx(int argc, char **argv)
{
    command = &crn_command_clangxx;
    return compile(argc, argv, &(compiler){"clang++-14", "clang++", "CAIRN_CLANG", true});
}

const crn_command crn_command_clangxx = {
    .name = "clang++",
    .purpose = "compile C++ like clang++, with profiling",
    .arguments = "clang++-ARGUMENT...",
    .doc = DOC("clang++", FOR_CLANG, "--help"),
    .options = clang_options,
    .run_raw = run_clangxx,
};
