/* SPDX-License-Identifier: MIT
 *
 * What functions are called.
 */
#include "plugin.h"

#include <libiberty/demangle.h>

/* Parameters are left out, as in symbols/demangle.h; what a copy of a function is called beyond
 * the function's own name is, too. */
static char *demangle(const char *symbol)
{
    return cplus_demangle_v3(symbol, DMGL_ANSI | DMGL_RET_DROP);
}

static const char *keep(const char *text, size_t length)
{
    char *kept = (char *)ggc_alloc_atomic(length + 1);
    memcpy(kept, text, length);
    kept[length] = '\0';
    return kept;
}

static const char *symbol_of(tree function)
{
    const char *symbol = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
    return symbol + (*symbol == '*');
}

/* "_ZGVbN4v_" is before the name of a function for vectors: which processor (lower case, as after
 * no other _ZGV), whether some may be left out, how many, what the parameters are. */
static const char *behind_vector(const char *symbol)
{
    static const char beginning[] = "_ZGV";
    const char *kind = symbol + sizeof beginning - 1;
    if (strncmp(symbol, beginning, sizeof beginning - 1) != 0 || !ISLOWER(*kind))
        return symbol;
    const char *end = strchr(kind, '_');
    return end ? end + 1 : symbol;
}

/* ".simdclone.bN4v"; empty if it is none. To be freed. */
static char *vector_of(const char *symbol, const char *behind)
{
    if (behind == symbol)
        return xstrdup("");
    char *kind = xstrndup(symbol + strlen("_ZGV"), behind - symbol - strlen("_ZGV_"));
    char *whole = concat(".simdclone.", kind, NULL);
    free(kind);
    return whole;
}

/* ".constprop.0" and the like: how GCC tells its clones apart. What it has no such word for gets
 * one, so that cairn report --merge knows it. To be freed. */
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
    const char *kept = keep(whole, strlen(whole));
    free(whole);
    return kept;
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
