/* SPDX-License-Identifier: MIT */
#include "noipa.h"

int library_leaf(int n);
int library_call(int (*back)(int), int n);
int library_pass(int (*back)(int), int n);
