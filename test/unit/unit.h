/*-------------------------------------------------------------------------
 *
 * unit.h
 *	  What a C unit test needs: numbered TAP lines for prove.
 *
 * A unit test is a program of its own, test/unit/NAME.c.  It is compiled with
 * the server's headers and src/ in its include path, together with the files
 * that a line "link: src/..." of its head comment names, and run by prove.
 * Only code that needs no running server can be tested this way; the rest
 * belongs in pg_regress.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_UNIT_H
#define ECP_UNIT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "vector/vector_kernels.h"

static int	unit_count = 0;
static int	unit_failed = 0;

/* One test: its outcome and its name, a printf format. */
static bool unit_ok(bool passed, const char *name,...)
			__attribute__((format(printf, 2, 3)));

static bool
unit_ok(bool passed, const char *name,...)
{
	va_list		args;

	unit_count++;
	if (!passed)
		unit_failed++;
	printf("%s %d - ", passed ? "ok" : "not ok", unit_count);
	va_start(args, name);
	vprintf(name, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	return passed;
}

/* Test each instruction set that the machine has, with its kernels selected. */
static inline void
unit_each_isa(void (*test) (const char *isa))
{
	static const char *const names[] = {"scalar", "avx2", "avx512", "neon", "dotprod"};

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (ecp_kernels_select(names[i]))
			test(names[i]);
		else
			unit_ok(true, "%s # SKIP not on this machine", names[i]);
	}
}

/* The end of main(): "return unit_done();" */
static int
unit_done(void)
{
	printf("1..%d\n", unit_count);
	return unit_failed == 0 && unit_count > 0 ? 0 : 1;
}

#endif							/* ECP_UNIT_H */
