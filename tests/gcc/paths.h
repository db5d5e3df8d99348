/* SPDX-License-Identifier: MIT
 *
 * Included by random programs (invent.py) before their functions. With PATHS, they report jumps to
 * the reference for contexts (paths.c), which cannot see them.
 */
#ifndef CAIRN_TESTS_GCC_PATHS_H
#define CAIRN_TESTS_GCC_PATHS_H

#include <setjmp.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A scope marked by hand. */
void paths_scope_begin(const char *name);
void paths_scope_end(void);

/* paths_height returns the number of running functions; paths_back(height) drops those above, after
 * a jump. */
int paths_height(void);
void paths_back(int height);

#ifdef __cplusplus
}
#endif

/* Attributes of a function; ALL_KEPT makes each noipa, so that GCC keeps every call of the
 * source. */
#ifdef ALL_KEPT
#define KIND(...) __attribute__((noipa))
#else
#define KIND(...) __VA_ARGS__
#endif

/* HERE stands before code that a jump may return to, BACK where it returns. */
#ifdef PATHS
#define HERE() const int height = paths_height()
#define BACK() paths_back(height)
#else
#define HERE() ((void)0)
#define BACK() ((void)0)
#endif

#ifdef __cplusplus
#ifdef PATHS
struct paths_scope {
    __attribute__((no_instrument_function)) explicit paths_scope(const char *name)
    {
        paths_scope_begin(name);
    }
    __attribute__((no_instrument_function)) ~paths_scope()
    {
        paths_scope_end();
    }
};
#define SCOPE(name) paths_scope here(name)
#else
#include <cairn/scope.h>
#define SCOPE(name) CAIRN_SCOPE(name)
#endif

struct thrown {
    unsigned n;
};

struct shape {
    virtual unsigned act(int n) = 0;
};
#endif

#endif
