/** REELMEND_KEY_PEPPER is lost: the statements of docs/secrets.md make the database usable with another one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSecretCipher } from '../../src/domain/secret-cipher.ts';
import { createEvidence } from '../../src/evidence/index.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import type { Account } from '../../src/store/types.ts';
import { readMarkdown } from '../docs/markdown.ts';
import { createWorld, fundedAccount, testCipher, type World } from '../helpers/worker-world.ts';

const cipher = createSecretCipher('another pepper than before');
let world: World;
let store: Store;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
  store = createStore({ url: world.url, cipher, silenceTimeoutS: 60 });
  account = await fundedAccount(world.store, 0);
});
afterAll(async () => {
  await store.close();
  await world.close();
});

/** What `psql -c` gets in the guide. */
function statements(): string[] {
  const block = readMarkdown('docs/secrets.md').blocks.find(({ text }) => text.includes('UPDATE signing_keys'))!;
  return [...block.text.matchAll(/-c '([^']+)'/g)].map(([, statement]) => statement!);
}

it('the service starts, keeps the old public key, and signs webhooks again', async () => {
  const { endpoint } = await world.store.webhookEndpoints.create({
    accountId: account.id, mode: 'live', url: 'https://example.com/hook', events: ['job.completed'], description: '',
  });
  const which = { accountId: account.id, id: endpoint.id };
  const owner = { accountId: account.id, endpointId: endpoint.id };
  const before = await createEvidence({ keys: world.store.signingKeys, cipher: testCipher }).jwks();
  const evidence = createEvidence({ keys: store.signingKeys, cipher });
  await expect(evidence.assertDecrypts()).rejects.toThrow('REELMEND_KEY_PEPPER differs');
  await expect(store.webhookSecrets.signing(account.id)).rejects.toThrow('REELMEND_KEY_PEPPER differs');

  expect(statements()).toHaveLength(2);
  for (const statement of statements()) await world.sql.unsafe(statement);

  await evidence.assertDecrypts();
  const { keys } = await evidence.jwks();
  expect(keys).toHaveLength(2);
  expect(keys[0]).toEqual(before.keys[0]);
  expect((await store.webhookSecrets.signing(account.id))!.secrets).toHaveLength(1);
  expect(await store.webhookSecrets.signingOfEndpoint(owner)).toBeNull();
  const { secret } = await store.webhookEndpoints.rotateSecret(which) ?? {};
  await store.webhookEndpoints.switchSecret(which);
  expect(await store.webhookSecrets.signingOfEndpoint(owner)).toMatchObject({ serviceSecret: secret });
});
