/** An object with exactly one of several properties; `exactlyOne` of plugin/keywords.ts recognizes the rule in openapi.yaml. */
import type { z } from 'zod';

/**
 * A check for `z.strictObject(…).check(…)`. Its issue names the first property if none is present, and the second one if
 * there are too many; `params.exactlyOne` has all names.
 */
export function exactlyOneOf(...names: string[]): z.core.CheckFn<object> {
  return ({ value: input, issues }) => {
    const present = names.filter((name) => Reflect.get(input, name) !== undefined);
    if (present.length === 1) return;
    const message = `needs exactly one of ${names.map((name) => `"${name}"`).join(' and ')}`;
    issues.push({ code: 'custom', input, path: [present[1] ?? names[0]!], message, params: { exactlyOne: names } });
  };
}
