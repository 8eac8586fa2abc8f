import { sql } from 'drizzle-orm';
import type { Tx } from '../../src/store/database.ts';

/** Number of rows of the tables of the service, or of another schema, that the session has read in this transaction and has not reported yet. Compare two. */
export async function rowsReadIn(tx: Tx, schema = 'public'): Promise<number> {
  const [read] = await tx.execute<{ rows: number }>(sql`SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS rows
    FROM pg_stat_xact_user_tables WHERE schemaname = ${schema}`);
  return read!.rows;
}
