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

/* ".constprop.0" and the like: how GCC tells its clones apart. */
static const char *clone_of(tree function)
{
    const char *symbol = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
    static const char *const kinds[] = {".constprop.", ".isra.", ".part.", ".simdclone."};
    for (const char *kind : kinds)
        if (const char *found = strstr(symbol, kind))
            return found;
    return "";
}

const char *crn_clone_name_of(tree function)
{
    const char *name = crn_name_of(function), *clone = clone_of(function);
    if (!crn_chosen.clones || !*clone)
        return name;
    char *whole = concat(name, clone, NULL);
    const char *kept = keep(whole, strlen(whole));
    free(whole);
    return kept;
}

const char *crn_name_of(tree function)
{
    const char *symbol = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
    symbol += *symbol == '*';
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
