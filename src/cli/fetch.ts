import type { fetch as Fetch } from 'undici';

let chosen: Promise<typeof Fetch> | undefined;

/** Node's fetch, which the SDK calls, uses the proxy of HTTP_PROXY and HTTPS_PROXY in this case. */
const usesProxy = () => process.env['NODE_USE_ENV_PROXY'] === '1';

/** This machine too: a proxy elsewhere does not reach it (`listen --forward`). */
const directHosts = () => [process.env['no_proxy'] ?? process.env['NO_PROXY'] ?? '', 'localhost', '127.0.0.1', '[::1]'].join(',');

/** The fetch of undici 8, which loads at the first call; on older Nodes than it needs, that of Node. */
export const fetch: typeof Fetch = async (input, init) => (await (chosen ??= chooseFetch()))(input, init);

/**
 * The fetch of Node 24 ends the process if a server closes a connection while nobody reads from it (nodejs/undici#5360). The fault is
 * in the agent, which both would share.
 */
async function chooseFetch(): Promise<typeof Fetch> {
  try {
    // The bundle of scripts/build-service has a default export only, because undici is CommonJS.
    const { default: undici } = await import('undici');
    const dispatcher = usesProxy() ? new undici.EnvHttpProxyAgent({ noProxy: directHosts() }) : new undici.Agent();
    return (input, init) => undici.fetch(input, { ...init, dispatcher });
  } catch {
    // undici 8 needs Node 22.19. The package for customers (src/cli/package) also runs on older ones, which do not have the fault.
    return globalThis.fetch as unknown as typeof Fetch;
  }
}
