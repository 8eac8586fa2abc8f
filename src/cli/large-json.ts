/** Parses JSON files that are longer than the longest string: their objects and arrays member by member. */

/** Longer texts are parsed in parts, bytes. */
const longestText = 2 ** 28;

const quote = 0x22;
const backslash = 0x5c;
const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** The value of a JSON text. Throws SyntaxError like `JSON.parse`. */
export function parseLargeJson(bytes: Buffer, longest = longestText): unknown {
  if (bytes.length <= longest) return JSON.parse(bytes.toString('utf8'));
  const text = trimmed(bytes);
  if (text.length === 0) throw new SyntaxError('Unexpected end of JSON input');
  const [first, last] = [String.fromCharCode(text[0]!), String.fromCharCode(text.at(-1)!)];
  const inner = trimmed(text.subarray(1, -1));
  // Empty ones have no parts.
  if (inner.length === 0) return JSON.parse(text.toString('utf8'));
  if (first === '[' && last === ']') return [...partsOf(inner, ',')].map((part) => parseLargeJson(part, longest));
  if (first !== '{' || last !== '}') return JSON.parse(text.toString('utf8'));
  const members = [...partsOf(inner, ',')].map((member): [string, unknown] => {
    const [before] = partsOf(member, ':');
    const name: unknown = JSON.parse(before!.toString('utf8'));
    if (typeof name !== 'string') throw new SyntaxError('Expected a name of a member in JSON');
    return [name, parseLargeJson(member.subarray(before!.length + 1), longest)];
  });
  return Object.fromEntries(members);
}

function trimmed(bytes: Buffer): Buffer {
  let [start, end] = [0, bytes.length];
  while (start < end && isSpace(bytes[start])) start++;
  while (end > start && isSpace(bytes[end - 1])) end--;
  return bytes.subarray(start, end);
}

/** The parts between separators that are in no string, object or array. */
function* partsOf(bytes: Buffer, separator: ',' | ':'): Generator<Buffer> {
  const wanted = separator.charCodeAt(0);
  let [start, depth, inString] = [0, 0, false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (inString) {
      if (byte === backslash) at++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    else if (byte === 0x5b || byte === 0x7b) depth++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    else if (byte === wanted && depth === 0) {
      yield bytes.subarray(start, at);
      start = at + 1;
    }
  }
  yield bytes.subarray(start);
}
