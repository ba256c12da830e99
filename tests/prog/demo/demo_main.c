/* demo_main.c - reads the files and the queries, has every file indexed and
 * every query answered a number of times, prints answers and the account.
 * SPDX-License-Identifier: MIT */
#include "demo.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES_MAX = 256 };

static struct {
	struct plan plan;
	const char *queries, *account;
	size_t rounds, answers;
} arg = {
	.plan = { "tests/prog/demo/handlers.lua", 4, 6 },
	.queries = "tests/prog/demo/queries.txt",
	.rounds = 10,
	.answers = 2,
};

static const struct option options[] = {
	{ "account", required_argument, NULL, 'a' },
	{ "answers", required_argument, NULL, 'n' },
	{ "handlers", required_argument, NULL, 'l' },
	{ "queries", required_argument, NULL, 'q' },
	{ "rounds", required_argument, NULL, 'r' },
	{ "workers", required_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 }
};

static int read_options(int argc, char **argv)
{
	int letter;

	while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (letter) {
		case 'a': arg.account = optarg; break;
		case 'n': arg.answers = strtoul(optarg, NULL, 10); break;
		case 'l': arg.plan.handlers = optarg; break;
		case 'q': arg.queries = optarg; break;
		case 'r': arg.rounds = strtoul(optarg, NULL, 10); break;
		case 'w':
			arg.plan.workers =
				(unsigned)strtoul(optarg, NULL, 10);
			break;
		default: return -1;
		}
	if (optind < argc && arg.plan.workers > 0)
		return 0;
	fprintf(stderr, "usage: %s [--account FILE] [--answers N] "
		"[--handlers FILE] [--queries FILE] [--rounds N] "
		"[--workers N] FILE...\n", argv[0]);
	return -1;
}

/* A query a line. The text is the caller's, to keep and to free. */
static size_t read_queries(char **text, struct request *requests)
{
	FILE *in = fopen(arg.queries, "r");
	size_t size = 0;
	size_t count = 0;

	if (!in || getdelim(text, &size, '\0', in) < 0) {
		perror(arg.queries);
		if (in)
			fclose(in);
		return 0;
	}
	fclose(in);
	for (char *line = strtok(*text, "\n"); line &&
	     count < QUERIES_MAX; line = strtok(NULL, "\n"))
		requests[count++] = (struct request){
			.handler = "on_query", .text = line };
	return count;
}

static void print_answers(const struct request *queries, size_t count)
{
	for (size_t i = 0; i < count && i < arg.answers; i++)
		printf("%s\n%s\n", queries[i].text,
		       queries[i].answer ? queries[i].answer : "");
	printf("%zu documents indexed and %zu queries answered, "
	       "%zu times\n", library.count, count, arg.rounds);
}

static int run(struct request *queries, size_t query_count)
{
	struct request *indexing =
		calloc(library.count, sizeof(*indexing));
	struct phase *phases = calloc(2 * arg.rounds, sizeof(*phases));
	int result = -1;

	if (!indexing || !phases)
		abort();
	for (uint32_t i = 0; i < library.count; i++)
		indexing[i] = (struct request){
			.handler = "on_document", .document = i };
	for (size_t i = 0; i < arg.rounds; i++) {
		phases[2 * i] = (struct phase){
			indexing, library.count, vocabulary_clear };
		phases[2 * i + 1] = (struct phase){
			queries, query_count, NULL };
	}
	result = desk_run(&arg.plan, phases, 2 * arg.rounds);
	for (size_t i = 0; i < library.count; i++)
		free(indexing[i].answer);
	free(indexing);
	free(phases);
	return result;
}

int main(int argc, char **argv)
{
	static struct request queries[QUERIES_MAX];
	char *text = NULL;

	if (read_options(argc, argv) != 0)
		return 1;

	const size_t query_count = read_queries(&text, queries);

	if (query_count == 0 ||
	    library_read(argv + optind, (size_t)(argc - optind)) != 0)
		return 1;
	if (run(queries, query_count) != 0)
		return 1;
	print_answers(queries, query_count);
	account_add();
	library_free();
	for (size_t i = 0; i < query_count; i++)
		free(queries[i].answer);
	free(text);
	return arg.account && account_write(arg.account) != 0;
}
