/** `reelmend verify …`: checks signed proofs with keys that the caller trusts. Needs no database. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { Command } from 'commander';
import type { Jwks } from '../evidence/index.ts';
import { fetch } from './fetch.ts';
import { parseLargeJson } from './large-json.ts';
import { reasonOf, withCause } from './reason.ts';
import { print, terminal, warn } from './terminal.ts';

interface VerifyOptions {
  /** file or URL of the published key set */
  jwks?: string;
  /** RFC 7638 thumbprints of keys that the caller trusts */
  thumbprint?: string[];
}

/** Loaded when a command needs it: the cryptography delays every other command. */
const evidence = () => import('../evidence/index.ts');

/** exit status for an intact document whose signer is unknown */
const unverifiedStatus = 2;

/** `-` is standard input. */
async function read(path: string): Promise<Buffer> {
  if (path === '-') return buffer(terminal().stdin);
  return readFile(path).catch((cause: Error) => {
    // Node does not name a folder.
    throw new Error(`Cannot read ${reasonOf(Object.assign(cause, { path }))}`, { cause });
  });
}

const nameOf = (path: string) => (path === '-' ? 'Standard input' : path);

/** Parses a JSON object; undefined for anything else. */
function asObject(json: Buffer): Record<string, unknown> | undefined {
  try {
    const value = parseLargeJson(json);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** The keys that a document is checked with. */
interface Keys {
  keys: Jwks;
  /** whether the caller trusts them. Keys inside the checked file are not trusted: whoever wrote the file chose them */
  trusted: boolean;
}

/** Returns the keys of `--jwks`, or else of the file itself, limited to those of `--thumbprint` if given. */
async function keysFor({ jwks, thumbprint }: VerifyOptions, file: Record<string, unknown> | undefined): Promise<Keys> {
  if (jwks === undefined && file?.['jwks'] === undefined) {
    throw new Error('--jwks: name a file or URL with the published keys (/.well-known/jwks.json of the service).');
  }
  const { jwks: keySet, pinnedKeys } = await evidence();
  const parsed = keySet.safeParse(jwks === undefined ? file!['jwks'] : asObject(await readJwks(jwks)));
  if (!parsed.success) throw new Error(`${jwks ?? 'The jwks of the file'} is not a set of Ed25519 public keys.`);
  if (thumbprint === undefined) return { keys: parsed.data, trusted: jwks !== undefined };
  return { keys: await pinnedKeys(parsed.data, thumbprint), trusted: true };
}

const urlPattern = /^https?:\/\//i;
const fetchTimeoutMs = 10_000;

async function readJwks(source: string): Promise<Buffer> {
  if (!urlPattern.test(source)) return read(source);
  const { protocol, hostname } = new URL(source);
  if (protocol === 'http:' && !isLoopback(hostname)) {
    throw new Error('--jwks: keys fetched over http prove nothing; use https.');
  }
  try {
    const response = await fetch(source, { redirect: 'error', signal: AbortSignal.timeout(fetchTimeoutMs) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (cause) {
    throw new Error(withCause(`Cannot read ${source}.`, cause), { cause });
  }
}

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);

/** Prints the result. With untrusted keys the signer is unknown, and the exit status says so. */
function report({ trusted }: Keys, facts: object): void {
  print({ valid: trusted, result: trusted ? 'verified' : 'unverified', ...facts });
  if (trusted) return;
  warn(
    'reelmend: unverified: checked only with the keys inside the file, which anyone could have made; ' +
      'name the published keys (--jwks) or the thumbprint of a key that you trust (--thumbprint).',
  );
  terminal().status = unverifiedStatus;
}

/** Checks the form only: three parts. The verification checks their content. */
const isCertificate = (value: unknown): value is string => typeof value === 'string' && /^[^.\s]+\.[^.\s]+\.[^.\s]+$/.test(value);

/**
 * Verifies a certificate. The file is the certificate itself (a compact JWS), the API's response with it in
 * `certificate`, or an export with many in `certificates`.
 */
async function certificateCommand(path: string, options: VerifyOptions): Promise<void> {
  const bytes = await read(path);
  const file = asObject(bytes);
  if (Array.isArray(file?.['certificates'])) {
    const keys = await keysFor(options, file);
    return report(keys, { certificates: await verifyAll(file['certificates'], keys.keys) });
  }
  const jws = file === undefined ? bytes.toString('utf8').trim() : file['certificate'];
  if (!isCertificate(jws)) throw new Error(`${nameOf(path)} contains no certificate.`);
  const keys = await keysFor(options, file);
  const { verifyCertificate } = await evidence();
  report(keys, { certificate: await verifyCertificate(jws, keys.keys) });
}

/** Verifies each certificate. Throws for the first invalid one, with its position. */
async function verifyAll(exported: unknown[], keys: Jwks) {
  const { verifyCertificate } = await evidence();
  const payloads = [];
  for (const [at, one] of exported.entries()) {
    const jws = (one as { certificate?: unknown } | null)?.certificate;
    if (!isCertificate(jws)) throw new Error(`Entry ${at} (counted from 0) is not a certificate.`);
    payloads.push(
      await verifyCertificate(jws, keys).catch((cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`Certificate ${at} (counted from 0): ${reason}`, { cause });
      }),
    );
  }
  return payloads;
}

/** Verifies an audit log: an export (`entries`, oldest first) or the API's response with the whole log (`data`, newest first). */
async function auditLogCommand(path: string, options: VerifyOptions): Promise<void> {
  const file = asObject(await read(path));
  const newestFirst = file?.['data'];
  const entries = Array.isArray(newestFirst) ? newestFirst.toReversed() : file?.['entries'];
  const head = file?.['head'];
  if (!Array.isArray(entries) || typeof head !== 'string') throw new Error(`${nameOf(path)} contains no audit log.`);
  const keys = await keysFor(options, file);
  const { verifyAuditLog } = await evidence();
  const result = await verifyAuditLog({ account_id: file?.['account_id'], entries, head }, keys.keys);
  if (result.ok) return report(keys, { size: result.size, hash: result.hash });
  const { index, reason } = result;
  print({ valid: false, result: 'invalid', first_bad_index: index, reason });
  throw new Error('atHead' in result ? reason : `The log is invalid: entry ${index} (counted from 0). ${reason}`);
}

const collect = (value: string, before: string[] = []): string[] => [...before, value];

const withKeys = (command: Command): Command =>
  command
    .option('--jwks <file or URL>', 'the published key set, from a source that you trust')
    .option('--thumbprint <value>', 'RFC 7638 thumbprint (kid) of a key that you trust; may be repeated', collect);

export function verifyCommands(): Command {
  const verify = new Command('verify').description(
    'check proofs offline; exit status 1: invalid, 2: intact, but the signer is unknown',
  );
  const certificate = verify
    .command('certificate')
    .description('check a deletion certificate and print its content')
    .argument('<file>', "a compact JWS, the API's response, or the output of `reelmend jobs certificate` or `reelmend certificates export`; - reads standard input");
  withKeys(certificate).action(certificateCommand);
  const auditLog = verify
    .command('audit-log')
    .description('check an exported audit log; reports the first invalid entry')
    .argument('<file>', 'the output of `reelmend audit-log` or `reelmend audit export`; - reads standard input');
  withKeys(auditLog).action(auditLogCommand);
  return verify;
}
