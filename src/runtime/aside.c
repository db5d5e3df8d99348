/* SPDX-License-Identifier: MIT
 *
 * The calling thread's strand, and whether the thread may have one.
 */
#include "runtime/process.h"

__thread cairn_strand *cairn_priv_thread_strand __attribute__((tls_model("initial-exec")));

static const cairn_priv_strand nowhere;
__thread const cairn_priv_strand *cairn_priv_thread_place
    __attribute__((tls_model("initial-exec"))) = &nowhere;

__thread int64_t cairn_priv_thread_row __attribute__((tls_model("initial-exec")));

void crn_thread_set_strand(cairn_strand *strand)
{
    cairn_priv_thread_row = 0;
    cairn_priv_thread_strand = strand;
    cairn_priv_thread_place = strand ? &strand->hot : &nowhere;
}

__thread crn_own_thread crn_own __attribute__((tls_model("initial-exec")));

/* ---- threads of the runtime ---- */

void cairn_priv_thread_creates(bool begins)
{
    crn_own.creating = begins;
}

bool cairn_priv_thread_is_creating(void)
{
    return crn_own.creating;
}

bool cairn_priv_thread_is_busy(void)
{
    return crn_own.busy;
}

void crn_process_refuse_strand(bool refuse)
{
    crn_own.ours = refuse;
}

/* ---- threads without a strand ---- */

/* State of nested calls of cairn_priv_strand_aside; the outermost one takes the strand. */
static __thread struct {
    int depth; /* number of calls whose cairn_priv_strand_back is still to come */
    bool busy; /* crn_own.busy before the outermost call */
    cairn_strand *strand;
} aside __attribute__((tls_model("initial-exec")));

/* Takes the strand from the thread. Between any two steps a signal handler may run that takes the
 * strand and gives it back itself. So both values are read before they are changed, and `depth` is
 * set last; the asm statements keep the compiler from reordering the steps. */
void cairn_priv_strand_aside(void)
{
    if (aside.depth) {
        aside.depth++;
        return;
    }
    cairn_strand *strand = cairn_priv_thread_strand;
    bool busy = crn_own.busy;
    crn_own.busy = true;
    cairn_priv_thread_strand = NULL;
    __asm__ volatile("" ::: "memory");
    aside.strand = strand;
    aside.busy = busy;
    aside.depth = 1;
    __asm__ volatile("" ::: "memory");
}

void cairn_priv_strand_back(void)
{
    __asm__ volatile("" ::: "memory");
    cairn_strand *strand = aside.strand;
    bool busy = aside.busy;
    if (aside.depth > 1 || !aside.depth) {
        aside.depth -= aside.depth > 0;
        return;
    }
    aside.depth = 0;
    __asm__ volatile("" ::: "memory");
    crn_own.busy = busy;
    cairn_priv_thread_strand = strand;
}
