/** The measured speeds of the networks by kind of machine, which machines of that kind share. */
import type { Db } from './database.ts';
import { sql } from './orm.ts';

export function machineSpeedQueries(db: Db) {
  return {
    /** Returns what a machine of this kind has measured; undefined: none has. */
    async find(key: string): Promise<unknown> {
      const [row] = await db.execute<{ speeds: unknown }>(sql`SELECT speeds FROM machine_speeds WHERE key = ${key}`);
      return row?.speeds;
    },

    /** The first machine of a kind decides: its results stay. */
    async keep(key: string, speeds: object): Promise<void> {
      await db.execute(sql`INSERT INTO machine_speeds (key, speeds) VALUES (${key}, ${JSON.stringify(speeds)}::jsonb) ON CONFLICT DO NOTHING`);
    },
  };
}
