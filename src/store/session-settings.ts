/**
 * Settings of the server for clients that vanish silently: a machine without power or network, a hanging process. They
 * belong to the service's role in its database, so that they also apply behind a pooler, which passes no settings on.
 */
import type postgres from 'postgres';

/** docs/fleet.md states the consequences. */
export const sessionSettings: Readonly<Record<string, string>> = {
  // An idle session of a vanished peer ends after 30 + 3 × 10 s, and one that does not accept its response after 60 s.
  tcp_keepalives_idle: '30s',
  tcp_keepalives_interval: '10s',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '60s',
  // Ends queries whose client is gone.
  client_connection_check_interval: '10s',
  // Ends transactions of silent clients, and so releases their locks.
  idle_in_transaction_session_timeout: '60s',
};

/**
 * Sets them for future sessions. Keeps a setting that the operator has made anywhere, and one that the server does not let
 * this role change.
 */
export async function applySessionSettings(sql: postgres.Sql): Promise<void> {
  const names = Object.keys(sessionSettings);
  const unset = await sql<{ name: string; database: string }[]>`SELECT name, current_database() AS database FROM pg_settings
    WHERE name = ANY (${names}) AND source = 'default'`;
  for (const { name, database } of unset) {
    await sql`ALTER ROLE SESSION_USER IN DATABASE ${sql(database)} SET ${sql(name)} = ${sql.unsafe(`'${sessionSettings[name]!}'`)}`.catch(() => {});
  }
}
