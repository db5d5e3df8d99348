/* SPDX-License-Identifier: MIT
 *
 * cairn cc, cairn c++: run gcc and g++ with the plugin that inserts enter and leave, and add what
 * it needs when linking. Everything else is passed on. cairn clang, cairn clang++: the same with
 * clang's own hooks in place of the plugin.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
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
    const char *first;    /* compiler: this one first, */
    const char *plain;    /* then this one, */
    const char *variable; /* or the one named by this variable */
    bool is_clang;
} compiler;

/* ---- files of ours -------------------------------------------------------------------- */

typedef struct parts {
    char begin[PATH_MAX * 3]; /* hosts/gcc/begin.c */
    char plugin[PATH_MAX * 3];
    char sleds[PATH_MAX * 3];      /* hosts/clang/begin.c */
    char folders[4][PATH_MAX * 2]; /* folders of libcairn-gcc, libcairn, libcairn-alloc,
                                      libcairn-clang */
    size_t folder_count;
} parts;

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_MAX * 3];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, R_OK) == 0;
}

/* Finds our files: beside the tool in a build directory; installed, below the same prefix or the
 * configured one. */
static bool find(parts *parts)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    if (is_there(self, "hosts/gcc/cairn_gcc.so")) {
        snprintf(parts->plugin, sizeof parts->plugin, "%s/hosts/gcc/cairn_gcc.so", self);
        snprintf(parts->begin, sizeof parts->begin, "%s/hosts/gcc/cairn_begin.o", self);
        snprintf(parts->folders[0], sizeof parts->folders[0], "%s/hosts/gcc", self);
        snprintf(parts->folders[1], sizeof parts->folders[1], "%s/src", self);
        snprintf(parts->folders[2], sizeof parts->folders[2], "%s/hosts/alloc", self);
        snprintf(parts->folders[3], sizeof parts->folders[3], "%s/hosts/clang", self);
        snprintf(parts->sleds, sizeof parts->sleds, "%s/hosts/clang/cairn_sleds.o", self);
        parts->folder_count = 4;
        return true;
    }
    char above[PATH_MAX + 8], folder[PATH_MAX * 2];
    snprintf(above, sizeof above, "%s/..", self);
    char *prefix = realpath(above, NULL);
    snprintf(folder, sizeof folder, "%s/libexec/cairn", prefix ? prefix : "/usr");
    snprintf(parts->folders[0], sizeof parts->folders[0], "%s/lib", prefix ? prefix : "/usr");
    free(prefix);
    if (!is_there(folder, "cairn_gcc.so")) {
        snprintf(folder, sizeof folder, "%s", CAIRN_LIBEXEC_DIR);
        snprintf(parts->folders[0], sizeof parts->folders[0], "%s", CAIRN_LIB_DIR);
    }
    snprintf(parts->plugin, sizeof parts->plugin, "%s/cairn_gcc.so", folder);
    snprintf(parts->begin, sizeof parts->begin, "%s/cairn_begin.o", folder);
    snprintf(parts->sleds, sizeof parts->sleds, "%s/cairn_sleds.o", folder);
    parts->folder_count = 1;
    return access(parts->plugin, R_OK) == 0;
}

/* ---- options -------------------------------------------------------------------------- */

typedef enum kind { KIND_COUNT, KIND_TIME, KIND_ALLOC } kind;

typedef struct wish {
    kind kind;
    bool inlined, frames, verify, calls, stack, branch, zero;
    const char *small;
    const char *arguments[64]; /* of the plugin: KEY=VALUE */
    size_t argument_count;
} wish;

static bool begins(const char *word, const char *beginning, const char **rest)
{
    size_t length = strlen(beginning);
    *rest = word + length;
    return strncmp(word, beginning, length) == 0;
}

