/*-------------------------------------------------------------------------
 *
 * user_row.h
 *	  Rows that SQL functions return.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_USER_ROW_H
#define ECP_USER_ROW_H

#include "fmgr.h"

/*
 * The row of "n" columns that a function returns.  An error if it was declared
 * with another number of them, as by the script of another version.
 */
extern Datum ecp_user_row(FunctionCallInfo fcinfo, int n, const Datum *values,
						  const bool *nulls);

#endif							/* ECP_USER_ROW_H */
