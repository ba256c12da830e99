/* json.c - "json ROUNDS": a document of cJSON's is printed, parsed, compared
 * and changed, again and again. Prints "TOTAL" and its CPU time in s.
 * SPDX-License-Identifier: MIT */
#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ITEMS = 200 };

static cJSON *make_item(int i)
{
	static const char *const tags[] = { "new", "large \"quoted\"",
					    "caf\xc3\xa9", "a\tb\n" };
	const double sizes[] = { i / 3.0, i * 1000, -i / 7.0 };
	cJSON *const item = cJSON_CreateObject();

	cJSON_AddNumberToObject(item, "id", i);
	cJSON_AddStringToObject(item, "name", tags[i % 4]);
	cJSON_AddBoolToObject(item, "sold", i % 2);
	cJSON_AddItemToObject(item, "sizes", cJSON_CreateDoubleArray(sizes, 3));
	cJSON_AddItemToObject(item, "tags", cJSON_CreateStringArray(tags,
								    i % 5));
	return item;
}

static cJSON *make_document(void)
{
	cJSON *const document = cJSON_CreateObject();
	cJSON *const items = cJSON_AddArrayToObject(document, "items");

	for (int i = 0; i < ITEMS; i++)
		cJSON_AddItemToArray(items, make_item(i));
	return document;
}

static void sell(const cJSON *document)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, "items")) {
		cJSON *const id = cJSON_GetObjectItem(item, "id");

		cJSON_SetNumberValue(id, id->valuedouble + 1);
	}
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 100;
	cJSON *document = make_document();

	for (long i = 0; i < rounds; i++) {
		char *const text = i % 2 ? cJSON_Print(document) :
				   cJSON_PrintUnformatted(document);
		cJSON *const again = cJSON_Parse(text);

		if (!cJSON_Compare(document, again, 1))
			abort();
		cJSON_Delete(document);
		free(text);
		document = again;
		sell(document);
	}
	cJSON_Delete(document);
	printf("TOTAL %.3f\n", (double)clock() / CLOCKS_PER_SEC);
	return 0;
}