static kind kind_named(const char *name)
{
    static const struct {
        const char *name;
        kind kind;
    } kinds[] = {{"count", KIND_COUNT},
                 {"count+time", KIND_COUNT}, /* the clocks are chosen at run time */
                 {"time", KIND_TIME},
                 {"alloc", KIND_ALLOC}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    exit(crn_cli_fail("--profile is count, time, count+time or alloc, not \"%s\"", name));
}

/* Options that the plugin knows by the same names. */
static bool is_argument(const char *word)
{
    static const char *const options[] = {
        "--only=", "--skip=", "--only-file=", "--skip-file=", "--small=", "--broken="};
    const char *rest;
    for (size_t i = 0; i < WORDS(options); i++)
        if (begins(word, options[i], &rest))
            return true;
    return strcmp(word, "--clones") == 0;
}

/* gcc would take the next word for a file to link. */
static void refuse_space(const char *word, const char *next)
{
    static const char *const options[] = {"--only",      "--skip",  "--only-file",
                                          "--skip-file", "--small", "--broken"};
    static const char *const kinds[] = {"count", "count+time", "time", "alloc"};
    for (size_t i = 0; i < WORDS(options); i++)
        if (strcmp(word, options[i]) == 0)
            exit(crn_cli_fail("%s wants its argument in the same word: %s=%s", word, word,
                              next ? next : "..."));
    for (size_t i = 0; i < WORDS(kinds); i++) /* gcc's own --profile means -p */
        if (next && strcmp(word, "--profile") == 0 && strcmp(next, kinds[i]) == 0)
            exit(crn_cli_fail("--profile wants the kind in the same word: --profile=%s", next));
}

static void check_small(const char *text)
{
    enum { MOST = 1000000 };
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < 1 || number > MOST)
        exit(crn_cli_fail("--small wants a number from 1 to %d, not \"%s\"", MOST, text));
}

/* Parses one of our options; returns false if it is gcc's. */
static bool take(wish *wish, const char *word)
{
    const char *rest;
    if (begins(word, "--small=", &rest))
        check_small(rest);
    if (begins(word, "--profile=", &rest)) {
        wish->kind = kind_named(rest);
        wish->frames = strcmp(rest, "count+time") == 0; /* inlined functions need frames to have
                                                           times of their own */
    } else if (strcmp(word, "--inlined") == 0)
        wish->inlined = true;
    else if (strcmp(word, "--frames") == 0) /* for tests, like --broken */
        wish->frames = true;
    else if (strcmp(word, "--verify") == 0)
        wish->verify = true;
    else if (strcmp(word, "--branch") == 0)
        wish->branch = wish->zero = true;
    else if (strcmp(word, "--zero") == 0)
        wish->zero = true;
    else if (strcmp(word, "--stack") == 0)
        wish->stack = true;
    else if (strcmp(word, "--calls") == 0)
        wish->calls = true;
    else if (is_argument(word) && wish->argument_count < WORDS(wish->arguments))
        wish->arguments[wish->argument_count++] = word + 2;
    else
        return false;
    return true;
}

static bool is_ours(const char *word)
{
    wish any = {.kind = KIND_COUNT};
    return take(&any, word);
}

/* clang supports few of the plugin's options; the others are refused, as clang would misread
 * them. */
static bool take_for_clang(wish *wish, const char *word)
{
    const char *rest;
    if (begins(word, "--small=", &rest)) {
        check_small(rest);
        wish->small = rest;
    } else if (is_argument(word) || strcmp(word, "--branch") == 0 ||
               strcmp(word, "--verify") == 0 || strcmp(word, "--frames") == 0 ||
               strcmp(word, "--calls") == 0)
        exit(crn_cli_fail("%s is for cairn cc: it needs the plugin for gcc", word));
    else
        return take(wish, word);
    return true;
}

/* Adds the flags for sleds, which hosts/clang patches, or for hook calls. Names and inlined
 * functions are in the debug information. */
static void add_hooks(command_line *line, const wish *wish, bool links)
{
    add(line, "-g");
    if (wish->kind == KIND_TIME)
        return;
    if (wish->inlined) {
        add(line, "-finstrument-functions");
        add(line, "-fno-omit-frame-pointer");
        return;
    }
    add(line, "-fxray-instrument");
    addf(line, "-fxray-instruction-threshold=%s", wish->small ? wish->small : "1");
    if (links)
        add(line, "-fnoxray-link-deps");
}

