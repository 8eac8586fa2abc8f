/** `framelift verify …`: proofs checked offline. No database, no network, only files. */
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { jwks as keySet, type Jwks, verifyAuditLog, verifyCertificate } from '../evidence/index.ts';

interface VerifyOptions {
  /** file of the published key set */
  jwks?: string;
}

const print = (value: unknown) => console.log(JSON.stringify(value, null, 2));

async function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`Cannot read ${path}.`, { cause });
  });
}

const compactJws = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** undefined for what is no JSON object */
function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The keys of `--jwks`, else those that the file brings along. The latter prove that nothing was changed since, and
 * not by whom it was signed, which is said.
 */
async function keysFor(options: VerifyOptions, file: Record<string, unknown> | undefined): Promise<Jwks> {
  if (options.jwks === undefined && file?.['jwks'] === undefined) {
    throw new Error('--jwks: name a file with the published keys (/.well-known/jwks.json of the service).');
  }
  const source = options.jwks === undefined ? file!['jwks'] : asObject(await read(options.jwks));
  const parsed = keySet.safeParse(source);
  if (!parsed.success) throw new Error(`${options.jwks ?? 'The jwks of the file'} is no set of Ed25519 public keys.`);
  if (options.jwks === undefined) {
    console.error(
      'framelift: checked with the keys that the file itself brings; compare them with the published ones (--jwks).',
    );
  }
  return parsed.data;
}

const isCertificate = (value: unknown): value is string => typeof value === 'string' && compactJws.test(value);

/**
 * The file is the certificate itself (a compact JWS), or what the API answered, with it in `certificate`, or an export,
 * with many in `certificates`.
 */
async function certificateCommand(path: string, options: VerifyOptions): Promise<void> {
  const text = await read(path);
  const file = asObject(text);
  if (Array.isArray(file?.['certificates'])) {
    print({ valid: true, certificates: await verifyAll(file['certificates'], await keysFor(options, file)) });
    return;
  }
  const jws = file === undefined ? text.trim() : file['certificate'];
  if (!isCertificate(jws)) throw new Error(`${path} holds no certificate.`);
  print({ valid: true, certificate: await verifyCertificate(jws, await keysFor(options, file)) });
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
  const verdict = await verifyAuditLog({ entries, head }, await keysFor(options, file));
  print(verdict.ok ? { valid: true, size: verdict.size, hash: verdict.hash } : { valid: false, ...without(verdict) });
  if (!verdict.ok) throw new Error(`The log is not whole: entry ${verdict.index} (counted from 0). ${verdict.reason}`);
}

const without = ({ index, reason }: { index: number; reason: string }) => ({ first_bad_index: index, reason });

export function verifyCommands(): Command {
  const verify = new Command('verify').description('check proofs offline; no database is needed');
  const keys = ['--jwks <file>', 'the published key set; default: what the file brings along'] as const;
  verify
    .command('certificate')
    .description('check a deletion certificate and print what it states')
    .argument('<file>', "a compact JWS, the API's answer, or what `framelift certificates export` printed")
    .option(...keys)
    .action(certificateCommand);
  verify
    .command('audit-log')
    .description('check an exported audit log; names the first entry that is wrong')
    .argument('<file>', 'what `framelift audit export` printed')
    .option(...keys)
    .action(auditLogCommand);
  return verify;
}
