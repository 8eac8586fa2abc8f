/**
 * `reelmend start|serve|work`: runs until SIGINT or SIGTERM, or until the end of the worker's lifetime, then stops in order.
 * A second signal aborts the running jobs. A signal while the service starts ends the start, and a second one the process at once.
 */
import { constants } from 'node:os';
import type { Config } from '../app/config.ts';
import { unknownVariables } from '../app/unknown-variables.ts';
import { createDemoAccount, welcome, welcomeBack } from '../demo/demo-account.ts';
import { runSampleJob } from '../demo/sample-job.ts';
import { type SampleServer, serveSample } from '../demo/sample-server.ts';
import { type Lifetime, type Roles, type Service, startService } from '../app/service.ts';
import { demoClip } from '../app/sample-clips.ts';
import { onSupervisorGone, reportUp } from './supervise.ts';
import { say, terminal, warn } from './terminal.ts';
import { requireDatabase } from './with-store.ts';

/** exit status of `work --once` when no job was waiting */
const noJobStatus = 3;

export async function startCommand(config: Config, roles: Roles, lifetime: Lifetime = {}): Promise<void> {
  for (const warning of unknownVariables(terminal().env)) warn(`reelmend: ${warning}`);
  if (!roles.api) await requireDatabase(config);
  const stopRequests = listenForStops();
  const sample = roles.api && roles.worker && config.demo ? await startSample(config) : null;
  try {
    await runService({ config, roles, lifetime, sample, stopRequests });
  } catch (error) {
    if (error !== stopRequests.stopping.reason) throw error;
    // All that was started has stopped in order. A connection to a database that does not answer would keep the process alive.
    await sample?.close();
    process.exit(0);
  } finally {
    await sample?.close();
  }
}

interface StopRequests {
  /** aborted at the first signal to stop */
  stopping: AbortSignal;
  /** resolves at the first signal, even if it comes before anything waits for it */
  stopped: Promise<void>;
  /** Sets what a second signal does; until then it ends the process. */
  onSecond(forceStop: () => void): void;
}

type StopSignal = 'SIGINT' | 'SIGTERM';

function listenForStops(): StopRequests {
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
  // With the status that shells report for a program ended by the signal.
  let second = (signal: StopSignal): void => process.exit(128 + constants.signals[signal]);
  const signalled = (signal: StopSignal) => (stopping.signal.aborted ? second(signal) : stopping.abort());
  process.on('SIGINT', signalled).on('SIGTERM', signalled);
  onSupervisorGone(() => signalled('SIGTERM'));
  return { stopping: stopping.signal, stopped, onSecond: (forceStop) => void (second = forceStop) };
}

interface ServiceRun {
  config: Config;
  roles: Roles;
  lifetime: Lifetime;
  /** null: no demo */
  sample: SampleServer | null;
  stopRequests: StopRequests;
}

/** Runs the service until it is to stop, or its lifetime is over. */
async function runService({ config, roles, lifetime, sample, stopRequests: { stopping, stopped, onSecond } }: ServiceRun): Promise<void> {
  const allowHosts = sample ? [...config.allowHosts, sample.hostPort] : config.allowHosts;
  const service = await startService({ ...config, allowHosts }, roles, { demo: sample ? { sampleUrl: sample.url } : undefined, lifetime, signal: stopping });
  onSecond(() => service.forceStop());
  reportUp();
  try {
    if (sample && service.url !== null) await runDemo(service, service.url, sample, stopping);
    else say(service.url === null ? 'A Reelmend worker is running.' : `Reelmend is running at ${service.url}`);
    const steps = await Promise.race([stopped, service.finished]);
    if (lifetime.once && steps === 0) terminal().status = noJobStatus;
  } finally {
    await service.stop();
  }
}

async function startSample(config: Config): Promise<SampleServer> {
  const clip = await demoClip(config.dataDir);
  return serveSample(clip, { preferredPort: config.port && config.port + 1 });
}

/** Shows the demo account and runs the sample job. A job that fails is reported and does not stop the service. */
async function runDemo(service: Service, url: string, sample: SampleServer, signal: AbortSignal): Promise<void> {
  const keys = await createDemoAccount(service);
  if (keys === null) return say(welcomeBack(url));
  say(welcome(url, keys, sample.url));
  try {
    const link = await runSampleJob({ url, key: keys.live, sampleUrl: sample.url, signal });
    say(`\nThe enhanced sample (the link is valid for an hour):\n\n  ${link}\n\nCtrl-C stops the service.`);
  } catch (error) {
    if (!signal.aborted) warn(`The sample job failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}
