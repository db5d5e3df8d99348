/* SPDX-License-Identifier: MIT
 *
 * scope.h - record a scope with one line.
 *
 *     void render(int64_t i)
 *     {
 *         CAIRN_SCOPE("render", .iteration = i);          span up to the end of the C scope
 *         CAIRN_SCOPE_INTEGER("width", image->width);
 *         CAIRN_SCOPE_TEXT("image", image->path);
 *         ...
 *     }
 *
 * records a span (span.h) of the block "render" in the process's own profile (process.h). The
 * block is made when the line is first reached, with its file and line. Pass `.strand = strand` to
 * use a profile of your own. Without a profile a scope costs two predictable branches and a load
 * at its begin, and a branch at its end.
 *
 * A scope ends however the C scope is left, unless by longjmp or by the thread's cancellation or
 * end: then its span ends with the next enclosing scope that ends, or with the strand. (With
 * -fexceptions, C++ exceptions and cancellation end it.)
 *
 * -DCAIRN_DISABLE compiles everything here to nothing: statement macros at every level of
 * optimisation, functions and C++ classes from -O1 on. Arguments are then not evaluated. Such
 * sources need no libcairn, and may be linked with sources compiled without the flag; but a
 * cairn_mutex, cairn_scope or cairn_async must not be used by both kinds.
 *
 * For C, and C++ from C++11 on; before C++20, an argument of `.iteration =` that contains a comma
 * outside of parentheses (f<a, b>) must be parenthesised. C++ has cairn::span in cairn.hpp.
 * Thread: the strand's. Not signal safe. (Based on the cleanup attribute of gcc and clang.)
 */
#ifndef CAIRN_SCOPE_H
#define CAIRN_SCOPE_H

#include "process.h"
#include "span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A static variable for a block, key or text at a source location. It caches the number of that
 * block, key or text in one profile; use with another profile looks the number up again. */
typedef struct cairn_place {
    const char *name;
    const char *file; /* NULL for keys and texts */
    uint32_t line;
    uint64_t known; /* atomic: `names` (hot.h) of the profile << 32 | number */
} cairn_place;

/* Initialisers of a place: HERE of a block, with this file and line; WORD of a key or text. */
#define CAIRN_PLACE_HERE(name)                                                                     \
    {                                                                                              \
        (name), __FILE__, __LINE__, 0                                                              \
    }
#define CAIRN_PLACE_WORD(name)                                                                     \
    {                                                                                              \
        (name), NULL, 0, 0                                                                         \
    }

CAIRN_API cairn_block cairn_priv_place_block(cairn_strand *strand, cairn_place *place);
CAIRN_API cairn_key cairn_priv_place_key(cairn_strand *strand, cairn_place *place);
CAIRN_API cairn_text cairn_priv_place_text(cairn_strand *strand, cairn_place *place);

/* Returns true if the number in the lower half of `known` is valid for the strand's profile. */
CAIRN_PRIV_INLINE bool cairn_priv_place_known(const cairn_strand *strand, uint64_t known)
{
    const cairn_priv_lane *lane = ((const cairn_priv_strand *)(const void *)strand)->lane;
    return CAIRN_PRIV_LIKELY(known >> 32 == lane->names);
}

/* Return the block, key or text of a place in the strand's profile, making it if needed. Places
 * with equal name, file and line share a block; places with equal name share a key or text. Without
 * space they return CAIRN_BLOCK_ROOT, CAIRN_KEY_MAX, CAIRN_TEXT_NONE. `strand` must not be NULL.
 * Thread: any. */
CAIRN_PRIV_INLINE cairn_block cairn_place_block(cairn_strand *strand, cairn_place *place)
{
    uint64_t known = __atomic_load_n(&place->known, __ATOMIC_RELAXED);
    return cairn_priv_place_known(strand, known) ? (cairn_block)known
                                                 : cairn_priv_place_block(strand, place);
}

CAIRN_PRIV_INLINE cairn_key cairn_place_key(cairn_strand *strand, cairn_place *place)
{
    uint64_t known = __atomic_load_n(&place->known, __ATOMIC_RELAXED);
    return cairn_priv_place_known(strand, known) ? (cairn_key)known
                                                 : cairn_priv_place_key(strand, place);
}

