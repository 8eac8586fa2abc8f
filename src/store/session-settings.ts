/**
 * Settings of the service's role in its database. So they also apply behind a pooler, which passes no settings on.
 */
import type postgres from 'postgres';

/**
 * Settings for clients that vanish silently: a machine without power or network, a hanging process. docs/fleet.md states the
 * consequences.
 */
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
 * What the service relies on, whatever the operator has set for the server, the role or the database: its locks make its transactions
 * correct at this isolation level, the drivers read these formats of times and bytes only, and days are promised as 24 hours, which they
 * are not where the clocks change. docs/database-and-storage.md states them.
 */
const requiredSettings: Readonly<Record<string, string>> = {
  default_transaction_isolation: 'read committed',
  datestyle: 'ISO',
  bytea_output: 'hex',
  timezone: 'UTC',
};

/**
 * Those of them that PgBouncer keeps for each client. Each connection asks for them. Otherwise it gets the values of the first session of
 * PgBouncer's pool, even if that session began before they were set for the role.
 */
export const clientSettings = { DateStyle: 'ISO', TimeZone: 'UTC' } as const;

/** The same for a driver that cannot ask for them when it connects. */
export const setClientSettings = Object.entries(clientSettings).map(([name, value]) => `SET ${name} = '${value}'`).join('; ');

/** Makes the settings that differ from the required ones. They apply to future sessions. */
export async function applyRequiredSettings(sql: postgres.Sql): Promise<void> {
  const names = Object.keys(requiredSettings);
  // The date style ends with an order of day and month, which only matters for input.
  const found = await sql<{ name: string; value: string }[]>`SELECT name, split_part(setting, ',', 1) AS value FROM pg_settings
    WHERE lower(name) = ANY (${names})`;
  for (const { name, value } of found) {
    const required = requiredSettings[name.toLowerCase()]!;
    if (value !== required) await setForRole(sql, name, required);
  }
}

async function setForRole(sql: postgres.Sql, name: string, value: string): Promise<void> {
  const [{ database }] = await sql<[{ database: string }]>`SELECT current_database() AS database`;
  await sql`ALTER ROLE SESSION_USER IN DATABASE ${sql(database)} SET ${sql(name)} = ${sql.unsafe(`'${value}'`)}`;
}

/**
 * Sets the session settings for future sessions. Keeps a setting that the operator has made anywhere, and one that the server does not let
 * this role change.
 */
export async function applySessionSettings(sql: postgres.Sql): Promise<void> {
  const names = Object.keys(sessionSettings);
  const unset = await sql<{ name: string }[]>`SELECT name FROM pg_settings WHERE name = ANY (${names}) AND source = 'default'`;
  for (const { name } of unset) await setForRole(sql, name, sessionSettings[name]!).catch(() => {});
}
