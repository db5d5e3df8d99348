/* SPDX-License-Identifier: MIT
 *
 * sampled_path.h - the name of a capture of samples.
 */
#ifndef CRN_BASE_SAMPLED_PATH_H
#define CRN_BASE_SAMPLED_PATH_H

/* Returns x.sampled.cairn for x.cairn: the file of native samples, beside the capture that libcairn
 * writes. Free it with crn_free. */
char *crn_sampled_path(const char *capture);

/* Returns the same if only that file exists, as while `cairn run` samples a program; NULL
 * otherwise. Free it with crn_free. */
char *crn_sampled_path_instead(const char *capture);

#endif
