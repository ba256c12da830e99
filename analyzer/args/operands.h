/* operands.h - which traces are meant: those that are named, those in a folder
 * that is named, or the newest one here.
 * SPDX-License-Identifier: MIT */
#pragma once

/* Replace each folder that is no trace and holds several by these, in the order
 * of their names, and no operand at all by the newest trace here; stderr is
 * told. The folders that weft makes of one recording (snapshot-1, snapshot-2)
 * are read as one. Returns how many there are then; *paths is valid until
 * weft ends. -1 with the cause in the chain: there is none. */
int operands_find(int count, char **operands, char ***paths);

/* The only one, for commands that read one trace; NULL with the cause in the
 * chain. */
char *operands_one(int count, char **operands);
