/** Set-up of the tests of the console's API: one console per file, with a person and a stranger of another account. */
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type ConsoleWorld, makeConsole, type Person } from './console.ts';

/** `use` receives them before the first test. No test is limited by the requests of those before. */
export function setUpConsole(
  credits: { ours?: number; stranger?: number },
  use: (world: ConsoleWorld, ours: Person, stranger: Person) => void,
): void {
  let world: ConsoleWorld;
  const options = (amount: number | undefined) => (amount === undefined ? {} : { credits: amount });
  beforeAll(async () => {
    world = await makeConsole();
    const [ours, stranger] = await Promise.all([world.person(options(credits.ours)), world.person(options(credits.stranger))]);
    use(world, ours, stranger);
  });
  beforeEach(async () => {
    await world.sql`DELETE FROM rate_limits`;
  });
  afterAll(() => world.close());
}
