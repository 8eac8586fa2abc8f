/** Builds what the console needs from the configuration. */
import { fileURLToPath } from 'node:url';
import type { Config } from './config.ts';
import { createPasswords } from '../domain/passwords.ts';
import type { ConsoleDeps } from '../http/deps.ts';
import type { Store } from '../store/index.ts';

/** Additions of a local demo. */
export interface DemoParts {
  /** URL of the sample video, which the service may download */
  sampleUrl: string;
}

export interface ConsoleServiceOptions {
  config: Pick<Config, 'publicUrl' | 'signUp' | 'proxyHops'>;
  store: Store;
  /** the origin of the links of the S3 storage; undefined: the service itself serves the files */
  bucketOrigin: string | undefined;
  demo?: DemoParts | undefined;
}

export function createConsole({ config, store, bucketOrigin, demo }: ConsoleServiceOptions): ConsoleDeps {
  const { publicUrl, signUp, proxyHops } = config;
  const origins = publicUrl === undefined ? [] : [new URL(publicUrl).origin];
  return {
    store,
    passwords: createPasswords(),
    pageDir: fileURLToPath(new URL('../../build/console', import.meta.url)),
    secureCookies: publicUrl?.startsWith('https:') ?? false,
    origins,
    mediaOrigins: bucketOrigin === undefined ? origins : [bucketOrigin],
    sampleUrl: demo?.sampleUrl ?? null,
    signUp,
    proxyHops,
  };
}
