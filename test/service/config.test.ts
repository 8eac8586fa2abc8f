/** The environment of the service: an error is one line that names the variable. */
import { describe, expect, it } from 'vitest';
import { unknownVariables } from '../../src/app/unknown-variables.ts';
import { loadConfig } from '../../src/app/config.ts';
import { connectionError } from '../../src/app/open-store.ts';
import { publicUrlProblem } from '../../src/app/public-url.ts';

describe('the public URL', () => {
  it.each([
    [{ HOST: '127.0.0.1' }, undefined],
    [{ HOST: '0.0.0.0' }, /is not set: download links/],
    [{ HOST: '0.0.0.0', REELMEND_PUBLIC_URL: 'https://video.example.com/' }, undefined],
    [{ REELMEND_PUBLIC_URL: 'https://example.com/video/' }, /has a path: .* the console and the documents do not$/],
    [{ REELMEND_PUBLIC_URL: 'https://example.com/video', REELMEND_CONSOLE: '0' }, undefined],
  ])('%j: the log says at the start what does not work with it: %s', (environment, problem) => {
    expect(publicUrlProblem(loadConfig(environment))).toEqual(problem && expect.stringMatching(problem));
  });
});

describe('a wrong value', () => {
  it.each([
    ['PORT', '65536'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['DATABASE_URL', 'localhost'],
    ['DATABASE_URL', 'postgres://reelmend:100%sure@localhost/x'],
    ['DATABASE_URL', 'postgres://reelmend:caf%E9@localhost/x'],
    ['DATABASE_URL', 'postgres://localhost/x?sslmode=verify'],
    ['REELMEND_DEVICE', 'gpu'],
    ['REELMEND_MIN_SPEED', '25'],
    ['REELMEND_MIN_SPEED', '0x'],
    ['REELMEND_SIGN_UP', 'no'],
    ['REELMEND_ALLOW_HOSTS', 'example.com'],
    ['REELMEND_ALLOW_HOSTS', 'example.com:80800'],
    ['REELMEND_ALLOW_HOSTS', 'example.com:0'],
    ['REELMEND_PUBLIC_URL', 'https://video.example.com/?via=proxy'],
    ['REELMEND_PUBLIC_URL', 'https://video.example.com/#top'],
    ['REELMEND_RATE_LIMITS', 'create=0'],
    ['REELMEND_KEY_PEPPER', 'short'],
    ['S3_ENDPOINT', 'http://127.0.0.1:9000'],
  ])('%s=%s', (name, value) => {
    expect(() => loadConfig({ [name]: value })).toThrow(/^(PORT|DATABASE_URL|REELMEND_\w+|S3_\w+): /);
  });

  it('is told the words that it may have, as any other value', () => {
    const says = (name: string) => () => loadConfig({ [name]: 'loud' });
    expect(says('REELMEND_SIGN_UP')).toThrow('REELMEND_SIGN_UP: must be open or closed');
    expect(says('REELMEND_LOG_LEVEL')).toThrow('REELMEND_LOG_LEVEL: must be trace, debug, info, warn, error or silent');
    expect(says('REELMEND_ENCODER_PRESET')).toThrow(/^REELMEND_ENCODER_PRESET: must be ultrafast, .*, slower or veryslow$/);
  });

  it.each([
    ['25fps', { framesPerSecond: 25 }],
    ['0.5x', { timesLength: 0.5 }],
    ['none', undefined],
    ['', { framesPerSecond: 2 }],
  ])('is not REELMEND_MIN_SPEED=%s', (text, minSpeed) => {
    expect(loadConfig({ REELMEND_MIN_SPEED: text }).minSpeed).toEqual(minSpeed);
  });

  it('is none where the variable is empty', () => {
    expect(loadConfig({ PORT: '', REELMEND_DEVICE: '' })).toMatchObject({ port: 8080, device: 'auto' });
  });
});

describe('by default', () => {
  it('lets a crash cost at most a minute of video, unless segments are turned off', () => {
    expect(loadConfig({}).segmentsFromSeconds).toBe(60);
    expect(loadConfig({ REELMEND_SEGMENTS_FROM_SECONDS: '0' }).segmentsFromSeconds).toBe(0);
  });
});

describe('an unknown variable', () => {
  it('is named with the one that was meant', () => {
    expect(unknownVariables({ REELMEND_DEVCE: 'cpu', S3_BUKET: 'videos', REELMEND_PORT: '8099' })).toEqual([
      'Unknown variable REELMEND_DEVCE; did you mean REELMEND_DEVICE?',
      'Unknown variable S3_BUKET; did you mean S3_BUCKET?',
      'Unknown variable REELMEND_PORT; did you mean PORT?',
    ]);
  });

  it('is neither one of ours nor one that somebody else may use', () => {
    const others = { REELMEND_URL: 'x', REELMEND_KEY: 'x', REELMEND_WEBHOOK_SECRET: 'x', REELMEND_TEST_KEY: 'x', PROT: 'x' };
    expect(unknownVariables({ REELMEND_DEVICE: 'cpu', S3_REGION: 'x', ...others })).toEqual([]);
  });
});

describe('a database that cannot be used', () => {
  const url = 'postgres://ada:secret@db.example.com/reelmend';
  const failure = (code: string, message = 'as the server says') => Object.assign(new Error(message), { code });

  it.each([
    ['ENOTFOUND', 'DATABASE_URL: no PostgreSQL answers at db.example.com:5432 (ENOTFOUND).'],
    ['CONNECT_TIMEOUT', 'DATABASE_URL: no PostgreSQL answers at db.example.com:5432 (CONNECT_TIMEOUT).'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'DATABASE_URL: the certificate of the PostgreSQL at db.example.com:5432 is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE); see sslmode and sslrootcert.'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'DATABASE_URL: the certificate of the PostgreSQL at db.example.com:5432 is not trusted (ERR_TLS_CERT_ALTNAME_INVALID); see sslmode and sslrootcert.'],
    ['28P01', 'DATABASE_URL: the PostgreSQL at db.example.com:5432 refuses: as the server says.'],
    ['3D000', 'DATABASE_URL: the PostgreSQL at db.example.com:5432 refuses: as the server says.'],
  ])('%s', (code, says) => {
    expect(connectionError(failure(code), url)?.message).toBe(says);
  });

  it('may not accept TLS', () => {
    expect(connectionError(failure('ECONNRESET'), `${url}?sslmode=require`)?.message).toBe(
      'DATABASE_URL: no PostgreSQL answers at db.example.com:5432 (ECONNRESET); does it accept TLS?',
    );
  });

  it('is distinguished from other failures', () => {
    expect(connectionError(failure('42P01'), url)).toBeUndefined();
    expect(connectionError(new Error('Migration 0003 was changed after it was applied'), url)).toBeUndefined();
  });
});
