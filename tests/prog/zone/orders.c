/* orders.c - one long function in zones. SPDX-License-Identifier: MIT */
#include <weft.h>

static volatile unsigned long sink = 3;

__attribute__((noinline)) static void work(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink * 7 % 13;
}

__attribute__((noinline)) static void order(int items)
{
	weft_zone_begin("parse");
	work(2000 * items);
	weft_zone_end();
	for (int i = 0; i < items; i++) {
		WEFT_ZONE("item");

		for (int k = 0; k < 6000; k++)
			sink = sink * 5 % 11;
		work(1000);
	}
}

int main(void)
{
	for (int i = 0; i < 2000; i++)
		order(1 + i % 5);
	return 0;
}