CAIRN_PRIV_INLINE cairn_text cairn_place_text(cairn_strand *strand, cairn_place *place)
{
    uint64_t known = __atomic_load_n(&place->known, __ATOMIC_RELAXED);
    return cairn_priv_place_known(strand, known) ? (cairn_text)known
                                                 : cairn_priv_place_text(strand, place);
}

/* ---- scopes ------------------------------------------------------------------------- */

/* Options of a scope; designated initialisers must follow this order. Only the macros set
 * `name`. */
typedef struct cairn_scope_options {
    const char *name;
#ifdef __cplusplus
    int64_t iteration = CAIRN_ITERATION_NONE;
    cairn_strand *strand = cairn_thread_strand();
#if __cplusplus < 202002L /* since C++20 a constructor would forbid designated initialisers */
    CAIRN_PRIV_UNSEEN cairn_scope_options() = default;
#endif
#else
    int64_t iteration;    /* default: none */
    cairn_strand *strand; /* default: the thread's own strand; NULL: nothing is recorded */
#endif
} cairn_scope_options;

/* An open scope. */
typedef struct cairn_scope {
    cairn_strand *strand;
    size_t height; /* of the strand's stack before the scope */
    const cairn_place *place;
} cairn_scope;

CAIRN_API void cairn_priv_scope_end(cairn_strand *strand, size_t height);
CAIRN_API bool cairn_priv_scope_strays(const cairn_scope *scope);
CAIRN_API bool cairn_priv_scope_aim(const cairn_scope *scope);
CAIRN_API void cairn_priv_scope_aim_end(const cairn_scope *scope);
CAIRN_API cairn_scope cairn_priv_scope_begin_named(cairn_strand *strand, const char *name,
                                                   int64_t iteration);

/* Opens a scope of `place`; close it with cairn_scope_end. `strand` may be NULL. */
CAIRN_PRIV_INLINE cairn_scope cairn_scope_begin(cairn_strand *strand, cairn_place *place,
                                                int64_t iteration)
{
    cairn_scope scope;
    scope.strand = strand;
    scope.height = 0;
    scope.place = place;
    if (CAIRN_PRIV_OFF(strand))
        return scope;
    const cairn_priv_strand *s = (const cairn_priv_strand *)(const void *)strand;
    cairn_block block = cairn_place_block(strand, place);
    scope.height =
        CAIRN_PRIV_READ(s->high) ? (size_t)(s->top - s->bottom) : cairn_strand_mark(strand);
    cairn_span_begin(strand, block, iteration);
    return scope;
}

/* Closes the scope, and scopes opened inside of it that are still open. Call it once, on the thread
 * that opened the scope. On another thread the call is counted as misuse, `cairn spans` names the
 * scope, and the scope stays open up to the end of the enclosing scope. */
CAIRN_PRIV_INLINE void cairn_scope_end(cairn_scope *scope)
{
    cairn_strand *strand = scope->strand;
    if (CAIRN_PRIV_OFF(strand))
        return;
    if (!CAIRN_PRIV_LIKELY(strand == cairn_priv_thread_strand) && cairn_priv_scope_strays(scope))
        return;
    const cairn_priv_strand *s = (const cairn_priv_strand *)(const void *)strand;
    if (CAIRN_PRIV_LIKELY(CAIRN_PRIV_READ(s->high) != NULL &&
                          (size_t)(s->top - s->bottom) == scope->height + 1 &&
                          s->open[-1].height <= scope->height))
        cairn_span_end(strand);
    else
        cairn_priv_scope_end(strand, scope->height);
    CAIRN_PRIV_NO_JUMP();
}

/* Directs attributes, edges and cairn_span_current to the span of an open scope, which need not be
 * the innermost, until cairn_scope_aim_end. No span may begin or end in between. Histograms by
 * attribute value (cairn_key_split) lack the attributes set in between. Returns false, and does
 * nothing, for a scope without a strand, or of another thread, which is counted as misuse. */
CAIRN_PRIV_INLINE bool cairn_scope_aim(const cairn_scope *scope)
{
    return !CAIRN_PRIV_OFF(scope->strand) && cairn_priv_scope_aim(scope);
}

