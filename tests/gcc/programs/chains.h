/* SPDX-License-Identifier: MIT
 *
 * Functions of chains.c and chained.c that tail calls reach from the other file.
 */
int link_second(int n);
int link_third(int n);
int link_fourth(int n);
int link_back(int n);
int step(int n);
extern volatile int seen;
