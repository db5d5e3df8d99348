/* SPDX-License-Identifier: MIT
 *
 * async.h - spans that are not scopes: they begin on one thread and end on any, overlap their
 * siblings, and outlive the scope that began them. For requests, downloads and coroutines.
 *
 *     struct request { cairn_async span; ... };
 *
 *     request->span = CAIRN_ASYNC_BEGIN("request", .iteration = id);
 *     ...
 *     CAIRN_ASYNC_ADOPT(request->span);                 on any thread, while it works for it
 *     CAIRN_SCOPE("parse");                             a child of "request"
 *     ...
 *     CAIRN_SCOPE_INTEGER("status", 200, cairn_async_strand(request->span));
 *     cairn_async_end(&request->span);                  on any thread
 *
 * An asynchronous span is a child of the span that was open where it began. It is on a lane named
 * like its block, where no other span is open meanwhile: so there are as many such lanes as spans
 * of that name were open at once. Its duration counts neither as work in `cairn whatif` nor as wall
 * time of its context.
 *
 * Asynchronous spans are recorded in the process's own profile (process.h). Without a profile,
 * everything here does nothing. Begin and end take two locks, together about 0.5 us. Thread: any,
 * but calls for the same span must not overlap in time, as with any object. Not signal safe.
 */
#ifndef CAIRN_ASYNC_H
#define CAIRN_ASYNC_H

#include "scope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open asynchronous span; a plain value, which can be copied. {NULL, NULL} stands for no span:
 * nothing is recorded for it. */
typedef struct cairn_async {
    cairn_strand *strand;
    void *lane; /* private */
} cairn_async;

/* Limit on asynchronous spans that are open at once. A begin beyond the limit, or without space,
 * returns {NULL, NULL} and is counted: `cairn spans` says how many. */
#define CAIRN_ASYNC_MAX 1024

/* Opens an asynchronous span of `place`, a child of the calling thread's current span or of
 * `parent`, a token (span.h). */
CAIRN_PRIV_API cairn_async cairn_async_begin(cairn_place *place, int64_t iteration);
CAIRN_PRIV_API cairn_async cairn_async_begin_for(cairn_handoff parent, cairn_place *place,
                                                 int64_t iteration);

/* Closes the span, and sets `*async` to {NULL, NULL}, so that a second call does nothing. Records
 * nothing in a child of fork for a span that began before the fork. */
CAIRN_PRIV_API void cairn_async_end(cairn_async *async);

/* Returns the strand to pass to attribute functions and macros; NULL for {NULL, NULL}. */
CAIRN_PRIV_INLINE cairn_strand *cairn_async_strand(cairn_async async)
{
    return async.strand;
}

/* Returns a token (span.h): its adopter works for the span. For {NULL, NULL} the token has no
 * effect. */
CAIRN_PRIV_INLINE cairn_handoff cairn_async_take(cairn_async async)
{
    return cairn_handoff_take(async.strand);
}

/* cairn_async span = CAIRN_ASYNC_BEGIN("name"), CAIRN_ASYNC_BEGIN("name", .iteration = i). "name"
 * is a string literal. */
#define CAIRN_ASYNC_BEGIN(...)                                                                     \
    __extension__({                                                                                \
        static cairn_place cairn_priv_place =                                                      \
            CAIRN_PLACE_HERE(CAIRN_PRIV_FIRST(__VA_ARGS__, NULL));                                 \
        CAIRN_PRIV_OPTIONS(cairn_priv_options, __VA_ARGS__);                                       \
        cairn_async_begin(&cairn_priv_place, cairn_priv_options.iteration);                        \
    })

/* CAIRN_ASYNC_ADOPT(span): up to the end of the enclosing C scope, the calling thread works for the
 * span. */
#define CAIRN_ASYNC_ADOPT(async) CAIRN_ADOPT(cairn_async_take(async))

#ifdef CAIRN_DISABLE
CAIRN_PRIV_INLINE cairn_async cairn_async_begin(cairn_place *place, int64_t iteration)
{
    const cairn_async none = {NULL, NULL};
    (void)place;
    (void)iteration;
    return none;
}

CAIRN_PRIV_INLINE cairn_async cairn_async_begin_for(cairn_handoff parent, cairn_place *place,
                                                    int64_t iteration)
{
    const cairn_async none = {NULL, NULL};
    (void)parent;
    (void)place;
    (void)iteration;
    return none;
}

CAIRN_PRIV_INLINE void cairn_async_end(cairn_async *async)
{
    (void)async;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
