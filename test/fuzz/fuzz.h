/*-------------------------------------------------------------------------
 *
 * fuzz.h
 *	  A program of libFuzzer that reads the pages of an index: see fuzz_server.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

/* A file of a sound index. */
typedef struct FuzzFile
{
	const char *name;
	BlockNumber nblocks;
	char	   *pages;			/* sound ones */
} FuzzFile;

/* The index that is read: its pages are in buffers, with the damage. */
extern RelationData fuzz_relation;
extern const FuzzFile *fuzz_file;

/* Is the file one that the program knows how to read? */
extern bool fuzz_accepts(const char *name);

/* Set the relation's definition up for fuzz_file. */
extern void fuzz_define(void);

/* Read the pages in every way; an error may end it at any place. */
extern void fuzz_read(const uint8 *choices, size_t nchoices);

/* Call a function; false if an error ended it. */
extern bool fuzz_try(void (*function) (void *), void *arg);

extern void fuzz_finding(const char *fmt,...) pg_attribute_printf(1, 2);

#endif							/* FUZZ_H */
