/** `reelmend health`: checks whether the process of this environment responds, for container health checks. */
import type { Config } from '../app/config.ts';

const timeoutMs = 2500;

const reachable = (host: string) => (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host);

/** Requests /healthz from an API, or from a worker's metrics port. Rejects with one sentence if there is no response. */
export async function healthCommand({ host, port, metricsHost, metricsPort }: Config): Promise<void> {
  const metrics = metricsPort === undefined ? [] : [`http://${reachable(metricsHost)}:${metricsPort}/healthz`];
  const urls = [`http://${reachable(host)}:${port}/healthz`, ...metrics];
  for (const url of urls) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) }).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error(`No healthy process answers at ${urls.join(' or ')}.`);
}
