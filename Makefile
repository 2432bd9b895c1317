# ecp: vector search, and a write-optimised index for random keys, for PostgreSQL.
#
#   make                     build for $(PG_CONFIG), on all processors
#   make install             install what is built
#   make deps                install what tests and demo need, from Debian's packages
#   make demo                the whole thing on real data, on a private server
#   make demo-stop           end that server
#   make help                these lines
#
# Tests, all on private servers; test/README says more of each:
#
#   make test                every test
#   make installcheck        pg_regress, isolation and TAP tests on a running server
#   make lint                layering, exports, headers, sizes, formatting
#   make indent              format the sources
#   make test-versions       versions of PostgreSQL, each with two compilers (VERSIONS)
#   make test-packages       packages, built and used in bare systems (ARGS)
#   make test-tiny           betree with few items a page
#   make test-citus          tables that Citus distributes, on a server that has it
#   make test-clients        drivers and frameworks of several languages (CLIENTS)
#   make test-assert         a server with assertions
#   make test-discard        a server that forgets its caches all the time: a day
#   make test-asan           address and undefined-behaviour sanitizers
#   make test-arguments      calls with extreme arguments under sanitizers (CALLS, SEED)
#   make test-valgrind       valgrind
#   make test-mutants        planted bugs, each of which a test must notice (MUTANTS)
#   make test-neon           the kernels of aarch64, in qemu
#   make test-arm64          pg_regress and isolation on an emulated arm64 (TESTS)
#   make coverage            which lines the tests reach
#   make torture             faults under load (ARGS)
#   make damage              statements on indexes with damaged pages (DAMAGE)
#   make fuzz                libFuzzer on the readers of pages (SECONDS)
#   make bench               the client of the benchmarks; test/bench/README
#   make kernels-speed       speed of the distance kernels
#
#   make dist                archives of what is committed, for PGXN (needs zip) too
#   make dist-tar            the one for packages
#   make deb                 Debian's packages of it, in build/deb

