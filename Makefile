# ecp: vector and streaming indexes for PostgreSQL.
#
#   make && make install     build and install for $(PG_CONFIG)
#   make demo                the whole thing on real data, on a private server
#   make test                every test, on private servers
#   make lint                layering, exports, headers, sizes, formatting

EXTENSION = ecp
MODULE_big = ecp

# One folder after the other in the direction of the data's way: base, then
# what a vector is, then what storage costs, then the two access methods.
SOURCES = $(wildcard $(foreach dir,src src/base src/vector src/device src/ecp src/betree,$(dir)/*.c))
OBJS = $(SOURCES:.c=.o)
DATA = $(wildcard sql/*--*.sql)
PG_CPPFLAGS = -I$(srcdir)/src
SHLIB_LINK = -lm
PG_CFLAGS = -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -Werror

REGRESS = $(sort $(patsubst sql/%.sql,%,$(filter-out sql/ecp%--%.sql,$(wildcard sql/*.sql))))
REGRESS_OPTS = --load-extension=ecp
ISOLATION = $(sort $(patsubst test/isolation/specs/%.spec,%,$(wildcard test/isolation/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=ecp
TAP_TESTS = 1
PROVE_TESTS ?= $(sort $(wildcard test/t/*.pl))
EXTRA_CLEAN = results output_iso tmp_check regression.diffs regression.out

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# after the include, which resets them
PROVE_FLAGS += -I $(srcdir)/test/perl
# PGXS tracks no header dependencies
$(OBJS): $(wildcard src/*.h src/*/*.h)
