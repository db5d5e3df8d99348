/* SPDX-License-Identifier: MIT
 *
 * Parses gcc's command line, as far as needed to know whether it compiles and links.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "cc.h"

enum { FILES_DEEPEST = 16 }; /* limit on nested argument files */

typedef struct reading {
    crn_cc_job job;
    bool inputs;     /* there are input files */
    bool stops;      /* stops before linking */
    bool only_reads; /* only preprocesses, or lists dependencies */
    bool bare, shared;
    bool libc;          /* -lc is given */
    bool argument;      /* the next word is the argument of the option just read */
    bool language;      /* that option is -x */
    bool headers;       /* -x says that inputs are headers */
    bool other_machine; /* -m32 or the like: not the plugin's target */
    bool freestanding;  /* without libc or thread-local variables, or with transactional memory */
} reading;

/* Returns true for an option whose argument may be the next word. */
static bool takes_next(const char *word)
{
    static const char *const options[] = {
        "-o",
        "-x",
        "-I",
        "-D",
        "-U",
        "-L",
        "-T",
        "-u",
        "-z",
        "-A",
        "-B",
        "-h",
        "-e",
        "-G",
        "-R",
        "-Xlinker",
        "-Xassembler",
        "-Xpreprocessor",
        "-isystem",
        "-idirafter",
        "-include",
        "-imacros",
        "-iprefix",
        "-iwithprefix",
        "-iwithprefixbefore",
        "-iquote",
        "-isysroot",
        "-imultilib",
        "-iplugindir",
        "-MF",
        "-MT",
        "-MQ",
        "-aux-info",
        "-wrapper",
        "-specs",
        "-dumpbase",
        "-dumpdir",
        "-dumpbase-ext",
        "--param",
        "--sysroot",
        "--output",
        "--include",
        "--imacros",
        "-Tbss",
        "-Tdata",
        "-Ttext",
        "-l",
        "--library-directory",
        "--language",
        "--define-macro",
        "--undefine-macro",
        "--include-directory",
        "--entry",
        "--for-linker",
        "--for-assembler",
        "-target",
        "-Xclang",
        "-mllvm",
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i], word) == 0)
            return true;
    return false;
}

static bool is_one_of(const char *word, const char *const *options)
{
    for (; *options; options++)
        if (strcmp(*options, word) == 0)
            return true;
    return false;
}

/* Parses the argument of -x. */
static void read_language(reading *reading, const char *name)
{
    reading->language = false;
    reading->headers = crn_path_ends(name, "-header");
}

/* Notes an input file. A header is precompiled: nothing is linked. */
static void read_input(reading *reading, const char *path)
{
    static const char *const headers[] = {".h", ".hh", ".H", ".hp", ".hxx", ".hpp", ".HPP", ".h++"};
    static const char *const libcs[] = {"/libc.so", "/libc.so.6", "/libc.a"};
    reading->inputs = true;
    reading->stops |= reading->headers;
    for (size_t i = 0; i < sizeof libcs / sizeof *libcs; i++)
        reading->libc |= crn_path_ends(path, libcs[i]);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        reading->stops |= crn_path_ends(path, headers[i]);
}

/* Returns true for -ffixed-rcx and others that reserve a register that enter and leave need. */
static bool takes_needed_register(const char *word)
{
    static const char option[] = "-ffixed-";
    static const char *const registers[] = {"ax", "cx", "dx", "8", "9", "10", "11", NULL};
    if (strncmp(word, option, sizeof option - 1) != 0)
        return false;
    word += sizeof option - 1;
    return is_one_of(*word == 'r' || *word == 'e' ? word + 1 : word, registers);
}

static void read_option(reading *reading, const char *word)
{
    static const char *const stop[] = {"-c",
                                       "-S",
                                       "-E",
                                       "-M",
                                       "-MM",
                                       "-fsyntax-only",
                                       "--compile",
                                       "--assemble",
                                       "--preprocess",
                                       "--dependencies",
                                       "--user-dependencies",
                                       "-r",
                                       "--relocatable",
                                       NULL};
    static const char *const read_only[] = {
        "-E", "-M", "-MM", "--preprocess", "--dependencies", "--user-dependencies", NULL};
    static const char *const statics[] = {"-static", "--static", "-static-pie", NULL};
    static const char *const bare[] = {"-nostdlib", "-nodefaultlibs", "-nolibc",
                                       "--no-standard-libraries", NULL};
    static const char *const shared[] = {"-shared", "--shared", NULL};
    static const char *const others[] = {"-m32", "-m16", "-mx32", NULL};
    static const char *const freestanding[] = {"-ffreestanding", "-mcmodel=kernel", "-fgnu-tm",
                                               NULL};
    reading->other_machine |= is_one_of(word, others);
    reading->freestanding |= is_one_of(word, freestanding);
    reading->stops |= is_one_of(word, stop);
    reading->only_reads |= is_one_of(word, read_only);
    reading->job.is_static |= is_one_of(word, statics);
    reading->bare |= is_one_of(word, bare);
    reading->shared |= is_one_of(word, shared);
    reading->argument = takes_next(word);
    reading->language = strcmp(word, "-x") == 0 || strcmp(word, "--language") == 0;
    if (strncmp(word, "-x", 2) == 0 && word[2])
        read_language(reading, word + 2);
    reading->inputs |= strncmp(word, "-l", 2) == 0;
    reading->libc |= strcmp(word, "-lc") == 0;
    if (takes_needed_register(word))
        reading->job.fixed = crn_strdup(word); /* the word may belong to a file that is freed */
}