# Unless told otherwise, and unless something is removed at the same time.
ifeq ($(MAKELEVEL)$(filter %clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
endif

EXTENSION = ecp ecp_storage ecp_pgvector
MODULE_big = ecp

# Folders and their rooms: src/README says which may need which.  The rooms that no
# index uses are a library of their own, with what they need of the others: there
# are two copies of that, which must not have state in common (src/README,
# "Two libraries").
STORAGE_SOURCES = $(wildcard src/ecp_storage_module.c $(patsubst %,src/device/%/*.c,measure plan place stream))
SHARED_SOURCES = $(wildcard src/device/cost/*.c) $(patsubst %,src/base/%.c,block_stream core_dsm stop_point user_index wait_event)
SOURCES = $(filter-out $(STORAGE_SOURCES),$(wildcard src/*.c src/*/*.c src/*/*/*.c))
OBJS = $(SOURCES:.c=.o)
STORAGE_OBJS = $(STORAGE_SOURCES:.c=.o) $(SHARED_SOURCES:.c=.o)
DATA = $(wildcard sql/*--*.sql)
DOCS = $(wildcard doc/*.md)
PG_CPPFLAGS = -I$(srcdir)/src
SHLIB_LINK = -lm
PG_CFLAGS = -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
# warnings are errors where we test, and only there: a compiler that we do not
# know may have others
ifneq ($(WERROR),)
PG_CFLAGS += -Werror
endif
# so that plain C gives the same numbers where the CPU can fuse a product and a sum
PG_CFLAGS += -ffp-contract=off

PG_CONFIG ?= pg_config
# Tests named pgvector_... need the extension vector, in a version with halfvec (0.7).
PGVECTOR = $(wildcard $(shell $(PG_CONFIG) --sharedir 2>/dev/null)/extension/vector--0.6.2--0.7.0.sql)
REGRESS = $(sort $(filter-out $(if $(PGVECTOR),,pgvector_%),$(patsubst sql/%.sql,%,$(filter-out $(DATA),$(wildcard sql/*.sql)))))
REGRESS_OPTS = --load-extension=ecp
# NAME-stop needs stop points
ISOLATION = $(sort $(filter-out $(if $(findstring -DECP_DEBUG,$(COPT)),,%-stop),$(patsubst test/isolation/specs/%.spec,%,$(wildcard test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=ecp
TAP_TESTS = 1
PROVE_TESTS ?= $(sort $(wildcard test/t/*.pl))
EXTRA_CLEAN = results output_iso tmp_check regression.diffs regression.out build

# Empty where there is no PostgreSQL to build for, which the targets below
# that install it must survive.
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
ifneq ($(PGXS),)
include $(PGXS)

# after the include, which resets them; DOCS into a folder of their own
docmoduledir = ecp
PROVE_FLAGS += -I $(srcdir)/test/perl
# PGXS tracks no header dependencies
$(OBJS) $(STORAGE_OBJS): $(wildcard src/*.h src/*/*.h src/*/*/*.h)

# A library's calls of its own functions stay in it, even if one loaded before has
# functions of the same names, as PostgreSQL 15 leaves all of them visible.  On
# other systems that is the default.
ifneq ($(filter linux freebsd netbsd openbsd,$(PORTNAME)),)
SHLIB_LINK += -Wl,-Bsymbolic
endif

# PGXS has rules for one library; these are for the other.
all: ecp_storage$(DLSUFFIX)
ecp_storage$(DLSUFFIX): $(STORAGE_OBJS)
	$(LINK.shared) -o $@ $(STORAGE_OBJS) $(LDFLAGS) $(LDFLAGS_SL) $(SHLIB_LINK)

.PHONY: install-storage uninstall-storage uninstall-docs clean-storage
install: install-storage
install-storage: all installdirs
	$(INSTALL_SHLIB) ecp_storage$(DLSUFFIX) '$(DESTDIR)$(pkglibdir)/'
uninstall: uninstall-storage
uninstall-storage:
	rm -f '$(DESTDIR)$(pkglibdir)/ecp_storage$(DLSUFFIX)'
# PGXS looks for them below the folder that they have in the sources
uninstall: uninstall-docs
uninstall-docs:
	rm -f $(addprefix '$(DESTDIR)$(docdir)/$(docmoduledir)'/, $(notdir $(DOCS)))
clean: clean-storage
clean-storage:
	rm -f ecp_storage$(DLSUFFIX) $(STORAGE_OBJS) $(STORAGE_OBJS:.o=.bc)

ifeq ($(with_llvm), yes)
all: $(STORAGE_OBJS:.o=.bc)
install: install-storage-bc
install-storage-bc: all installdirs
	$(call install_llvm_module,ecp_storage,$(STORAGE_OBJS))
uninstall: uninstall-storage-bc
uninstall-storage-bc:
	$(call uninstall_llvm_module,ecp_storage)
.PHONY: install-storage-bc uninstall-storage-bc
endif
else
.PHONY: all install installcheck clean
all install installcheck:
	@echo 'No PostgreSQL to build for: run "make deps", or set PG_CONFIG.'; exit 1
clean:
	rm -f $(OBJS) $(STORAGE_OBJS) ecp.so ecp_storage.so
endif

# ----------------------------------------------------------------------
# Targets that are not PGXS's.  The scripts take PG_CONFIG from the
# environment.

export PG_CONFIG
.PHONY: deps test test-versions test-citus test-clients test-tiny torture damage fuzz lint indent demo demo-stop test-assert test-discard test-asan test-arguments test-valgrind test-mutants test-neon test-arm64 coverage kernels-speed bench dist dist-tar deb test-packages help

help:
	@sed -n 's/^#   make /make /p' $(firstword $(MAKEFILE_LIST))

deps:
	@src/tools/deps.sh test

test: deps
	@test/run

# VERSIONS of PostgreSQL, each with two compilers: test/versions tells how it
# finds the servers
test-versions:
	@src/tools/deps.sh extra
	@test/versions $(VERSIONS)

# TESTS of pg_regress and isolation on an emulated arm64 (default: all)
test-arm64:
	@src/tools/deps.sh extra
	@test/arm64 $(TESTS)

# MUTANTS by name, "ecp-*" too (default: all)
test-mutants: deps
	@perl test/mutants/mutants.pl $(MUTANTS)

# betree with few items a page, so that little data makes a high tree.  Not the
# tests whose output has plans, or counts of pages, items or buffers, which
# follow from the size of the index, or damage pages of a known tree.
TINY_REGRESS = betree_build betree_build_parallel betree_like betree_options betree_order betree_reach betree_vacuum
TINY_ISOLATION = betree-drain-stop betree-hot betree-indexonly-vacuum betree-reach betree-scan-flush betree-serializable betree-tails betree-unique betree-unique-nodes
TINY_TAP = 020_betree_crash 022_betree_differential 023_betree_options 027_betree_unique 028_betree_queue 051_betree_duplicates
test-tiny: deps
	@COPT=-DBETREE_TINY BETREE_TINY=1 test/run "regress:$(TINY_REGRESS)" "isolation:$(TINY_ISOLATION)" $(TINY_TAP:%=tap:%)

# on the server of PG_CONFIG, which has Citus
test-citus: deps
	@[ -e "$$($(PG_CONFIG) --sharedir)/extension/citus.control" ] || { \
		echo 'The server of "$(PG_CONFIG)" has no Citus: install it, or set PG_CONFIG.'; exit 1; }
	@test/run tap:098_extension_citus

# drivers and frameworks of several languages, from their registries (CLIENTS)
test-clients:
	@src/tools/deps.sh build
	@test/clients/run $(CLIENTS)

# test/torture/README tells what DAMAGE can be
damage: deps
	@test/torture/damage --am ecp $(DAMAGE)
	@test/torture/damage --am betree $(DAMAGE)

# and what ARGS
torture: deps
	@test/torture/run $(ARGS)

# libFuzzer on the readers of pages, SECONDS for each of the two
SECONDS ?= 60
fuzz:
	@src/tools/deps.sh extra
	@test/fuzz/run $(SECONDS)

lint: all
	@src/tools/lint.sh

indent:
	src/tools/indent.sh --typedefs
	src/tools/indent.sh

# packaging/README tells who needs them
DIST = ecp-$(shell sed -n 's/^  "version": "\(.*\)",$$/\1/p' META.json)
# HOME_PAGE=https://..., CONTACT="Name <mail>": what the archives say of these
dist: dist-tar
	@rm -f build/$(DIST).zip
	cd build/dist && zip -qr ../$(DIST).zip $(DIST)
	perl packaging/sbom.pl build/dist/$(DIST) "$(HOME_PAGE)" >build/$(DIST).spdx.json

dist-tar:
	@rm -rf build/dist && mkdir -p build/dist
	git archive --prefix=$(DIST)/ HEAD | tar -C build/dist -x
	perl packaging/addresses.pl build/dist/$(DIST) "$(HOME_PAGE)" "$(CONTACT)"
	tar -C build/dist --sort=name --owner=0 --group=0 -czf build/$(DIST).tar.gz $(DIST)

# in a copy, since the build writes debian/control for the release of Debian
deb: dist-tar
	@rm -rf build/deb && mkdir build/deb
	@tar -C build/deb -xf build/$(DIST).tar.gz
	@cp build/$(DIST).tar.gz build/deb/$(subst -,_,$(DIST)).orig.tar.gz
	cd build/deb/$(DIST) && unset MAKEFLAGS MAKELEVEL MFLAGS && dpkg-buildpackage -us -uc -j$(shell nproc)

test-packages:
	@test/packages $(ARGS)

demo:
	@echo 'looking for what the demo needs ...'
	@src/tools/deps.sh build
	@test/demo/run

demo-stop:
	@test/demo/run stop

test-assert test-discard test-asan test-arguments test-valgrind test-neon coverage:
	@src/tools/deps.sh extra
	@test/special $@

kernels-speed:
	@mkdir -p build
	gcc $(shell $(PG_CONFIG) --cppflags) $(shell $(PG_CONFIG) --cflags) -fPIC -ffp-contract=off \
		-I$(shell $(PG_CONFIG) --includedir-server) -Isrc -Itest/unit \
		-o build/kernels_speed test/bench/kernels_speed.c \
		$(filter-out src/vector/vector_ops.c,$(wildcard src/vector/*.c)) -lm
	build/kernels_speed

# README in test/bench tells how to call it
bench: build/ecpbench
build/ecpbench: test/bench/ecpbench.c $(wildcard test/bench/bench_*.c) test/bench/bench.h
	@mkdir -p build
	gcc -O3 -march=native -fno-math-errno -fno-trapping-math -fno-signed-zeros -fassociative-math -g -Wall -Wextra -D_GNU_SOURCE \
		-DECPBENCH_COMMIT='"$(shell git rev-parse --short HEAD 2>/dev/null)"' \
		-I$(shell $(PG_CONFIG) --includedir) -o $@ $(filter %.c,$^) \
		-L$(shell $(PG_CONFIG) --libdir) -lpq -lpthread -lm
