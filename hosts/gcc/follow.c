/* SPDX-License-Identifier: MIT
 *
 * --profile=alloc: charges a thread's allocations to the contexts of its strand. Such programs are
 * linked with libcairn-alloc; in others crn_site_follow does nothing.
 */
#include <pthread.h>

#include <cairn/alloc.h>

#include "runtime.h"

#pragma weak cairn_priv_alloc_follow

static __thread bool follows __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static bool has_key;

static void end(void *value)
{
    (void)value;
    if (follows)
        cairn_alloc_follow(NULL);
    follows = false;
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, end) == 0;
}

void crn_site_follow(cairn_strand *strand)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!cairn_priv_alloc_follow || follows)
        return;
    pthread_once(&once, make_key);
    if (has_key && pthread_setspecific(key, &key) == 0)
        follows = cairn_alloc_follow(strand);
}

/* Runs before libcairn closes the profile, as its destructors run after ours. */
__attribute__((destructor)) static void end_main(void)
{
    end(NULL);
}
