/* dump_raw.h - chunks as they are, word by word.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_DUMP_RAW_H
#define WEFT_ANALYZER_CMD_DUMP_RAW_H

/* Print all chunks of the trace. 0, or -1 with the cause in the chain. */
int dump_raw_trace(const char *path);

#endif
