/** Presigned URLs. A URL stops working when the session of its credentials ends, whatever its own time is. */
import type { GetObjectCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { DownloadLink } from './types.ts';

/** Signs a request. */
export type Presign = (command: GetObjectCommand | UploadPartCommand, expiresInS: number) => Promise<DownloadLink>;

/** Sessions of roles may be shorter than links. Then each link would need a session of its own. */
const renewEveryMs = 5 * 60_000;

/**
 * The credentials of a role are a session. The SDK renews it in its last five minutes. This renews it earlier, if it ends before the
 * link; if it is then still too short, the link says so.
 */
export function createPresign(client: S3Client): Presign {
  let renewedAt = Number.NEGATIVE_INFINITY;
  let renewing: Promise<unknown> | undefined;
  const credentials = (options?: { forceRefresh: boolean }) => client.config.credentials(options);
  const renew = async () => {
    renewedAt = performance.now();
    // The present session works until it ends.
    await credentials({ forceRefresh: true }).catch(() => undefined);
    renewing = undefined;
  };
  return async (command, expiresInS) => {
    if (secondsOf(await credentials()) < expiresInS) {
      if (performance.now() - renewedAt >= renewEveryMs) renewing = renew();
      await renewing;
    }
    const validS = Math.max(1, Math.min(expiresInS, secondsOf(await credentials())));
    // The types allow one command only; any can be signed.
    return { url: await getSignedUrl(client, command as GetObjectCommand, { expiresIn: validS }), expiresInS: validS };
  };
}

/** How long credentials remain valid. Those of a user have no end. */
const secondsOf = ({ expiration }: { expiration?: Date }): number =>
  expiration === undefined ? Number.POSITIVE_INFINITY : Math.floor((expiration.getTime() - Date.now()) / 1000);
