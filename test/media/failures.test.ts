import { describe, expect, it } from 'vitest';
import { crashed, failureFromChild, isDeviceFault } from '../../src/media/failures.ts';

describe('an error of the addon', () => {
  it.each([
    ['unreadable_video', 'The file is empty.', 'unreadable_video', 'The file is empty.'],
    ['limit_exceeded', 'The video lasts longer than 600 seconds.', 'video_too_long', /600/],
    ['limit_exceeded', 'The picture has more than 67108864 pixels.', 'unreadable_video', /pixels/],
    ['invalid_argument', 'There is no preset of this name.', 'processing_failed', /preset/],
    ['unavailable', 'CUDA is not in this build.', 'processing_failed', /CUDA/],
    ['io', 'write failed', 'service_unavailable', /could not be read or its result/],
    ['io', 'Writing the output file failed (File too large).', 'processing_failed', /larger than is allowed/],
    ['internal', 'std::bad_alloc', 'processing_failed', 'The video could not be processed.'],
    ['nonsense', 'x', 'processing_failed', 'The video could not be processed.'],
  ])('%s (%s) becomes %s', (code, stderrTail, expectedCode, message) => {
    const error = failureFromChild({ code, message: stderrTail, stack: 'Error: x\n    at there' });
    expect(error.code).toBe(expectedCode);
    expect(error.message).toMatch(message);
    expect((error.cause as Error).message).toBe(`${code}: ${stderrTail}`);
    expect((error.cause as Error).stack).toContain('at there');
  });

  it.each(['no such file: /srv/data/in.mp4', 'C:\\video', 'two\nlines', '', 'x'.repeat(301)])(
    'is not shown when it is no plain sentence: %j',
    (message) => {
      expect(failureFromChild({ code: 'unreadable_video', message }).message).toBe('The video could not be processed.');
    },
  );
});

describe('a child that ended without an answer', () => {
  it.each([
    [{ code: null, signal: 'SIGSEGV' as const }, 'signal SIGSEGV'],
    [{ code: 139, signal: null }, 'status 139'],
  ])('%o', (exit, how) => {
    const error = crashed(exit, 'its last words');
    expect(error).toMatchObject({ code: 'processing_failed', message: 'The video could not be processed.' });
    expect((error.cause as Error).message).toBe(`the media child ended with ${how}: its last words`);
  });

  it.each([
    [{ code: null, signal: 'SIGKILL' as const }, 'signal SIGKILL'],
    [{ code: null, signal: 'SIGTERM' as const }, 'signal SIGTERM'],
    [{ code: 137, signal: null }, 'status 137'],
  ])('because something outside ended it may be tried again: %o', (exit, how) => {
    const error = crashed(exit, '');
    expect(error.code).toBe('service_unavailable');
    expect((error.cause as Error).message).toBe(`the media child ended with ${how}`);
    expect(isDeviceFault(error)).toBe(false);
  });

  it('before it opened the video may be tried again', () => {
    expect(crashed({ code: 1, signal: null }, 'bwrap: No permissions to create new namespace', false).code).toBe('service_unavailable');
  });
});
