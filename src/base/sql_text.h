/*-------------------------------------------------------------------------
 *
 * sql_text.h
 *	  Names in the texts of queries and messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SQL_TEXT_H
#define ECP_SQL_TEXT_H

/* The schema-qualified, quoted name of a relation; an error if there is none. */
extern char *ecp_sql_relname(Oid relid);

/*
 * Text with %N replaced by the quoted name of the schema that holds the
 * extension, which may be moved.
 */
extern char *ecp_sql_text(Oid nspoid, const char *sql);

#endif							/* ECP_SQL_TEXT_H */
