/* p_spin_plug.c - a library that nothing records.
 * flags: -shared -fPIC
 * SPDX-License-Identifier: MIT */
void plug_spin(long n);

void plug_spin(long n)
{
	for (volatile long i = 0; i < n; i++)
		;
}
