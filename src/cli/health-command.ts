/** `reelmend health`: checks whether the process of this environment responds, for container health checks. */
import { bracketed, type Config } from '../app/config.ts';

const timeoutMs = 2500;

/** The host of a URL for an address that a process listens on. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return bracketed(host);
}

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
