/**
 * Reads a postgres:// URL once for both drivers, with libpq's meaning. By themselves, `pg` verifies the certificate of
 * `sslmode=require`, `postgres` does not, and only one of them knows `sslrootcert`, `host` and IPv6. The mode of pg-connection-string that
 * follows libpq knows neither `allow` nor `sslrootcert=system`, nor the CAs that Node trusts for `verify-ca`.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { isIP } from 'node:net';
import type pg from 'pg';
import type postgres from 'postgres';

export const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof sslModes)[number];

/** Parameters of libpq that concern the client. The server would refuse them. */
const clientParameters = ['host', 'port', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'channel_binding', 'gssencmode'];

export interface ConnectionTarget {
  /** the URL without the parameters of the client */
  url: string;
  /** a name, an address (IPv6 without brackets), or the folder of a Unix socket; empty: the driver's default */
  host: string;
  port: number;
  /** undefined if the URL does not mention TLS */
  ssl: false | TlsOptions | undefined;
}

/** Throws an Error with a sentence if `sslmode` is unknown or a file cannot be read. */
export function parseConnectionUrl(text: string): ConnectionTarget {
  const url = new URL(text);
  const parameters = Object.fromEntries(clientParameters.map((name) => [name, url.searchParams.get(name) ?? undefined]));
  for (const name of clientParameters) url.searchParams.delete(name);
  const host = parameters['host'] ?? decodeURIComponent(url.hostname).replace(/^\[(.+)\]$/, '$1');
  const port = Number(parameters['port'] ?? (url.port || 5432));
  if (host.startsWith('/') && url.hostname !== '') url.hostname = 'localhost';
  return { url: url.href, host, port, ssl: tlsOptions(parameters, host) };
}

/** Whether the URL's `sslmode` is known or missing. True for what is no URL at all. */
export function hasKnownSslMode(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const mode = new URL(text).searchParams.get('sslmode');
  return mode === null || sslModes.includes(mode as SslMode);
}

function tlsOptions(parameters: Record<string, string | undefined>, host: string): ConnectionTarget['ssl'] {
  const { sslmode, sslrootcert, sslcert, sslkey } = parameters;
  const mode = sslmode ?? (sslrootcert === undefined && sslcert === undefined ? undefined : 'verify-full');
  if (mode === undefined) return undefined;
  if (!sslModes.includes(mode as SslMode)) throw new Error(`sslmode must be one of ${sslModes.join(', ')}, not ${mode}`);
  // libpq ignores TLS on Unix sockets.
  if (mode === 'disable' || host.startsWith('/')) return false;
  const isVerified = mode.startsWith('verify-') || sslrootcert !== undefined;
  return {
    // The name that is verified. Without it, an IP address would be taken for `localhost`.
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: isVerified,
    ...(isVerified && mode !== 'verify-full' ? { checkServerIdentity: () => undefined } : {}),
    ...(sslrootcert === undefined || sslrootcert === 'system' ? {} : { ca: contentOf('sslrootcert', sslrootcert) }),
    ...(sslcert === undefined ? {} : { cert: contentOf('sslcert', sslcert) }),
    ...(sslkey === undefined ? {} : { key: contentOf('sslkey', sslkey) }),
  };
}

function contentOf(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`${name}: ${path} cannot be read (${(cause as NodeJS.ErrnoException).code})`, { cause });
  }
}

/**
 * Variables of libpq that a driver obeys where the URL says nothing, often only one of the two. An operator may have set them for psql:
 * a worker whose queue is read-only fails. Those that only complete the URL, such as PGPASSWORD, are left.
 */
const variablesOfOthers = ['PGOPTIONS', 'PGSSL', 'PGSSLMODE', 'PGSSLNEGOTIATION', 'PGTARGETSESSIONATTRS'];

function dropVariablesOfOthers(): void {
  for (const name of variablesOfOthers) delete process.env[name];
}

/** What a client of `postgres` needs. */
export function postgresOptions(text: string): { url: string; options: postgres.Options<Record<string, never>> } {
  dropVariablesOfOthers();
  const { url, host, port, ssl } = parseConnectionUrl(text);
  const place = host === '' ? {} : host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host: [host], port: [port] };
  return { url, options: { ...place, ...(ssl === undefined ? {} : { ssl }) } as postgres.Options<Record<string, never>> };
}

/** What a client or a pool of `pg` needs. */
export function pgOptions(text: string): pg.ClientConfig {
  dropVariablesOfOthers();
  const { url, host, port, ssl } = parseConnectionUrl(text);
  const target = new URL(url);
  // What a connection string says replaces the options, so the place is a part of it.
  if (host !== '') target.searchParams.set('host', host);
  target.searchParams.set('port', String(port));
  return { connectionString: target.href, ...(ssl === undefined ? {} : { ssl }) };
}
