/* p_resolved.c - calls p_resolver's function; built by tests/e2e/host-ifunc.sh.
 * SPDX-License-Identifier: MIT */
int call_chosen(int x);

int main(void)
{
	return call_chosen(2);
}
