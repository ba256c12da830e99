/* cmd_push.c - "weft push": sends a profile to a server that keeps those of
 * many machines. Knows the options and where a token comes from; what servers
 * want to be sent is known to the folder push.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load_profile.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/push/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const servers[] = { "pyroscope", "parca", NULL };
static int arg_server;
static const char *arg_headers;
static size_t arg_timeout = 30;

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .name = "server", .arg = "NAME",
	  .to = &arg_server, .choices = servers, .help = "what runs at URL" },
	{ .type = OPT_TEXT, .name = "headers", .arg = "FILE",
	  .to = &arg_headers, .help = "send the headers in FILE, one a line, "
	  "such as \"X-Scope-OrgID: shop\"" },
	{ .type = OPT_NUMBER, .name = "timeout", .arg = "N",
	  .to = &arg_timeout, .help = "how many seconds a server has to "
	  "answer" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
	{ .type = OPT_END }
};

/* A line break would begin another header. */
static int put_token(FILE *to, const char *url)
{
	const char *const token = getenv("WEFT_PUSH_TOKEN");

	if (!token || !token[0])
		return 0;
	for (const char *c = token; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			return err_add("WEFT_PUSH_TOKEN has a space or a "
				       "control character");
	if (!http_url_is_private(url))
		fputs("# note: WEFT_PUSH_TOKEN is sent as plain text: with "
		      "https:// nobody on the way could read it\n", stderr);
	fprintf(to, "Authorization: Bearer %s\n", token);
	return 0;
}

static int put_headers(FILE *to)
{
	enum { MOST = 65536 };
	FILE *const from = arg_headers ? fopen(arg_headers, "re") : NULL;
	int c, n = 0;

	if (arg_headers && !from)
		return err_add("cannot read \"%s\": %s", arg_headers,
			       strerror(errno));
	while (from && n++ < MOST && (c = getc(from)) != EOF)
		putc(c, to);
	const bool is_bad = from && ferror(from);

	if (from)
		fclose(from);
	return is_bad || n >= MOST ?
	       err_add("\"%s\" cannot be read, or is no file of headers",
		       arg_headers) : 0;
}

/* In a file in memory: a command line can be read by all users. */
static int make_headers(struct http_file *f, const char *url)
{
	int status = http_file_init(f);
	FILE *const to = status == 0 ? http_file_open(f) : NULL;

	if (!to)
		return -1;
	status = put_token(to, url) != 0 || put_headers(to) != 0 ? -1 : 0;
	if (fclose(to) != 0)
		status = err_add("there is not enough memory");
	return status;
}

static int send_profile(struct load *load, const char *url,
			const struct http_file *headers)
{
	struct http_file profile;
	const struct ingest in = { (enum ingest_server)arg_server, url,
				   &profile, headers, arg_timeout };
	char size[OUT_NUMBER];
	struct stat made;
	int status = http_file_init(&profile);

	if (status != 0)
		return -1;
	status = load_profile_write(load, profile.path);
	if (status == 0)
		status = ingest_post(&in, load->session);
	if (status == 0 && fstat(profile.fd, &made) == 0)
		out_print(stdout, "sent %s to %s\n",
			  out_number_bytes(size, (uint64_t)made.st_size), url);
	http_file_fini(&profile);
	return status;
}

/* What has no calls is not sent. */
static enum cmd_exit read_and_send(int count, char **operands,
				   const struct http_file *headers)
{
	const struct replay_collect want = { .hist = true, .vm = true };
	enum cmd_exit status;
	struct load load;

	load_want_net(true);
	status = load_open_with(&load, &want, count - 1, operands + 1);
	if (status == CMD_OK) {
		header_print_losses(&load);
		status = header_need_calls(&load);
	}
	if (status == CMD_OK && send_profile(&load, operands[0], headers) != 0)
		status = CMD_UNREADABLE;
	load_close(&load);
	return status;
}

static enum cmd_exit run(int count, char **operands)
{
	const char *const why = count == 0 ? "no URL is given" :
				http_url_refused(operands[0]);
	struct http_file headers;
	enum cmd_exit status = CMD_USAGE;

	if (why) {
		err_add(count == 0 ? "%s%s" : "URL \"%.100s\": %s",
			count == 0 ? "" : operands[0], why);
		return CMD_USAGE;
	}
	if (arg_timeout == 0 || arg_timeout > 3600) {
		err_add("--timeout takes 1 to 3600 seconds");
		return CMD_USAGE;
	}
	if (make_headers(&headers, operands[0]) == 0)
		status = read_and_send(count, operands, &headers);
	http_file_fini(&headers);
	return status;
}

const struct cmd cmd_push = {
	.name = "push",
	.args = "URL TRACE...",
	.summary = "send a profile to Pyroscope or Parca",
	.about =
	"Reads traces or profiles (several are merged), makes one profile as\n"
	"weft export -f pprof does, and posts it to a server that keeps the\n"
	"profiles of many machines: to Pyroscope's /ingest, or to Parca's\n"
	"/profiles/writeraw. It needs curl.\n"
	"\n"
	"The service is what weft record --label service=NAME said, or the\n"
	"program's name. Other labels are sent along if all recorded\n"
	"processes share them. A key keeps its letters, digits and\n"
	"underscores; a value keeps its letters, digits, spaces and any of\n"
	"-_.:/+@. Each other character becomes an underscore.\n"
	"\n"
	"If WEFT_PUSH_TOKEN is set, it is sent with each request, as\n"
	"\"Authorization: Bearer\". --headers is for other ways to log in.\n"
	"Neither can be seen in the list of processes. Redirects are not\n"
	"followed.\n"
	"\n"
	"If no connection can be made, or the server answers 429, or 503 with\n"
	"Retry-After, weft tries three times in all. If the server may have\n"
	"taken the profile and does not say so, weft does not send it again,\n"
	"because it would count twice. The exit status is 2 unless the server\n"
	"answers with a status from 200 to 299.",
	.opts = opts,
	.run = run,
};
