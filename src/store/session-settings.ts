/**
 * What the server does about clients that are gone without a word: a machine that lost its power or its network, a process that
 * hangs. The settings belong to the service's role in its database, so that they also hold behind a pooler, which passes no
 * settings on.
 */
import type postgres from 'postgres';

/** docs/operating.md states what follows from these. */
export const sessionSettings: Readonly<Record<string, string>> = {
  // An idle session of a peer that is gone ends after 30 + 3 × 10 s, and one that does not take its answer after 60 s.
  tcp_keepalives_idle: '30s',
  tcp_keepalives_interval: '10s',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '60s',
  // A query whose client is gone ends.
  client_connection_check_interval: '10s',
  // The locks of a transaction whose client says nothing more.
  idle_in_transaction_session_timeout: '60s',
};

/**
 * Sets them for sessions to come. A setting that the operator has made anywhere stays, and so does one that the server does not
 * let this role change.
 */
export async function applySessionSettings(sql: postgres.Sql): Promise<void> {
  const names = Object.keys(sessionSettings);
  const unset = await sql<{ name: string; database: string }[]>`SELECT name, current_database() AS database FROM pg_settings
    WHERE name = ANY (${names}) AND source = 'default'`;
  for (const { name, database } of unset) {
    await sql`ALTER ROLE SESSION_USER IN DATABASE ${sql(database)} SET ${sql(name)} = ${sql.unsafe(`'${sessionSettings[name]!}'`)}`.catch(() => {});
  }
}
