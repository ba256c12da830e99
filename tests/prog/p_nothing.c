/* p_nothing.c - calls nothing that is instrumented.
 * SPDX-License-Identifier: MIT */
int main(void)
{
	return 0;
}
