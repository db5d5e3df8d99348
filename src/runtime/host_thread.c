/* SPDX-License-Identifier: MIT
 *
 * The host's thread: a helper that runs a function of the host for the process's profile.
 */
#include "runtime/host_thread.h"
#include "plat/clock.h"
#include "plat/thread.h"
#include "runtime/process.h"
#include "runtime/span.h"

static struct {
    crn_helper helper;
    const char *name;
    void *(*run)(void *data);
    void *data;
    cairn_profile *profile;
    bool paused; /* the thread was ended by crn_host_thread_pause */
} host;

static void *run_host(void *data)
{
    cairn_priv_thread_is_hidden(true);
    data = host.run(data);
    cairn_priv_thread_is_hidden(false);
    return data;
}

static bool start(void)
{
    if (crn_profile_may_hide(host.profile, CRN_HIDES_HOST) &&
        crn_helper_start_hidden(&host.helper, host.name, run_host, host.data))
        return true;
    return crn_helper_start(&host.helper, host.name, host.run, host.data);
}

bool cairn_priv_host_thread_start(cairn_profile *profile, const char *name, void *(*run)(void *),
                                  void *data)
{
    host.profile = profile;
    host.name = name;
    host.run = run;
    host.data = data;
    return start();
}

/* Without a preparer, stores the moment up to which the capture is complete in its place. */
bool cairn_priv_host_thread_wait(uint64_t ns)
{
    if (host.profile->lacks_preparer)
        crn_profile_moment(host.profile);
    return crn_helper_wait(&host.helper, crn_clock_monotonic() + ns);
}

void cairn_priv_host_thread_wake(void)
{
    crn_helper_wake(&host.helper);
}

void cairn_priv_host_thread_stop(void)
{
    crn_helper_stop(&host.helper);
}

bool crn_host_thread_is_hidden(void)
{
    return crn_helper_is_hidden(&host.helper);
}

/* A handler that has interrupted this thread within libcairn cannot wait for the host's, which may
 * wait for a lock that this thread has. */
bool crn_host_thread_pause(void)
{
    int number = host.helper.out_of_sight.number;
    host.paused = crn_host_thread_is_hidden() && !cairn_priv_thread_is_busy();
    if (host.paused) {
        crn_helper_stop(&host.helper);
        crn_thread_wait_until_gone(number);
    }
    return host.paused;
}

void crn_host_thread_go_on(const sigset_t *mask)
{
    if (!host.paused)
        return;
    host.paused = false;
    if (start())
        crn_helper_set_mask(&host.helper, mask);
    else
        crn_profile_stop(host.profile, CAIRN_E_THREAD);
    if (host.profile->lacks_preparer && !crn_preparer_start(host.profile))
        crn_profile_stop(host.profile, CAIRN_E_THREAD);
}
