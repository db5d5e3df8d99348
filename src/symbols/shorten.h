/* SPDX-License-Identifier: MIT
 *
 * shorten.h - removes default template arguments of the C++ standard library from names.
 */
#ifndef CRN_SYMBOLS_SHORTEN_H
#define CRN_SYMBOLS_SHORTEN_H

/* In place: "std::vector<int, std::allocator<int> >" becomes "std::vector<int>", and the long form
 * of std::string becomes "std::string". */
void crn_shorten(char *name);

#endif
