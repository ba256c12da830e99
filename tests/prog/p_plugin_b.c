/* p_plugin_b.c - the same with other functions: it comes to lie where the other
 * one lay.
 * flags: -shared -fPIC -finstrument-functions
 * SPDX-License-Identifier: MIT */
int plug(int n);
__attribute__((noinline)) static int in_b(int n) { return n - 1; }
int plug(int n) { return in_b(n); }
