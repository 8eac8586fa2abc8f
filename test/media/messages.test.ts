import { describe, expect, it } from 'vitest';
import { fromChild, probeResult } from '../../src/media/messages.ts';

const probed = {
  container: 'matroska,webm',
  videoCodec: 'vp9',
  pixelFormat: 'yuv420p',
  codedWidth: 320,
  codedHeight: 180,
  width: 320,
  height: 180,
  rotationDegrees: 0,
  frameRate: 25,
  durationS: 2,
  durationIsExact: true,
  sizeBytes: 1000,
  audio: [{ codec: 'opus', channels: 2, sampleRateHz: 48000, language: 'eng' }],
};

describe('a result of the child', () => {
  it('passes as it is', () => {
    expect(probeResult.parse(probed)).toEqual(probed);
  });

  it('has tags of a file cut and cleaned', () => {
    const audio = [{ ...probed.audio[0], language: `e\u0000n\ng${'x'.repeat(5000)}` }];
    expect(probeResult.parse({ ...probed, audio }).audio[0]!.language).toBe(`eng${'x'.repeat(197)}`);
  });

  it.each([
    ['rotationDegrees', 45],
    ['width', -1],
    ['width', 1.5],
    ['durationS', null],
    ['durationS', -1],
    ['sizeBytes', 1e300],
    ['audio', 'none'],
    ['durationIsExact', 'yes'],
  ])('is refused with %s %j', (member, value) => {
    expect(probeResult.safeParse({ ...probed, [member]: value }).success).toBe(false);
  });
});

describe('a message of the child', () => {
  it.each([
    [{ fraction: 1.5, framesDone: 3, framesPerSecond: 2, etaS: 9 }, { fraction: 1, framesDone: 3 }],
    [{ fraction: null, framesDone: -3, framesPerSecond: null, etaS: null }, { fraction: 0, framesDone: 0, etaS: -1 }],
  ])('of progress is mended: %j', (progress, expected) => {
    expect(fromChild.parse({ type: 'progress', progress })).toMatchObject({ progress: expected });
  });

  it.each([
    { type: 'read', id: 1, offset: -1, length: 10 },
    { type: 'read', id: 1, offset: 0, length: 0 },
    { type: 'read', id: 1, offset: 0, length: 1e9 },
    { type: 'read', id: 2 ** 32, offset: 0, length: 1 },
    { type: 'run', command: 'ls' },
    'text',
    null,
  ])('is refused: %j', (message) => {
    expect(fromChild.safeParse(message).success).toBe(false);
  });
});
