/* sym_place.h - what code lies at sampled addresses.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/mem.h"
#include "analyzer/model/session.h"
#include "analyzer/sym/sym_options.h"

/* Fill in name, begin and inlined of the session's places, and which are
 * PLACE_PROBE; PLACE_OWN and func are left to net_place. As sym_name does, each
 * ELF file is read in a process of its own; what cannot be read has no names.
 * Strings go into the arena. */
void sym_places(struct session *, struct arena *, const struct sym_options *);
