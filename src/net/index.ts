/** Every outgoing request to a customer's URL goes through here. */
export { createNetClient } from './client.ts';
export type { NetClientOptions } from './client.ts';
export { NetFailure } from './failure.ts';
export type { FailureReason } from './failure.ts';
export { createResolver } from './resolver.ts';
export type { Resolver } from './resolver.ts';
export { defaultTimeouts } from './timeouts.ts';
export type { Timeouts } from './timeouts.ts';
export type { GuardedClient, NetClient, PostOptions, PostResponse, RemoteVideo } from './types.ts';
