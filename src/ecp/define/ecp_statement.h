/*-------------------------------------------------------------------------
 *
 * ecp_statement.h
 *	  CREATE INDEX with a column of a type that has no operator class: the error
 *	  says what to do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_STATEMENT_H
#define ECP_STATEMENT_H

/* For a message about a column that is not a vector. */
#define ECP_VECTOR_TYPES_HINT \
	"Vectors are of type real[], double precision[], bytea or bit; or of pgvector's types, by the extension ecp_pgvector."

/* Called by the handler, with its own OID. */
extern void ecp_statement_check(Oid handler);

#endif							/* ECP_STATEMENT_H */
