/**
 * `REELMEND_RESTART=1`: runs the service in a child process and restarts it when it dies. When the service never came up
 * (an invalid variable, a port in use), this process exits with the child's status, since another attempt would end the
 * same way. systemd and Docker's restart policies replace all of this.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

export interface Pauses {
  firstMs: number;
  /** limit of the pauses, which double each time */
  longestMs: number;
  /** after a run of this length the pauses start again at the first */
  healthyMs: number;
}

const defaultPauses: Pauses = { firstMs: 1000, longestMs: 60_000, healthyMs: 60_000 };

interface Ending {
  status: number | null;
  signal: NodeJS.Signals | null;
  wasUp: boolean;
  ranMs: number;
}

interface Supervised {
  /** program and arguments */
  command: string[];
  logger: Logger;
  pauses?: Pauses;
}

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

/** Runs the service until it exits with status 0, a signal stops it, or it never comes up. Resolves to the exit status. */
export async function supervise({ command, logger, pauses = defaultPauses }: Supervised): Promise<number> {
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  const pass = (signal: NodeJS.Signals) => {
    stopping.abort();
    child?.kill(signal);
  };
  for (const signal of stopSignals) process.on(signal, pass);
  try {
    let wasEverUp = false;
    for (let pauseMs = pauses.firstMs; ; pauseMs = Math.min(pauseMs * 2, pauses.longestMs)) {
      const ending = await runOnce(command, (started) => (child = started));
      wasEverUp ||= ending.wasUp;
      if (stopping.signal.aborted || ending.status === 0 || (!wasEverUp && ending.signal === null)) return ending.status ?? 1;
      if (ending.ranMs >= pauses.healthyMs) pauseMs = pauses.firstMs;
      logger.error({ status: ending.status, signal: ending.signal, pauseMs }, `the service ${reason(ending)} and is restarted`);
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return 0;
    }
  } finally {
    for (const signal of stopSignals) process.off(signal, pass);
  }
}

function reason({ status, signal }: Ending): string {
  return signal === null ? `exited with status ${status}` : `was killed by ${signal}`;
}

/** Runs the service once. Its process group is its own, so that Ctrl-C reaches it only through the supervisor. */
function runOnce(command: string[], onStart: (child: ChildProcess) => void): Promise<Ending> {
  const started = performance.now();
  const env = { ...process.env, REELMEND_RESTART: '0' };
  const child = spawn(command[0]!, command.slice(1), { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'], detached: true });
  onStart(child);
  let wasUp = false;
  child.once('message', () => (wasUp = true));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (status, signal) => resolve({ status, signal, wasUp, ranMs: performance.now() - started }));
  });
}

/** In the child: tells the supervisor, if there is one, that the service is up. */
export function reportUp(): void {
  process.send?.('up');
}

/** In the child: calls `stop` when the supervisor dies, so that no service runs unsupervised. */
export function onSupervisorGone(stop: () => void): void {
  if (process.channel === undefined || process.channel === null) return;
  process.once('disconnect', stop);
  // The channel must not keep a stopped service alive.
  process.channel.unref();
}
