/* SPDX-License-Identifier: MIT
 *
 * Adds blocks, metrics, keys and notes to a profile.
 */
#include <errno.h>
#include <string.h>

#include "runtime/siblings.h"

cairn_error cairn_profile_note(cairn_profile *profile, const char *key, const char *value)
{
    if (!profile || !key || !value)
        return CAIRN_E_ARGUMENT;
    int saved = errno;
    bool done = crn_profile_is_ready(profile);
    crn_profile_lock(profile);
    done = done && crn_profile_add_note(profile, key, value);
    crn_profile_unlock(profile);
    errno = saved;
    return done ? CAIRN_OK : cairn_profile_status(profile);
}

cairn_metric cairn_metric_add(cairn_profile *profile, const char *name, const char *unit)
{
    if (!profile || !name)
        return CAIRN_METRIC_MAX;
    int saved = errno;
    bool ready = crn_profile_is_ready(profile);
    crn_profile_lock(profile);
    cairn_metric metric = ready ? crn_profile_find_metric(profile, name) : CAIRN_METRIC_MAX;
    if (ready && metric == CAIRN_METRIC_MAX)
        metric = crn_profile_add_metric(profile, name, unit);
    crn_profile_unlock(profile);
    errno = saved;
    return metric;
}

cairn_key cairn_key_add(cairn_profile *profile, const char *name)
{
    if (!profile || !name)
        return CAIRN_KEY_MAX;
    int saved = errno;
    bool ready = crn_profile_is_ready(profile);
    crn_profile_lock(profile);
    cairn_key key = ready ? crn_profile_add_key(profile, name) : CAIRN_KEY_MAX;
    crn_profile_unlock(profile);
    errno = saved;
    return key;
}

cairn_block crn_profile_make_block(cairn_profile *profile, const cairn_block_info *info,
                                   crn_put_block *put_block)
{
    if (!profile || !info || !info->name)
        return CAIRN_BLOCK_ROOT;
    int saved = errno;
    crn_siblings_lock();
    bool ready = crn_profile_is_ready(profile) && crn_siblings_catch_up(profile);
    crn_profile_lock(profile);
    cairn_block block = ready ? put_block(profile, info) : CAIRN_BLOCK_ROOT;
    crn_profile_unlock(profile);
    crn_siblings_tell(profile);
    crn_siblings_unlock();
    errno = saved;
    return block;
}

cairn_block cairn_block_add(cairn_profile *profile, const cairn_block_info *info)
{
    return crn_profile_make_block(profile, info, crn_profile_add_block);
}
