/* SPDX-License-Identifier: MIT
 *
 * late.h - calls of libraries that few commands need. Such a library is loaded when one of its
 * functions is first called: the dynamic linker takes some milliseconds for libcurl and the thirty
 * libraries that libcurl needs. Their names have the version of the interface that the code is
 * written for; Debian 12 has these.
 */
#ifndef CRN_LATE_LATE_H
#define CRN_LATE_LATE_H

/* The function of that name, with the type that the library's header declares, as in
 * CRN_CURL(curl_easy_init)(). */
#define CRN_CURL(function) CRN_LATE("libcurl.so.4", function)
#define CRN_MICROHTTPD(function) CRN_LATE("libmicrohttpd.so.12", function)

#define CRN_LATE(library, function)                                                                \
    (__extension__({                                                                               \
        static __typeof__(function) *found;                                                        \
        __typeof__(function) *it = __atomic_load_n(&found, __ATOMIC_ACQUIRE);                      \
        if (!it) {                                                                                 \
            it = (__typeof__(function) *)crn_late_find(library, #function);                        \
            __atomic_store_n(&found, it, __ATOMIC_RELEASE);                                        \
        }                                                                                          \
        it;                                                                                        \
    }))

typedef void crn_late_function(void);

/* Returns the address of a library's function; loads the library if needed. If that fails, prints
 * the reason and ends the process with status 1. Thread: any. Not signal safe. */
crn_late_function *crn_late_find(const char *library, const char *function);

#endif
