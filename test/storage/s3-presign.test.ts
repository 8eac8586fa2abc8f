/** Presigned links of credentials that end, such as those of a role. Signing needs no server. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createS3Storage, type S3Storage } from '../../src/storage/s3.ts';

const hourS = 3600;
const request = { fileName: 'film.mp4', contentType: 'video/mp4', expiresInS: hourS };

let storage: S3Storage;
/** number of sessions that began */
let sessions: number;
let renew: () => Promise<void>;
beforeEach(() => {
  sessions = 0;
  renew = () => Promise.resolve();
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
  storage.close();
});

/** Credentials of a role whose sessions have that length. */
function openStorage(sessionS: number): void {
  const credentials = async () => {
    if (sessions > 0) await renew();
    sessions += 1;
    return { accessKeyId: 'key', secretAccessKey: 'secret', sessionToken: `session-${sessions}`, expiration: new Date(Date.now() + 1000 * sessionS) };
  };
  storage = createS3Storage({ bucket: 'media', region: 'us-east-1', endpoint: 'http://s3.example.com', client: { credentials } });
}

async function link(): Promise<{ session: string | null; signedForS: number; expiresInS: number }> {
  const { url, expiresInS } = await storage.link('outputs/film.mp4', request);
  const { searchParams } = new URL(url);
  return { session: searchParams.get('X-Amz-Security-Token'), signedForS: Number(searchParams.get('X-Amz-Expires')), expiresInS };
}
const valid = (session: number, seconds = hourS) => ({ session: `session-${session}`, signedForS: seconds, expiresInS: seconds });
const later = (seconds: number) => vi.advanceTimersByTime(1000 * seconds);

describe('a link of credentials that end', () => {
  it('has a new session if the present one would end before it', async () => {
    openStorage(2 * hourS);
    expect(await link()).toEqual(valid(1));
    later(hourS - 1);
    expect(await link()).toEqual(valid(1));
    later(2);
    expect(await Promise.all([link(), link()])).toEqual([valid(2), valid(2)]);
    expect(await storage.linkPart({ key: 'uploads/a', id: 'one' }, { number: 1, size: 5, expiresInS: hourS })).toMatchObject({ expiresInS: hourS });
    expect(sessions).toBe(2);
  });

  it('says how long it is valid if sessions are too short, which are renewed every five minutes at most', async () => {
    openStorage(hourS / 2);
    expect(await link()).toEqual(valid(2, hourS / 2));
    later(299);
    expect(await link()).toEqual(valid(2, hourS / 2 - 299));
    later(1);
    expect(await link()).toEqual(valid(3, hourS / 2));
  });

  it('is valid as long as the present session if that cannot be renewed', async () => {
    openStorage(hourS);
    await link();
    later(900);
    renew = () => Promise.reject(new Error('no role'));
    expect(await link()).toEqual(valid(1, hourS - 900));
  });
});