CAIRN_PRIV_INLINE void cairn_scope_aim_end(const cairn_scope *scope)
{
    if (!CAIRN_PRIV_OFF(scope->strand))
        cairn_priv_scope_aim_end(scope);
}

/* An open adoption of a hand-off. */
typedef struct cairn_adoption {
    cairn_strand *strand;
    cairn_mark height; /* of the strand's stack before the adoption */
} cairn_adoption;

CAIRN_API void cairn_priv_adoption_begin(cairn_adoption *adoption, cairn_strand *strand,
                                         const cairn_handoff *handoff);
CAIRN_API void cairn_priv_adoption_end(const cairn_adoption *adoption);

/* Adopts a hand-off like cairn_handoff_adopt. `strand` may be NULL. cairn_adoption_end, to be
 * called once, ends the adoption, and scopes and adoptions inside of it that are still open. */
CAIRN_PRIV_INLINE cairn_adoption cairn_adoption_begin(cairn_strand *strand, cairn_handoff handoff)
{
    cairn_adoption adoption = {NULL, 0};
    if (!CAIRN_PRIV_OFF(strand))
        cairn_priv_adoption_begin(&adoption, strand, &handoff);
    return adoption;
}

CAIRN_PRIV_INLINE void cairn_adoption_end(cairn_adoption *adoption)
{
    if (!CAIRN_PRIV_OFF(adoption->strand)) {
        cairn_priv_adoption_end(adoption);
        CAIRN_PRIV_NO_JUMP();
    }
}

/* Like cairn_scope_begin, for a name that is not known at compile time. Looks the name up at each
 * call, under a lock. Equal names share a block, which has no file. */
CAIRN_PRIV_INLINE cairn_scope cairn_scope_begin_named(cairn_strand *strand, const char *name,
                                                      int64_t iteration)
{
    const cairn_scope none = {NULL, 0, NULL};
    if (CAIRN_PRIV_OFF(strand))
        return none;
    return cairn_priv_scope_begin_named(strand, name, iteration);
}

/* ---- the macros --------------------------------------------------------------------- */

/* CAIRN_SCOPE("name"), CAIRN_SCOPE("name", .iteration = i, .strand = strand): a span up to the end
 * of the enclosing C scope. "name" is a string literal. CAIRN_FUNCTION(), CAIRN_FUNCTION(.iteration
 * = i): named after the enclosing function. */
#define CAIRN_SCOPE(...) CAIRN_PRIV_SCOPE(__COUNTER__, __VA_ARGS__)
#define CAIRN_FUNCTION(...) CAIRN_PRIV_SCOPE(__COUNTER__, CAIRN_PRIV_FUNCTION, __VA_ARGS__)

/* Opens a scope that does not end with a C scope: cairn_scope scope = CAIRN_SCOPE_BEGIN("name",
 * .iteration = i); ... cairn_scope_end(&scope); */
#define CAIRN_SCOPE_BEGIN(...)                                                                     \
    __extension__({                                                                                \
        CAIRN_PRIV_PLACE_OF(cairn_priv_place, __VA_ARGS__);                                        \
        CAIRN_PRIV_OPTIONS(cairn_priv_options, __VA_ARGS__);                                       \
        cairn_scope_begin(cairn_priv_options.strand, &cairn_priv_place,                            \
                          cairn_priv_options.iteration);                                           \
    })

/* CAIRN_ADOPT(handoff), CAIRN_ADOPT(handoff, strand): up to the end of the enclosing C scope, the
 * thread's own strand (or `strand`) works for the taker of the token. */
#define CAIRN_ADOPT(...) CAIRN_PRIV_ADOPT_AS(__COUNTER__, __VA_ARGS__, cairn_thread_strand(), 0)

/* Set an attribute of the innermost open span on the thread's own strand, or on the strand in the
 * last argument: CAIRN_SCOPE_INTEGER("width", width), CAIRN_SCOPE_INTEGER("width", width, strand).
 * Keys are string literals. TEXT copies the text each time. NAME takes a string literal, which is
 * stored once and then costs as much as a number. */
#define CAIRN_SCOPE_INTEGER(key, ...)                                                              \
    CAIRN_PRIV_ATTRIBUTE(int64_t, cairn_span_integer, key, __VA_ARGS__, cairn_thread_strand(), 0)
