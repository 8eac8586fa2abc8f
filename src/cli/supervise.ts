/**
 * `REELMEND_RESTART=1`: this process does nothing but run the service in a child and start it again when it dies. A
 * service that never came up (a wrong variable, a port that is taken) ends it with the child's status: another try would
 * end the same way. systemd and Docker's restart policies do the same from outside and need none of this.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Logger } from 'pino';

export interface Pauses {
  firstMs: number;
  /** each pause is twice the one before, up to this */
  longestMs: number;
  /** a service that ran this long starts over with the first pause */
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

/** Resolves to the exit status once the service ends by itself, after SIGINT or SIGTERM, or cannot come up at all. */
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
      logger.error({ status: ending.status, signal: ending.signal, pauseMs }, `the service ${reason(ending)}; it is started again`);
      await pause(pauseMs, stopping.signal);
      if (stopping.signal.aborted) return 0;
    }
  } finally {
    for (const signal of stopSignals) process.off(signal, pass);
  }
}

function reason({ status, signal }: Ending): string {
  return signal === null ? `ended with status ${status}` : `was killed by ${signal}`;
}

/** A process group of its own: a terminal's Ctrl-C reaches the service once, by the supervisor. */
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

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** In the child: tells the supervisor, where there is one, that the service is up. */
export function reportUp(): void {
  process.send?.('up');
}

/** In the child: calls `stop` when the supervisor dies, so that no service is left that nobody looks after. */
export function onSupervisorGone(stop: () => void): void {
  if (process.channel === undefined || process.channel === null) return;
  process.once('disconnect', stop);
  // What listens must not keep a service alive that has ended.
  process.channel.unref();
}
