/** Whether a database depends on a pepper, for a process that has none yet, and so no store. */
import { sql } from './orm.ts';
import { connect } from './database.ts';

/** Whether the database has secrets that are in use and encrypted with the pepper of its service. docs/secrets.md says how to discard them. */
export async function hasEncryptedSecrets(url: string): Promise<boolean> {
  const { db, close } = connect({ url, max: 1 });
  try {
    const [found] = await db.execute<{ any: boolean }>(sql`SELECT EXISTS (SELECT FROM signing_keys WHERE retired_at IS NULL)
      OR EXISTS (SELECT FROM webhook_secrets WHERE expires_at IS NULL OR expires_at > now()) AS any`);
    return found!.any;
  } finally {
    await close();
  }
}