static void add_plugin(command_line *line, const parts *parts, const wish *wish)
{
    if (wish->kind == KIND_TIME) { /* needs debug information about inlining */
        add(line, "-g");
        return;
    }
    addf(line, "-fplugin=%s", parts->plugin);
    if (wish->inlined)
        add(line, "-fplugin-arg-cairn_gcc-inlined");
    if (wish->frames)
        add(line, "-fplugin-arg-cairn_gcc-frames");
    if (wish->calls)
        add(line, "-fplugin-arg-cairn_gcc-calls");
    if (wish->kind == KIND_ALLOC)
        add(line, "-fplugin-arg-cairn_gcc-alloc");
    if (wish->verify)
        add(line, "-fplugin-arg-cairn_gcc-verify");
    if (wish->zero)
        addf(line, "-fplugin-arg-cairn_gcc-%s", wish->branch ? "branch" : "zero");
    for (size_t i = 0; i < wish->argument_count; i++)
        addf(line, "-fplugin-arg-cairn_gcc-%s", wish->arguments[i]);
}

/* Adds our libraries behind everything else, with a run path to find them. */
static void add_libraries(command_line *line, const parts *parts, const wish *wish,
                          const crn_cc_job *job, bool is_clang)
{
    for (size_t i = 0; i < parts->folder_count; i++)
        addf(line, "-L%s", parts->folders[i]);
    /* Even if nothing that is linked refers to them: libraries loaded later may. */
    if ((wish->zero || is_clang) && wish->kind != KIND_TIME) {
        add(line, "-xnone"); /* it is an object, whatever -x came before */
        add(line, is_clang ? parts->sleds : parts->begin);
        if (is_clang && wish->zero)
            add(line, "-Wl,--defsym=cairn_priv_sleds_zero=1");
    }
    add(line, "-Wl,--push-state,--no-as-needed");
    if (wish->kind == KIND_ALLOC && !job->is_static)
        add(line, "-lcairn-alloc");
    if (is_clang && wish->kind != KIND_TIME)
        add(line, "-lcairn-clang");
    add(line, wish->kind == KIND_TIME ? "-lcairn-time" : "-lcairn-gcc");
    add(line, "-lcairn");
    add(line, "-Wl,--pop-state");
    if (job->is_static) {
        add(line, "-lpthread");
        if (job->is_bare) { /* without the default libraries, ours must be listed again */
            add(line, "-lc");
            add(line, "-lgcc");
        }
        add(line, "-Wl,--wrap=pthread_create"); /* hosts/gcc/threads.c */
        /* libgcc has a function of that name, for split stacks, which would be found behind
         * ours. */
        add(line, "-Wl,--undefined=__wrap_pthread_create");
        add(line, "-Wl,--wrap=thrd_create");
        return;
    }
    if (wish->kind == KIND_TIME && wish->stack && !job->is_shared) {
        add(line, "-Wl,--defsym=cairn_priv_time_stack=1");
        add(line, "-Wl,--export-dynamic-symbol=cairn_priv_time_stack");
    }
    for (size_t i = 0; i < parts->folder_count; i++)
        addf(line, "-Wl,-rpath,%s", parts->folders[i]);
}

