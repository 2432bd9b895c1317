/*-------------------------------------------------------------------------
 *
 * render.h
 *	  Values of a user's columns as text and JSON, without code of the user's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RENDER_H
#define ECP_RENDER_H

#include "access/tupdesc.h"

/* A value as text: as a cast to text has it, if the type is PostgreSQL's own. */
extern Datum ecp_render_text(Datum value, Oid type);

/* A row of these columns as jsonb. */
extern Datum ecp_render_row(TupleDesc desc, const Datum *values,
							const bool *nulls);

#endif							/* ECP_RENDER_H */
