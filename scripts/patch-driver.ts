/**
 * Mends what the PostgreSQL driver (postgres 3.4.9) does when a connection breaks in the middle of a transaction; run
 * after every installation of the packages, safe to repeat. Without it
 * - its own ROLLBACK is written to a socket that is gone, which ends the process (porsager/postgres #1066, #1154, #1208),
 * - what was left to write keeps every later write of that connection back, so that it never comes up again,
 * - the next query fails with the error of the broken one, and statements of a transaction whose connection was
 *   replaced run outside of it (#1216),
 * - the look for array types that every connection begins with rejects unheard, which ends the process as well.
 * To be dropped when a release has it; a driver that looks otherwise is refused here.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Edit {
  file: string;
  from: string;
  to: string;
}

const edits: Edit[] = [
  {
    file: 'connection.js',
    from: 'const x = socket.write(chunk, fn)',
    to: 'const x = socket !== null && socket.write(chunk, fn)',
  },
  {
    file: 'connection.js',
    from: `    socket.removeAllListeners()
    socket = null

    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
`,
    to: `    socket.removeAllListeners()
    socket = chunk = nextWriteTimer = null

    const broken = Errors.connection('CONNECTION_CLOSED', options, socket)
    initial
      ? query && queryError(query, broken)
      : (query || sent.length) && error(broken)
    query = results = errorResponse = null
    result = new Result()

    if (initial)
      return reconnect()

`,
  },
  {
    file: 'connection.js',
    from: 'return fetchArrayTypes()\n',
    to: 'return fetchArrayTypes().catch(() => {})\n',
  },
  {
    file: 'index.js',
    from: `      , connection
      , prepare = null
`,
    to: `      , connection
      , lost = null
      , prepare = null
`,
  },
  {
    file: 'index.js',
    from: 'new Promise((_, reject) => connection.onclose = reject)',
    to: `new Promise((_, reject) => connection.onclose = e => {
          lost = e
          while (queries.length)
            queries.shift().reject(e)
          reject(e)
        })`,
  },
  {
    file: 'index.js',
    from: `        q.catch(e => uncaughtError || (uncaughtError = e))
        c.queue === full`,
    to: `        q.catch(e => uncaughtError || (uncaughtError = e))
        if (lost)
          return q.reject(lost)

        c.queue === full`,
  },
];

/** Replaces the file, which other checkouts may share, by a new one. */
async function patch(path: string, wanted: readonly Edit[]): Promise<void> {
  const before = await readFile(path, 'utf8');
  let text = before;
  for (const { from, to } of wanted) {
    if (text.includes(to)) continue;
    if (text.split(from).length !== 2) throw new Error(`patch-driver: ${path} is not the file of postgres 3.4.9; look whether it needs mending still`);
    text = text.replace(from, () => to);
  }
  if (text === before) return;
  await writeFile(`${path}.patched`, text);
  await rename(`${path}.patched`, path);
}

const folder = join(process.argv[2] ?? join(import.meta.dirname, '..'), 'node_modules/postgres/src');
for (const file of new Set(edits.map((edit) => edit.file))) {
  await patch(join(folder, file), edits.filter((edit) => edit.file === file));
}
