/* SPDX-License-Identifier: MIT
 *
 * cpp_name.h - shortens names of C++. Also compiled as C++, in the plugin of cairn cc.
 */
#ifndef CRN_BASE_CPP_NAME_H
#define CRN_BASE_CPP_NAME_H

/* Removes default template arguments of the C++ standard library from a name, in place:
 * "std::vector<int, std::allocator<int> >" becomes "std::vector<int>", and the long form of
 * std::string becomes "std::string". A name whose brackets do not match stays as it is. */
void crn_cpp_name_shorten(char *name);

#endif
