/** What HTTP clients of this process take from their sockets. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';

const channel = 'undici:client:connected';

/**
 * Counts for each test of the file or block. The function returns the bytes that undici's sockets have read since the test
 * began, once they read no more, or any number from `enough` on. A server's own count is larger by what the kernel's
 * buffers between the two hold: many megabytes, and more on a busy machine.
 */
export function countReceivedBytes(): (enough: number) => Promise<number> {
  const sockets: Socket[] = [];
  const note = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
  const sum = () => sockets.reduce((bytes, socket) => bytes + socket.bytesRead, 0);
  beforeEach(() => {
    sockets.length = 0;
    subscribe(channel, note);
  });
  afterEach(() => void unsubscribe(channel, note));
  return async (enough) => {
    for (let last = -1; last !== sum() && sum() < enough; await sleep(100)) last = sum();
    return sum();
  };
}
