/* in_metadata.h - CTF metadata: is the text whole, and what does it say?
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_METADATA_H
#define WEFT_ANALYZER_IN_IN_METADATA_H

struct in_metadata {
	char *text;
	char uuid[40];       /* what tells this trace from others */
	int has_packets;     /* it came in packets, as LTTng writes it */
	unsigned char packet_uuid[16];
	int is_lttng;        /* packets of streams are laid out as LTTng's */
	int has_chunks;      /* it names an event weft:chunk */
};

/* 0, or -1 and why: what is wrong with it. Ends with in_metadata_fini in either
 * case. */
int in_metadata_load(const char *path, struct in_metadata *, const char **why);
void in_metadata_fini(struct in_metadata *);

#endif
