/* SPDX-License-Identifier: MIT
 *
 * Where chains of calls in tail position go from one object file to another.
 */
int link_second(int n);
int link_third(int n);
int link_fourth(int n);
int link_back(int n);
int step(int n);
extern volatile int seen;
