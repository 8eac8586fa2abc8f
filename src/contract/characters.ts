/** The length of a text as JSON Schema counts it: in code points. Zod's own `.min` and `.max` count UTF-16 units. */
import type { z } from 'zod';

export interface LengthBounds {
  min?: number;
  max?: number;
}

function countCharacters(text: string): number {
  let units = 0;
  let pairs = 0;
  for (; units < text.length; units += 1) if (text.codePointAt(units)! > 0xffff) pairs += 1;
  return units - pairs;
}

/** A check for `z.string().check(…)`; reports zod's own issues `too_small` and `too_big`. */
export function characters({ min = 0, max = Infinity }: LengthBounds): z.core.CheckFn<string> {
  return ({ value: input, issues }) => {
    const count = countCharacters(input);
    const common = { origin: 'string', inclusive: true, input } as const;
    if (count < min) issues.push({ ...common, code: 'too_small', minimum: min });
    if (count > max) issues.push({ ...common, code: 'too_big', maximum: max });
  };
}
