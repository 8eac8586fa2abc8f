/**
 * `reelmend listen`: brings the webhooks of an account to a receiver on this machine, which the service cannot reach. It
 * follows the jobs by the API and sends what the service would send, signed alike.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { newWebhookSecret, webhookBody, type WebhookEvent, webhookHeaders } from '../domain/webhooks.ts';
import type { Job } from '../sdk/index.ts';
import { connect, type RemoteOptions, withService } from './connect.ts';
import { endedJobs } from './ended-jobs.ts';
import { fetch } from './fetch.ts';
import { interruptible } from './interruptible.ts';
import { positiveWhole } from './options.ts';
import { say, terminal, warn } from './terminal.ts';

/** ms between two polls; the service allows 600 reads per minute */
const pollMs = 1000;
/** as the service waits for receivers */
const receiverTimeoutMs = 10_000;

interface ListenOptions extends RemoteOptions {
  /** absent: the events are only shown */
  forward?: string;
  events?: number;
}

/** `3000`, `3000/hooks`, `localhost:3000/hooks` or a URL. */
function receiver(text: string): string {
  const url = /^\d{1,5}(\/|$)/.test(text) ? `http://127.0.0.1:${text}` : /^https?:\/\//.test(text) ? text : `http://${text}`;
  if (!URL.canParse(url)) throw new InvalidArgumentError('Expected a port such as 3000, a port and a path such as 3000/hooks, or a URL.');
  return url;
}

export function listenCommand(): Command {
  const command = new Command('listen').description("show the webhooks of the key's account, and forward them to a receiver on this machine");
  return withService(command)
    .option('--forward <target>', 'the receiver: a port, a port and a path such as 3000/hooks, or a URL; default: only show the events', receiver)
    .option('--events <count>', 'stop after this many events', positiveWhole)
    .action(listen);
}

async function listen({ forward, events = Infinity, ...options }: ListenOptions): Promise<void> {
  const secret = await signingSecret();
  const reelmend = await connect(options);
  const ended = await endedJobs(reelmend);
  if (forward === undefined) say('Waiting for the events of new jobs. Add --forward 3000/hooks to send them to a receiver; Ctrl-C ends.');
  else say(`Forwarding the events of new jobs to ${forward}. The signing secret is ${secret}`);
  let sent = 0;
  await interruptible(async (signal) => {
    for (; sent < events; await sleep(pollMs, undefined, { signal })) {
      const jobs = await ended.next(signal).catch(whileAway);
      for (const job of jobs.slice(0, events - sent)) {
        signal.throwIfAborted();
        const event = job.status === 'done' ? 'job.completed' : 'job.failed';
        const answer = forward === undefined ? '' : await deliver(job, { event, forward, secret, signal });
        say(`${event}  ${job.id}  ${answer}`.trimEnd());
        sent += 1;
      }
    }
  }).catch((error: unknown) => {
    // Ctrl-C is how this command ends.
    if (!isInterrupt(error)) throw error;
  });
}

/** Of the environment, so that receivers know it; otherwise a new one. */
async function signingSecret(): Promise<string> {
  const secret = terminal().env['REELMEND_WEBHOOK_SECRET'] || newWebhookSecret();
  const { secretBytes } = await import('../sdk/webhook.ts');
  if (secretBytes(secret) !== undefined) return secret;
  throw new Error('REELMEND_WEBHOOK_SECRET must be whsec_ followed by base64, as the service shows it.');
}

/** Retries at the next poll when the service is unreachable. */
async function whileAway(error: unknown): Promise<Job[]> {
  const { isTransient } = await import('../sdk/call.ts');
  if (!isTransient(error)) throw error;
  warn('reelmend: The service does not answer; trying again.');
  return [];
}

const isInterrupt = (error: unknown) => error instanceof Error && (error.message === 'Interrupted.' || error.name === 'AbortError');

interface Delivery {
  event: WebhookEvent;
  forward: string;
  secret: string;
  signal: AbortSignal;
}

/** Returns what the receiver answered. */
async function deliver(job: Job, { event, forward, secret, signal }: Delivery): Promise<string> {
  const body = webhookBody(event, job.id);
  const id = `evt_${randomUUID().replaceAll('-', '').slice(0, 26)}`;
  const headers = webhookHeaders({ id, at: new Date(), body, secrets: [secret], serviceSecret: secret });
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(receiverTimeoutMs)]);
    const response = await fetch(forward, { method: 'POST', headers, body, redirect: 'manual', signal: limit });
    await response.body?.cancel().catch(() => {});
    return String(response.status);
  } catch {
    signal.throwIfAborted();
    return 'no answer';
  }
}
