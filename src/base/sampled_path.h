/* SPDX-License-Identifier: MIT
 *
 * sampled_path.h - the name of a capture of samples.
 */
#ifndef CRN_BASE_SAMPLED_PATH_H
#define CRN_BASE_SAMPLED_PATH_H

/* Returns x.sampled.cairn for x.cairn (and for x): the file of native samples, beside the capture
 * that libcairn writes. Free it with crn_free. */
char *crn_sampled_path(const char *capture);

/* Returns that path if its file exists and `capture` does not, as while `cairn run` samples a
 * program; else NULL. Free it with crn_free. */
char *crn_sampled_path_instead(const char *capture);

#endif