#define CAIRN_SCOPE_NUMBER(key, ...)                                                               \
    CAIRN_PRIV_ATTRIBUTE(double, cairn_span_number, key, __VA_ARGS__, cairn_thread_strand(), 0)
#define CAIRN_SCOPE_TEXT(key, ...)                                                                 \
    CAIRN_PRIV_ATTRIBUTE(const char *, cairn_span_text, key, __VA_ARGS__, cairn_thread_strand(), 0)
#define CAIRN_SCOPE_NAME(key, ...) CAIRN_PRIV_NAME(key, __VA_ARGS__, cairn_thread_strand(), 0)

/* CAIRN_COUNTER("queue depth", length): sets the counter to this value from now on
 * (cairn_counter_set), on the thread's own strand or the strand in the last argument. The name is a
 * string literal. */
#define CAIRN_COUNTER(name, ...)                                                                   \
    CAIRN_PRIV_ATTRIBUTE(double, cairn_counter_set, name, __VA_ARGS__, cairn_thread_strand(), 0)

/* CAIRN_EVENT("loop closed"): records an event now (cairn_event_add). The text is a string literal.
 * CAIRN_LOG(CAIRN_LEVEL_WARNING, line): records a log line, any text (cairn_log_add). Both take the
 * thread's own strand or the strand in the last argument. */
#define CAIRN_EVENT(...) CAIRN_PRIV_EVENT(__VA_ARGS__, cairn_thread_strand(), 0)
#define CAIRN_LOG(level, ...) CAIRN_PRIV_LOG(level, __VA_ARGS__, cairn_thread_strand(), 0)

/* ---- implementation ----------------------------------------------------------------- */

#ifdef CAIRN_DISABLE
#define CAIRN_PRIV_FUNCTION "" /* __func__ would be stored in the object file */
#else
#define CAIRN_PRIV_FUNCTION __func__
#endif

#define CAIRN_PRIV_FIRST(first, ...) first
#define CAIRN_PRIV_PLACE_OF(place, ...)                                                            \
    static cairn_place place = CAIRN_PLACE_HERE(CAIRN_PRIV_FIRST(__VA_ARGS__, NULL))

#define CAIRN_PRIV_SCOPE(number, ...) CAIRN_PRIV_SCOPE_OF(number, __VA_ARGS__)
#ifdef CAIRN_DISABLE
#define CAIRN_PRIV_SCOPE_OF(number, ...)                                                           \
    ((void)sizeof(__extension__({                                                                  \
        CAIRN_PRIV_OPTIONS(cairn_priv_options, __VA_ARGS__);                                       \
        cairn_priv_options.iteration;                                                              \
    })))
