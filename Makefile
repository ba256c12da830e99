# weft: builds, tests, demo, benches. Each part's rules stand in its own
# build.mk; this file holds what they share.
# SPDX-License-Identifier: MIT
PREFIX ?= /usr/local
DESTDIR ?=
comma := ,

# SAN=address,undefined or SAN=thread builds with that sanitizer, in a build
# folder of its own. WERROR= lets warnings pass.
SAN ?=
WERROR ?= -Werror
ifeq ($(SAN),)
B ?= build
SANFLAGS :=
else
B ?= build/san-$(subst $(comma),-,$(SAN))
SANFLAGS := -fsanitize=$(SAN) -fno-sanitize-recover=all
endif

# The environment's may be those of a program that is to be recorded.
override CFLAGS := $(filter-out -finstrument-functions%,$(CFLAGS))
OPT ?= -O2 -g
WARN := -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes \
	-Wstrict-prototypes -Wundef -Wpointer-arith -Wwrite-strings $(WERROR)
# What depends on headers is named by both paths: B may be absolute or not.
DEPENDS = -MMD -MP -MT $(abspath $@) \
	-MT $(patsubst $(CURDIR)/%,%,$(abspath $@))
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE -I. $(OPT) $(WARN) $(SANFLAGS) $(DEPENDS) \
	$(CFLAGS)

# A system without it gets it later, from what this makefile runs: until then,
# nothing is said about packages.
PKG_CONFIG := $(shell command -v pkg-config || echo :)

# The targets that install what is missing come here again when they have.
ifneq ($(filter all host recorder analyzer plugin,\
	$(or $(MAKECMDGOALS),all)),)
ifeq ($(shell command -v $(firstword $(CC))),)
$(error There is no $(firstword $(CC)). This installs what building needs: \
	sh tests/deps.sh build)
endif
endif

# One short line a file; V=1 prints whole commands.
V ?=
Q := $(if $(V),,@)
say = $(if $(V),,@printf '%-5s %s\n' $(1) $(2))

.PHONY: all host recorder analyzer plugin clean
all: host recorder analyzer plugin

include $(wildcard tracer/host/build.mk tracer/lua/build.mk \
	tracer/recorder/build.mk \
	analyzer/build.mk tests/build.mk docs/build.mk)

clean:
	rm -rf build
