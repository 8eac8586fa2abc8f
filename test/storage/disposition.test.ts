import { describe, expect, it } from 'vitest';
import { contentDisposition } from '../../src/storage/index.ts';

describe('contentDisposition', () => {
  it.each([
    ['plain.mp4', 'attachment; filename="plain.mp4"'],
    ['two words.mp4', 'attachment; filename="two words.mp4"'],
    ['a"b.mp4', `attachment; filename="a_b.mp4"; filename*=UTF-8''a%22b.mp4`],
    ["it's (1)*.mp4", `attachment; filename="it's (1)*.mp4"`],
    ['100%.mp4', `attachment; filename="100_.mp4"; filename*=UTF-8''100%25.mp4`],
    ['日本.mp4', `attachment; filename="__.mp4"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.mp4`],
    ['../../etc/passwd', 'attachment; filename=".._.._etc_passwd"'],
    ['a\r\nSet-Cookie: x', 'attachment; filename="a__Set-Cookie: x"'],
    ['a\\b', 'attachment; filename="a_b"'],
    ['half \ud800', 'attachment; filename="half _"'],
    ['clip\u202e4pm.exe', 'attachment; filename="clip_4pm.exe"'],
    ['', 'attachment; filename="download"'],
    ['...', 'attachment; filename="download"'],
    ['x'.repeat(500), `attachment; filename="${'x'.repeat(200)}"`],
  ])('writes %j', (name, want) => {
    expect(contentDisposition(name)).toBe(want);
  });
});
