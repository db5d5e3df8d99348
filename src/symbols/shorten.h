/* SPDX-License-Identifier: MIT
 *
 * shorten.h - names of C++ without what nobody has written: default arguments of the
 * standard library's templates.
 */
#ifndef CRN_SYMBOLS_SHORTEN_H
#define CRN_SYMBOLS_SHORTEN_H

/* In place: "std::vector<int, std::allocator<int> >" is "std::vector<int>", and what
 * std::string is short for is "std::string". */
void crn_shorten(char *name);

#endif
