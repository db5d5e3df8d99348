/* SPDX-License-Identifier: MIT
 *
 * Makes the replay of a file's spans, once.
 */
#include "view.h"

void crn_view_replay_clear(crn_view_file *file)
{
    crn_replay_free(file->replay);
    file->replay = NULL;
}

crn_replay *crn_view_replay_make(const crn_view_file *file)
{
    crn_replay_setup setup = crn_replay_setup_read(file->plain);
    crn_replay *replay = crn_replay_make(file->trace, &setup);
    crn_replay_setup_free(&setup);
    return replay;
}

const crn_replay *crn_view_replay_of(crn_view *view, crn_view_file *file)
{
    file->replay_wanted = true;
    while (file->preparing)
        pthread_cond_wait(&view->looked, &view->lock);
    file->replay_wanted = false;
    if (!file->replay)
        file->replay = crn_view_replay_make(file);
    return file->replay;
}