static void read_file(reading *reading, const char *path, int depth);

static void read_word(reading *reading, const char *word, int depth)
{
    if (reading->language)
        read_language(reading, word);
    if (reading->argument)
        reading->argument = false;
    else if (word[0] == '@' && word[1])
        read_file(reading, word + 1, depth);
    else if (word[0] == '-' && word[1])
        read_option(reading, word);
    else
        read_input(reading, word);
}

/* Returns the next word, with quotes and backslashes removed as gcc does; NULL at the end. */
static char *next_word(const char **place, char *word)
{
    const char *text = *place;
    char quote = 0, *end = word;
    while (isspace((unsigned char)*text))
        text++;
    if (!*text)
        return NULL;
    for (; *text && (quote || !isspace((unsigned char)*text)); text++) {
        if (*text == '\\' && text[1])
            *end++ = *++text;
        else if (quote ? *text == quote : *text == '\'' || *text == '"')
            quote = quote ? 0 : *text;
        else
            *end++ = *text;
    }
    *end = '\0';
    *place = text;
    return word;
}

static char *whole(const char *path)
{
    size_t used = 0, size = 4096;
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    char *text = crn_calloc(size, 1);
    for (size_t got; (got = fread(text + used, 1, size - used - 1, file)) > 0;) {
        used += got;
        if (used + 1 == size)
            text = crn_realloc(text, size *= 2, 1);
    }
    text[used] = '\0';
    fclose(file);
    return text;
}

/* Parses an argument file. If it does not exist, @file is an input, as with gcc. */
static void read_file(reading *reading, const char *path, int depth)
{
    char *text = depth < FILES_DEEPEST ? whole(path) : NULL;
    if (!text) {
        reading->inputs = true;
        return;
    }
    char *word = crn_calloc(strlen(text) + 1, 1);
    const char *place = text;
    while (next_word(&place, word))
        read_word(reading, word, depth + 1);
    crn_free(word);
    crn_free(text);
}

/* ---- options of Cairn in argument files ----------------------------------------------- */

typedef struct words {
    char **words;
    size_t count;
} words;

static void add_word(words *all, const char *word)
{
    all->words = crn_realloc(all->words, all->count + 2, sizeof *all->words);
    all->words[all->count++] = crn_strdup(word);
    all->words[all->count] = NULL;
}

/* Adds the words of a file and of the argument files in it. Returns false if the file cannot be
 * read, or is nested too deeply. */
static bool add_file(words *all, const char *path, int depth)
{
    char *text = depth < FILES_DEEPEST ? whole(path) : NULL;
    if (!text)
        return false;
    char *word = crn_calloc(strlen(text) + 1, 1);
    const char *place = text;
    while (next_word(&place, word))
        if (word[0] != '@' || !add_file(all, word + 1, depth + 1))
            add_word(all, word);
    crn_free(word);
    crn_free(text);
    return true;
}

char **crn_cc_words(int argc, char **argv, bool (*is_ours)(const char *word))
{
    words all = {NULL, 0};
    for (int i = 0; i < argc; i++) {
        words of_file = {NULL, 0};
        bool ours = false;
        if (argv[i][0] == '@' && add_file(&of_file, argv[i] + 1, 0))
            for (size_t k = 0; k < of_file.count; k++)
                ours |= is_ours(of_file.words[k]);
        if (!ours)
            add_word(&all, argv[i]);
        for (size_t k = 0; ours && k < of_file.count; k++)
            add_word(&all, of_file.words[k]);
    }
    return all.words;
}

crn_cc_job crn_cc_read(char *const *words)
{
    reading reading = {.inputs = false};
    for (; *words; words++)
        read_word(&reading, *words, 0);
    reading.job.is_shared = reading.shared;
    reading.job.is_bare = reading.bare;
    bool links = reading.inputs && !reading.stops;
    bool alone = reading.bare && !reading.shared && !reading.libc;
    reading.job.compiles = reading.inputs && !reading.only_reads && !reading.other_machine &&
                           !reading.freestanding && !(links && alone);
    reading.job.links = links && !alone && !reading.other_machine;
    return reading.job;
}
