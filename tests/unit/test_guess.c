/* test_guess.c - what was meant: by one exchange, by a character more or less,
 * by a part of the name; and names that are like nothing.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/guess.h"
#include "tests/test.h"

#include <string.h>

/* Of some names, the one that is meant; "" for none. */
static const char *meant(const char *wanted)
{
	static const char *const names[] = { "handle", "handle_request", "take",
		"self", "sort", "made-up+0x1000", "x" };
	static struct guess g;

	guess_init(&g, wanted);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		guess_offer(&g, names[i], strlen(names[i]));
	return g.best;
}

void test_guess_names(void)
{
	char text[GUESS_TEXT], shortest[20];
	struct guess g;

	CHECK_STR(meant("hadnle"), "handle");
	CHECK_STR(meant("HANDEL"), "handle");
	CHECK_STR(meant("handl"), "handle");
	CHECK_STR(meant("handlee"), "handle");
	CHECK_STR(meant("request"), "handle_request");
	CHECK_STR(meant("slef"), "self");
	CHECK_STR(meant("zzz"), "");
	CHECK_STR(meant("y"), "");
	CHECK_STR(meant(""), "");
	guess_init(&g, "hadnle");
	CHECK_STR(guess_text(&g, NULL, text, sizeof(text)), "");
	CHECK_STR(guess_text(&g, "look", text, sizeof(text)), "; look");
	guess_offer(&g, "handle <a.lua:1>", 6);
	CHECK_STR(guess_text(&g, "look", text, sizeof(text)),
		  "; did you mean \"handle <a.lua:1>\"?");
	guess_text(&g, NULL, shortest, sizeof(shortest));
	CHECK_EQ(strlen(shortest), sizeof(shortest) - 1);
}

/* Names are untrusted: long ones, and ones of any bytes. */
void test_guess_takes_any_name(void)
{
	char name[5000];
	struct guess g;

	memset(name, '\xff', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	guess_init(&g, name);
	guess_offer(&g, name, strlen(name));
	guess_offer(&g, "", 0);
	CHECK_STR(g.best, "");
	for (size_t length = 1; length < 70; length++) {
		guess_init(&g, name + sizeof(name) - 1 - length);
		guess_offer(&g, name, strlen(name));
		guess_offer(&g, name, length + 1);
		CHECK(strlen(g.best) < sizeof(g.best));
	}
}