#else
#define CAIRN_PRIV_SCOPE_OF(number, ...)                                                           \
    CAIRN_PRIV_PLACE_OF(cairn_priv_place_##number, __VA_ARGS__);                                   \
    CAIRN_PRIV_OPTIONS(cairn_priv_options_##number, __VA_ARGS__);                                  \
    __attribute__((cleanup(cairn_scope_end), unused)) cairn_scope cairn_priv_scope_##number =      \
        cairn_scope_begin(cairn_priv_options_##number.strand, &cairn_priv_place_##number,          \
                          cairn_priv_options_##number.iteration)
#endif

#define CAIRN_PRIV_ADOPT_AS(number, ...) CAIRN_PRIV_ADOPT_OF(number, __VA_ARGS__)
#ifdef CAIRN_DISABLE
#define CAIRN_PRIV_ADOPT_OF(number, handoff, on, ...) CAIRN_PRIV_UNUSED(handoff, on)
#else
#define CAIRN_PRIV_ADOPT_OF(number, handoff, on, ...)                                              \
    __attribute__((cleanup(cairn_adoption_end), unused))                                           \
    cairn_adoption cairn_priv_adoption_##number = cairn_adoption_begin((on), (handoff))
#endif

/* In C, the caller's options intentionally override the defaults in the initialiser. Before C++20,
 * which has designated initialisers, `.iteration = i` follows the name of the options struct: this
 * makes it an assignment. */
#if defined(__cplusplus) && __cplusplus >= 202002L
#define CAIRN_PRIV_OPTIONS(options, ...) const cairn_scope_options options = {.name = __VA_ARGS__}
#elif defined(__cplusplus)
#define CAIRN_PRIV_OPTIONS(options, ...)                                                           \
    cairn_scope_options options;                                                                   \
    CAIRN_PRIV_OPTIONS_OF(options, __VA_ARGS__, , , )
#define CAIRN_PRIV_OPTIONS_OF(options, called, first, second, ...)                                 \
    options.name = (called);                                                                       \
    (void)(options first);                                                                         \
    (void)(options second)
#else
#define CAIRN_PRIV_OPTIONS(options, ...)                                                           \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Woverride-init\"")           \
        CAIRN_PRIV_OVERRIDE const cairn_scope_options options = {.iteration =                      \
                                                                     CAIRN_ITERATION_NONE,         \
                                                                 .strand = cairn_thread_strand(),  \
                                                                 .name = __VA_ARGS__};             \
    _Pragma("GCC diagnostic pop")
#ifdef __clang__
#define CAIRN_PRIV_OVERRIDE _Pragma("GCC diagnostic ignored \"-Winitializer-overrides\"")
#else
#define CAIRN_PRIV_OVERRIDE _Pragma("GCC diagnostic ignored \"-Woverride-init-side-effects\"")
#endif
#endif

#ifdef CAIRN_DISABLE
/* Has the compiler check two expressions, without evaluating them. */
#define CAIRN_PRIV_UNUSED(one, other) ((void)(0 ? ((void)(one), (void)(other)) : (void)0))
#define CAIRN_PRIV_ATTRIBUTE(type, set, key, given, on, ...) CAIRN_PRIV_UNUSED(given, on)
#define CAIRN_PRIV_NAME(key, text, on, ...) CAIRN_PRIV_UNUSED(text, on)
#define CAIRN_PRIV_EVENT(text, on, ...) CAIRN_PRIV_UNUSED(on, on)
#define CAIRN_PRIV_LOG(level, line, on, ...)                                                       \
    ((void)(0 ? ((void)(level), (void)(line), (void)(on)) : (void)0))
#else
#define CAIRN_PRIV_ATTRIBUTE(type, set, key, given, on, ...)                                       \
    do {                                                                                           \
        static cairn_place cairn_priv_key = CAIRN_PLACE_WORD(key);                                 \
        type cairn_priv_value = (given);                                                           \
        cairn_strand *cairn_priv_strand_here = (on);                                               \
        if (cairn_priv_strand_here)                                                                \
            set(cairn_priv_strand_here, cairn_place_key(cairn_priv_strand_here, &cairn_priv_key),  \
                cairn_priv_value);                                                                 \
    } while (0)

#define CAIRN_PRIV_NAME(key, text, on, ...)                                                        \
    do {                                                                                           \
        static cairn_place cairn_priv_key = CAIRN_PLACE_WORD(key);                                 \
        static cairn_place cairn_priv_text = CAIRN_PLACE_WORD(text);                               \
        cairn_strand *cairn_priv_strand_here = (on);                                               \
        if (cairn_priv_strand_here)                                                                \
            cairn_span_name(cairn_priv_strand_here,                                                \
                            cairn_place_key(cairn_priv_strand_here, &cairn_priv_key),              \
                            cairn_place_text(cairn_priv_strand_here, &cairn_priv_text));           \
    } while (0)

#define CAIRN_PRIV_EVENT(text, on, ...)                                                            \
    do {                                                                                           \
        static cairn_place cairn_priv_text = CAIRN_PLACE_WORD(text);                               \
        cairn_strand *cairn_priv_strand_here = (on);                                               \
        if (cairn_priv_strand_here)                                                                \
            cairn_event_add(cairn_priv_strand_here,                                                \
                            cairn_place_text(cairn_priv_strand_here, &cairn_priv_text));           \
    } while (0)

#define CAIRN_PRIV_LOG(level, line, on, ...)                                                       \
    do {                                                                                           \
        cairn_strand *cairn_priv_strand_here = (on);                                               \
        if (cairn_priv_strand_here)                                                                \
            cairn_log_add(cairn_priv_strand_here, (level), (line));                                \
    } while (0)
#endif

#ifdef __cplusplus
}
#endif

#endif
