/** `reelmend verify …`: proofs checked against keys that the caller trusts. No database is needed. */
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { jwks as keySet, type Jwks, pinnedKeys, verifyAuditLog, verifyCertificate } from '../evidence/index.ts';

interface VerifyOptions {
  /** file or URL of the published key set, which the caller trusts */
  jwks?: string;
  /** RFC 7638 thumbprints of keys that the caller trusts */
  thumbprint?: string[];
}

/** Exit status for a document that is whole, and of which nobody knows who signed it. */
const unverifiedStatus = 2;

const print = (value: unknown) => console.log(JSON.stringify(value, null, 2));

async function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`Cannot read ${path}.`, { cause });
  });
}

/** undefined for what is no JSON object */
function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Keys that a document is checked with. */
interface Keys {
  keys: Jwks;
  /** whether the caller trusts them: the keys that a file brings along are those of whoever wrote the file */
  trusted: boolean;
}

/** The keys of `--jwks`, else those that the file brings along; of these the ones of `--thumbprint`, where it is given. */
async function keysFor({ jwks, thumbprint }: VerifyOptions, file: Record<string, unknown> | undefined): Promise<Keys> {
  if (jwks === undefined && file?.['jwks'] === undefined) {
    throw new Error('--jwks: name a file or URL with the published keys (/.well-known/jwks.json of the service).');
  }
  const parsed = keySet.safeParse(jwks === undefined ? file!['jwks'] : asObject(await readJwks(jwks)));
  if (!parsed.success) throw new Error(`${jwks ?? 'The jwks of the file'} is no set of Ed25519 public keys.`);
  if (thumbprint === undefined) return { keys: parsed.data, trusted: jwks !== undefined };
  return { keys: await pinnedKeys(parsed.data, thumbprint), trusted: true };
}

const urlPattern = /^https?:\/\//i;
const fetchTimeoutMs = 10_000;

async function readJwks(source: string): Promise<string> {
  if (!urlPattern.test(source)) return read(source);
  const { protocol, hostname } = new URL(source);
  if (protocol === 'http:' && !isLoopback(hostname)) {
    throw new Error('--jwks: keys that come over http prove nothing; use https.');
  }
  try {
    const response = await fetch(source, { redirect: 'error', signal: AbortSignal.timeout(fetchTimeoutMs) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await response.text();
  } catch (cause) {
    throw new Error(`Cannot read ${source}.`, { cause });
  }
}

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);

/** Prints what holds. Without a trusted key that is not who signed it, and the exit status says so. */
function report({ trusted }: Keys, facts: object): void {
  print({ valid: trusted, result: trusted ? 'verified' : 'unverified', ...facts });
  if (trusted) return;
  console.error(
    'reelmend: unverified: checked with the keys that the file itself brings, which anybody can make; ' +
      'name the published keys (--jwks) or the thumbprint of one that you trust (--thumbprint).',
  );
  process.exitCode = unverifiedStatus;
}

/** Whatever has three parts; what they hold is for the verification. */
const isCertificate = (value: unknown): value is string => typeof value === 'string' && /^[^.\s]+\.[^.\s]+\.[^.\s]+$/.test(value);

/**
 * The file is the certificate itself (a compact JWS), or what the API answered, with it in `certificate`, or an export,
 * with many in `certificates`.
 */
async function certificateCommand(path: string, options: VerifyOptions): Promise<void> {
  const text = await read(path);
  const file = asObject(text);
  if (Array.isArray(file?.['certificates'])) {
    const keys = await keysFor(options, file);
    return report(keys, { certificates: await verifyAll(file['certificates'], keys.keys) });
  }
  const jws = file === undefined ? text.trim() : file['certificate'];
  if (!isCertificate(jws)) throw new Error(`${path} holds no certificate.`);
  const keys = await keysFor(options, file);
  report(keys, { certificate: await verifyCertificate(jws, keys.keys) });
}

/** Throws for the first that proves nothing, with its place. */
async function verifyAll(exported: unknown[], keys: Jwks) {
  const payloads = [];
  for (const [at, one] of exported.entries()) {
    const jws = (one as { certificate?: unknown } | null)?.certificate;
    if (!isCertificate(jws)) throw new Error(`Certificate ${at} (counted from 0) is none.`);
    payloads.push(
      await verifyCertificate(jws, keys).catch((cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`Certificate ${at} (counted from 0): ${reason}`, { cause });
      }),
    );
  }
  return payloads;
}

/** The file is an export (`entries`, oldest first), or the API's answer with the whole log (`data`, newest first). */
async function auditLogCommand(path: string, options: VerifyOptions): Promise<void> {
  const file = asObject(await read(path));
  const newestFirst = file?.['data'];
  const entries = Array.isArray(newestFirst) ? newestFirst.toReversed() : file?.['entries'];
  const head = file?.['head'];
  if (!Array.isArray(entries) || typeof head !== 'string') throw new Error(`${path} holds no audit log.`);
  const keys = await keysFor(options, file);
  const verdict = await verifyAuditLog({ entries, head }, keys.keys);
  if (verdict.ok) return report(keys, { size: verdict.size, hash: verdict.hash });
  const { index, reason } = verdict;
  print({ valid: false, result: 'invalid', first_bad_index: index, reason });
  throw new Error(`The log is not whole: entry ${index} (counted from 0). ${reason}`);
}

const collect = (value: string, before: string[] = []): string[] => [...before, value];

const withKeys = (command: Command): Command =>
  command
    .option('--jwks <file or URL>', 'the published key set, which you trust')
    .option('--thumbprint <value>', 'RFC 7638 thumbprint (kid) of a key that you trust; may be repeated', collect);

export function verifyCommands(): Command {
  const verify = new Command('verify').description(
    'check proofs offline, no database is needed; exit status 1: refused, 2: nothing says who signed it',
  );
  const certificate = verify
    .command('certificate')
    .description('check a deletion certificate and print what it states')
    .argument('<file>', "a compact JWS, the API's answer, or what `reelmend certificates export` printed");
  withKeys(certificate).action(certificateCommand);
  const auditLog = verify
    .command('audit-log')
    .description('check an exported audit log; names the first entry that is wrong')
    .argument('<file>', 'what `reelmend audit export` printed');
  withKeys(auditLog).action(auditLogCommand);
  return verify;
}
