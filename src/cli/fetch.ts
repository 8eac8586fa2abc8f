import type { Agent, fetch as Fetch } from 'undici';

let agent: Agent | undefined;

/**
 * The fetch of undici 8, which loads at the first call. That of Node 24 ends the process if a server closes a connection while nobody
 * reads from it (nodejs/undici#5360). The fault is in the agent, which both would share.
 */
export const fetch: typeof Fetch = async (input, init) => {
  // The bundle of scripts/build-service has a default export only, because undici is CommonJS.
  const { default: undici } = await import('undici');
  agent ??= new undici.Agent();
  return undici.fetch(input, { ...init, dispatcher: agent });
};
