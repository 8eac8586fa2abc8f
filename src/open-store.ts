/** The database with what hangs on it alone: for the processes of the service and for commands. */
import type { Config } from './config.ts';
import { openDatabase } from './database.ts';
import { createVault } from './domain/vault.ts';
import { createEvidence } from './evidence/index.ts';
import { loadSecrets } from './secrets.ts';
import { createStore, migrate } from './store/index.ts';

/** The database, migrated, with its store: what every command needs. */
export async function openStore(config: Config) {
  const secrets = await loadSecrets(config);
  const database = await openDatabase(config);
  try {
    await migrate({ url: database.url });
  } catch (error) {
    await database.stop();
    throw error;
  }
  const vault = createVault(secrets.keyPepper);
  const store = createStore({ url: database.url, vault });
  const evidence = createEvidence({ keys: store.signingKeys, vault });
  const close = async () => {
    await store.close();
    await database.stop();
  };
  return { store, evidence, secrets, databaseUrl: database.url, close };
}
