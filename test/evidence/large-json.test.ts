/** Exported audit logs that are longer than the longest string (512 MB) are parsed in parts, here already those of some bytes. */
import { describe, expect, it } from 'vitest';
import { parseLargeJson } from '../../src/cli/large-json.ts';

const parse = (json: string) => parseLargeJson(Buffer.from(json), 8);

describe('a long JSON text', () => {
  it.each([
    ['an export', { account_id: 'acct_1', entries: [{ sequence: 1, data: {} }, { sequence: 2, data: { a: [1, 2], b: null } }], head: 'x.y.z' }],
    ['separators, brackets and quotes in strings', { 'a,"b":[': ['}]{[",:\\', '\\"', '"\\\\"'], ',': { ':': ':,' } }],
    ['other characters and numbers', [['Ä', '🛒', '\u2028'], -1.5e300, true, false, null, 'a long text of many characters']],
    ['nothing in it', [{}, [], '', { a: {}, b: [] }, [[[[]]]]]],
  ])('with %s is read as JSON.parse reads it, with and without spaces', (_, value) => {
    for (const space of [0, 2, '\t\r\n']) expect(parse(JSON.stringify(value, null, space))).toEqual(value);
    expect(parse(` \n${JSON.stringify(value)}\r\n\t `)).toEqual(value);
  });

  it.each(['', ' '.repeat(20), '[1, 2, 3, 4,]', '{"a": 1, "b"}', '{"a": 1,, "b": 2}', '{a: "long enough"}', '["not closed", 1', '[1, 2, 3] [4, 5]', 'no JSON at all', '{"a": "b" "c": 1}', '[[1, 2, 3, 4}, 5]', '{1: 2, "a": 3}', '{{"a": 1}: 2}'])(
    'that is none is refused: %j',
    (json) => expect(() => parse(json)).toThrow(SyntaxError),
  );
});
