/*-------------------------------------------------------------------------
 *
 * bits.h
 *	  Words of bits, one for each slot of a page or each row of a block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BITS_H
#define ECP_BITS_H

/* The lowest n bits of a word. */
#define EcpLowBits(n) \
	((n) >= 64 ? ~UINT64CONST(0) : (UINT64CONST(1) << (n)) - 1)

#endif							/* ECP_BITS_H */
