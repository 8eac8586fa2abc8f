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
  config: Pick<Config, 'publicUrl' | 's3' | 'signUp' | 'proxyHops'>;
  store: Store;
  demo?: DemoParts | undefined;
}

export function createConsole({ config, store, demo }: ConsoleServiceOptions): ConsoleDeps {
  const { publicUrl, s3, signUp, proxyHops } = config;
  const origins = publicUrl === undefined ? [] : [new URL(publicUrl).origin];
  return {
    store,
    passwords: createPasswords(),
    pageDir: fileURLToPath(new URL('../../build/console', import.meta.url)),
    secureCookies: publicUrl?.startsWith('https:') ?? false,
    origins,
    mediaOrigins: s3 === undefined ? origins : [bucketOrigin(s3)],
    sampleUrl: demo?.sampleUrl ?? null,
    signUp,
    proxyHops,
  };
}

/** The origin of the S3 storage's links. */
function bucketOrigin({ endpoint: own, publicEndpoint: endpoint = own, bucket, region }: NonNullable<Config['s3']>): string {
  return endpoint === undefined ? `https://${bucket}.s3.${region}.amazonaws.com` : new URL(endpoint).origin;
}