static int help(const char *name, const compiler *compiler)
{
    const char *plain = compiler->plain;
    printf(
        "Usage: %s [OPTION...] %s-ARGUMENT...\n"
        "Compile and link as %s does, so that the program profiles itself when cairn run starts\n"
        "it, or with CAIRN_OUT=FILE in its environment. These options are Cairn's, all others\n"
        "are %s's:\n\n"
        "  --profile=KIND        count (default; exact calls by context, and whatever clock is\n"
        "                        chosen when it runs), alloc (what is allocated, too), time\n"
        "                        (nothing is inserted: samples of processor time)\n"
        "  --stack               With --profile=time: by callers, too\n"
        "  --zero                What never runs is in the capture: cairn report --zero\n",
        name, plain, plain, plain);
    if (compiler->is_clang)
        fputs("  --small=N             Leave out functions that have no loop and fewer than N\n"
              "                        instructions\n"
              "  --inlined             Functions count where they are inlined, too; there are no\n"
              "                        tail calls then\n",
              stdout);
    else
        fputs(
            "  --only=REGEX, --skip=REGEX            Functions by name; may be repeated\n"
            "  --only-file=REGEX, --skip-file=REGEX  Functions by file\n"
            "  --small=N             Leave out functions that call nothing and have fewer than N\n"
            "                        statements; the report says how often they were called\n"
            "  --inlined             Every function of the source counts, wherever it is inlined;\n"
            "                        with --profile=count+time each has its time, too\n"
            "  --clones              Clones that gcc makes of a function are not one block with "
            "it\n"
            "  --branch              And ways of branches, with how often they were taken\n"
            "  --verify              Check when it runs that frames are left as they were entered\n"
            "  --calls               Call functions in place of inlining\n",
            stdout);
    printf("\n  CC=\"cairn %s\" CXX=\"cairn %s\" ./configure && make\n\n"
           "docs/COMPILE.md says what is inserted; %s --help%s what %s takes.\n",
           compiler->is_clang ? "clang" : "cc", compiler->is_clang ? "clang++" : "c++", plain,
           compiler->is_clang ? "" : "=common", plain);
    return crn_cli_finish(CRN_EXIT_OK);
}

static bool is_clang(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strstr(slash ? slash : path, "clang") != NULL;
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
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return help(argv[0], compiler);
    command_line line = {NULL, 0, 0}, theirs = {NULL, 0, 0};
    wish wish = {.kind = KIND_COUNT};
    add(&line, compiler->plain);
    add(&theirs, compiler->plain);
    char **words = crn_cc_words(argc, argv, is_ours);
    for (int i = 1; words[i]; i++) {
        refuse_space(words[i], words[i + 1]);
        if (!(compiler->is_clang ? take_for_clang : take)(&wish, words[i]))
            add(&theirs, words[i]);
    }
    if (compiler->is_clang && wish.inlined && (wish.zero || wish.small))
        return crn_cli_fail("--inlined cannot be had with --zero or --small: of such functions "
                            "only those that run are known");
    if (!compiler->is_clang && wish.inlined && wish.kind == KIND_TIME)
        return crn_cli_fail("--inlined is for kinds that count: --profile=time knows without it "
                            "what was inlined");
    crn_cc_job job = crn_cc_read(theirs.words + 1);
    if (wish.kind == KIND_TIME && job.links && job.is_static)
        return crn_cli_fail("--profile=time needs a program that is linked dynamically: leave "
                            "-static out");
    if (job.compiles && job.fixed && !compiler->is_clang && wish.kind != KIND_TIME)
        return crn_cli_fail("%s: Enter and Leave need that register; compile what has it with gcc",
                            job.fixed);
    if (job.compiles || job.links) {
        if (!find(&parts))
            return crn_cli_fail("the plugin for gcc, cairn_gcc.so, is not beside the tool nor in "
                                "%s: install it, or build with -Dgcc=enabled",
                                CAIRN_LIBEXEC_DIR);
        if (compiler->is_clang)
            add_hooks(&line, &wish, job.links);
        else
            add_plugin(&line, &parts, &wish);
    }
    for (size_t i = 1; i < theirs.count; i++)
        add(&line, theirs.words[i]);
    if (job.links)
        add_libraries(&line, &parts, &wish, &job, compiler->is_clang);
    return run(compiler, &line);
}

int crn_cmd_cc(int argc, char **argv)
{
    return compile(argc, argv, &(compiler){"gcc-12", "gcc", "CAIRN_GCC", false});
}

int crn_cmd_cxx(int argc, char **argv)
{
    return compile(argc, argv, &(compiler){"g++-12", "g++", "CAIRN_GCC", false});
}

int crn_cmd_clang(int argc, char **argv)
{
    return compile(argc, argv, &(compiler){"clang-14", "clang", "CAIRN_CLANG", true});
}

int crn_cmd_clangxx(int argc, char **argv)
{
    return compile(argc, argv, &(compiler){"clang++-14", "clang++", "CAIRN_CLANG", true});
}
