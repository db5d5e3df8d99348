/* SPDX-License-Identifier: MIT
 *
 * Names of functions: demangled, and without GCC's suffixes of clones unless --clones is given.
 */
#include "plugin.h"

#include <libiberty/demangle.h>

#include "base/cpp_name.h"

/* Demangles without parameters and shortened, as symbols/demangle.h, and without clone suffixes. A
 * thunk into which its function was inlined gets that function's name, without "non-virtual thunk
 * to". Returns NULL if the symbol cannot be demangled. Free it. */
static char *demangle(const char *symbol)
{
    static const char thunk[] = "thunk to ";
    char *name = cplus_demangle_v3(symbol, DMGL_ANSI | DMGL_RET_DROP);
    bool is_thunk = strncmp(symbol, "_ZT", 3) == 0 && strchr("hvc", symbol[3]);
    char *behind = name && is_thunk ? strstr(name, thunk) : NULL;
    if (behind)
        memmove(name, behind + strlen(thunk), strlen(behind + strlen(thunk)) + 1);
    if (name)
        crn_cpp_name_shorten(name);
    return name;
}

static const char *keep(const char *text, size_t length)
{
    char *copy = (char *)ggc_alloc_atomic(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static const char *symbol_of(tree function)
{
    const char *symbol = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
    return symbol + (*symbol == '*');
}

/* Skips "_ZGVbN4v_", the prefix of a vector variant: processor (lower case, unlike all other _ZGV),
 * mask, length, parameters. */
static const char *behind_vector(const char *symbol)
{
    static const char beginning[] = "_ZGV";
    const char *kind = symbol + sizeof beginning - 1;
    if (strncmp(symbol, beginning, sizeof beginning - 1) != 0 || !ISLOWER(*kind))
        return symbol;
    const char *end = strchr(kind, '_');
    return end ? end + 1 : symbol;
}

/* Returns ".simdclone.bN4v" for a vector variant, otherwise "". Free it. */
static char *vector_of(const char *symbol, const char *behind)
{
    if (behind == symbol)
        return xstrdup("");
    char *kind = xstrndup(symbol + strlen("_ZGV"), behind - symbol - strlen("_ZGV_"));
    char *whole = concat(".simdclone.", kind, NULL);
    free(kind);
    return whole;
}

/* Returns GCC's suffix of a clone, like ".constprop.0"; clones to which GCC gives none get one,
 * which cairn report --merge recognises. Free it. */
static char *clone_of(tree function)
{
    const char *symbol = symbol_of(function), *plain = behind_vector(symbol);
    static const char *const kinds[] = {".constprop.", ".isra.", ".part."};
    const char *first = NULL;
    for (const char *kind : kinds) {
        const char *found = strstr(plain, kind);
        if (found && (!first || found < first))
            first = found;
    }
    char *vector = vector_of(symbol, plain);
    const char *target = DECL_FUNCTION_VERSIONED(function) ? strchr(plain, '.') : NULL;
    char *whole = target ? concat(vector, ".target_clone", target, NULL)
                         : concat(vector, first ? first : "", NULL);
    free(vector);
    return whole;
}

const char *crn_clone_name_of(tree function)
{
    const char *name = crn_name_of(function);
    if (!crn_chosen.clones)
        return name;
    char *clone = clone_of(function), *whole = concat(name, clone, NULL);
    free(clone);
    const char *copy = keep(whole, strlen(whole));
    free(whole);
    return copy;
}

const char *crn_name_of(tree function)
{
    const char *symbol = behind_vector(symbol_of(function));
    size_t length = strcspn(symbol, ".");
    const char *plain = keep(symbol, length ? length : strlen(symbol));
    if (strncmp(plain, "_Z", 2) == 0) {
        char *demangled = demangle(plain);
        if (demangled) {
            plain = keep(demangled, strlen(demangled));
            free(demangled);
        }
        return plain;
    }
    tree name = DECL_NAME(function);
    if (name && !DECL_ABSTRACT_ORIGIN(function) && DECL_CONTEXT(function) &&
        TREE_CODE(DECL_CONTEXT(function)) == FUNCTION_DECL)
        return IDENTIFIER_POINTER(name);
    return plain;
}
