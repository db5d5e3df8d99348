/* SPDX-License-Identifier: MIT */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/cpp_name.h"

typedef struct output {
    char *text;
    size_t length;
    jmp_buf full;
} output;

/* Called by the demangler for each piece of the name: appends it to the output. At the limit it
 * leaves the demangler by longjmp, because a symbol of some hundred bytes can stand for gigabytes:
 * it may refer to its own parts again and again. The jump leaks at most the buffer of one Punycode
 * identifier of Rust: everything else that the demangler allocates is on the stack. */
static void append(const char *text, size_t length, void *data)
{
    output *output = data;
    if (length >= CRN_SYMBOL_NAME_MAX - output->length)
        longjmp(output->full, 1);
    memcpy(output->text + output->length, text, length);
    output->length += length;
    output->text[output->length] = '\0';
}

typedef int demangler(const char *symbol, int options, demangle_callbackref callback, void *data);

static bool demangle(demangler *demangler, const char *symbol, char *name)
{
    output output = {.text = name};
    *name = '\0';
    if (setjmp(output.full) != 0)
        return false;
    if (!demangler(symbol, DMGL_NO_OPTS, append, &output) || !*name)
        return false;
    crn_cpp_name_shorten(name);
    return true;
}

/* Returns the length of the symbol without suffixes that compilers append. */
static size_t stem_length(const char *symbol)
{
    static const char *const suffixes[] = {".cold",      ".part.",      ".isra.", ".constprop.",
                                           ".lto_priv.", ".localalias", ".llvm."};
    for (const char *dot = strchr(symbol, '.'); dot; dot = strchr(dot + 1, '.'))
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && dot > symbol; i++)
            if (strncmp(dot, suffixes[i], strlen(suffixes[i])) == 0)
                return (size_t)(dot - symbol);
    return strlen(symbol);
}

bool crn_is_mangled(const char *symbol)
{
    return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

/* Returns the symbol behind the prefix of vector variants, "_ZGVbN4v_". Other symbols with _ZGV
 * have no lower-case letter next. */
static const char *behind_vector(const char *symbol)
{
    static const char beginning[] = "_ZGV";
    const char *kind = symbol + sizeof beginning - 1;
    if (strncmp(symbol, beginning, sizeof beginning - 1) != 0 || *kind < 'a' || *kind > 'z')
        return symbol;
    const char *end = strchr(kind, '_');
    return end && end[1] ? end + 1 : symbol;
}

void crn_demangle(const char *symbol, char *name)
{
    symbol = behind_vector(symbol);
    char stem[CRN_SYMBOL_NAME_MAX];
    size_t length = stem_length(symbol);
    if (length >= sizeof stem)
        length = sizeof stem - 1;
    memcpy(stem, symbol, length);
    stem[length] = '\0';
    if (crn_is_mangled(stem) && stem[1] == 'Z' && demangle(cplus_demangle_v3_callback, stem, name))
        return;
    if (crn_is_mangled(stem) && stem[1] == 'R' && demangle(rust_demangle_callback, stem, name))
        return;
    memcpy(name, stem, length + 1);
}
