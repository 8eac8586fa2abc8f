/** Detects dead connections that nobody closes, as behind a firewall that has forgotten them. */
import type { Socket } from 'node:net';
import type pg from 'pg';

/**
 * Closes a connected client of `pg` if a message gets no response for that long. `pg` sends one query at a time, so each
 * write has a response. (Its own `query_timeout` rejects the query and keeps the dead connection.)
 */
export function closeWhenSilent(client: pg.ClientBase, silenceMs: number): void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const giveUp = () => void stream.destroy(new Error(`The database has not answered for ${silenceMs} ms`));
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = ((...args: unknown[]) => {
    timer ??= setTimeout(giveUp, silenceMs).unref();
    return write(...args);
  }) as Socket['write'];
  stream.on('data', stop).on('close', stop);
}
