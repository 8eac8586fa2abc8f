import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

it('the speeds of a kind of machine are those that its first machine has measured', async () => {
  const { machineSpeeds } = world.store;
  expect(await machineSpeeds.find('zen4')).toBeUndefined();
  const measured = { threads: 2, networks: [{ name: 'fast', msPerMegapixel: 57.381 }] };
  await machineSpeeds.keep('zen4', measured);
  await machineSpeeds.keep('zen4', { threads: 2, networks: [] });
  await machineSpeeds.keep('zen2', { threads: 1 });
  expect(await machineSpeeds.find('zen4')).toEqual(measured);
  expect(await machineSpeeds.find('zen2')).toEqual({ threads: 1 });
});
