/** Lists of the rows of one account, the newest first. */
import { type SQL, sql, type SQLWrapper } from './orm.ts';

/**
 * The condition that a row is of the account, for queries that order by the account before the id. Only the index of the list has that order.
 * With `=`, PostgreSQL knows that the account is the same in all rows, so that an index by id alone will do, and reads that one for accounts with
 * many rows. It expects these evenly among the others, but may have to pass over the rows that all other accounts have had for months.
 */
export const isOfAccount = (column: SQLWrapper, accountId: string): SQL => sql`${column} = ANY (ARRAY[${accountId}]::text[])`;
