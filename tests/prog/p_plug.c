/* p_plug.c - a library that is opened and closed again and again.
 * flags: -finstrument-functions -shared -fPIC
 * SPDX-License-Identifier: MIT */
int plug_f(int x);
int plug_g(int x);

__attribute__((noinline)) int plug_f(int x)
{
	__asm__ volatile("");
	return x + 1;
}

__attribute__((noinline)) int plug_g(int x)
{
	return plug_f(x) * 2;
}
