/* p_plugin_a.c - a library that p_reopen opens and closes again and again.
 * flags: -shared -fPIC -finstrument-functions
 * SPDX-License-Identifier: MIT */
int plug(int n);
__attribute__((noinline)) static int in_a(int n) { return n + 1; }
int plug(int n) { return in_a(n); }
