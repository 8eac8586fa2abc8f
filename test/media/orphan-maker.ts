/** A parent that starts a sleeping child, prints its process id, and waits to be killed. */
import { z } from 'zod';
import type { ChildPlan } from '../../src/media/isolation.ts';
import { runChild } from '../../src/media/child-session.ts';
import type { ToChild } from '../../src/media/wire.ts';

void runChild({
  plan: JSON.parse(process.argv[2]!) as ChildPlan,
  message: { op: 'hello', mode: 'sleep' } as unknown as ToChild,
  result: z.unknown(),
  onStart: (pid) => process.send!(pid),
});
