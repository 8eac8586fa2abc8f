/**
 * Compiled by `npm run lint`, never run: each `@ts-expect-error` is an error of its own when the line below it compiles. It shows that
 * a missing or wrongly typed handler does not.
 */
import type { Handlers } from '../../src/http/register.ts';

declare const all: Handlers;

export const complete: Handlers = { ...all };

const { getJob: _left, ...withoutGetJob } = all;
// @ts-expect-error: getJob is missing
export const missing: Handlers = withoutGetJob;

// @ts-expect-error: there is no such operation
export const unknownOperation: Handlers = { ...all, getNothing: all.getHealth };

export const otherOperation: Handlers = {
  ...all,
  // @ts-expect-error: the handler of another operation
  getAccount: all.listJobs,
};

export const wrongBody: Handlers = {
  ...all,
  // @ts-expect-error: the field is a text of the document's enum
  getHealth: (c) => c.json({ status: 'fine' }, 200),
};

export const lackingField: Handlers = {
  ...all,
  // @ts-expect-error: four required fields are missing
  deleteJob: (c) => c.json({ id: 'job_x' }, 200),
};

export const wrongStatus: Handlers = {
  ...all,
  // @ts-expect-error: 201 is not documented
  getHealth: (c) => c.json({ status: 'ok' as const }, 201),
};

export const untypedResponse: Handlers = {
  ...all,
  // @ts-expect-error: a bare Response says nothing of its body
  getHealth: () => new Response('{}'),
};

export const wrongInput: Handlers = {
  ...all,
  listJobs: (c) => {
    const { limit } = c.req.valid('query');
    // @ts-expect-error: limit is a number here
    const text: string = limit;
    return c.json({ data: [], has_more: text === '', next_cursor: null }, 200);
  },
};
