/** The log file of the embedded PostgreSQL. */
import { readFile, rename, stat } from 'node:fs/promises';

/** bytes */
const longestLog = 10_000_000;

/**
 * Settings of the log, which grows as long as the server runs: one line for an error, and none for a checkpoint. Statements
 * and the details of errors may contain URLs of customers.
 */
export const briefLog = '-c log_error_verbosity=terse -c log_min_error_statement=panic -c log_checkpoints=off';

/** Returns the size of the log; 0 if there is none. Begins a new one when it is long, and keeps the last one. */
export async function keepShort(log: string): Promise<number> {
  const size = await stat(log).then(
    (facts) => facts.size,
    () => 0,
  );
  if (size <= longestLog) return size;
  await rename(log, `${log}.old`);
  return 0;
}

/** What the server tells clients that come while it starts or ends: such as `the database system is starting up`. */
const isForClients = /^the database system is /;

/** Why the server ended: its last fatal error behind the first `begin` bytes of the log, such as `No space left on device`. */
export async function fatalError(log: string, begin: number): Promise<string | undefined> {
  const lines = (await readFile(log).catch(() => Buffer.alloc(0))).subarray(begin).toString().split('\n');
  return lines.map((line) => /\b(?:FATAL|PANIC):\s+(.+)/.exec(line)?.[1]).findLast((reason) => reason !== undefined && !isForClients.test(reason));
}
