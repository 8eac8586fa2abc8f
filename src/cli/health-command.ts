/** `reelmend health`: whether the process of this environment answers, for a container's health check. */
import type { Config } from '../app/config.ts';

const timeoutMs = 2500;

const reachable = (host: string) => (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host);

/** An API tells by /healthz; a worker, which has none, by serving its metrics. Rejects with one sentence. */
export async function healthCommand({ host, port, metricsHost, metricsPort }: Config): Promise<void> {
  const metrics = metricsPort === undefined ? [] : [`http://${reachable(metricsHost)}:${metricsPort}/metrics`];
  const addresses = [`http://${reachable(host)}:${port}/healthz`, ...metrics];
  for (const address of addresses) {
    const answer = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) }).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error(`Nothing healthy answers at ${addresses.join(' or ')}.`);
}
