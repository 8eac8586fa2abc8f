/** Counts the bytes that HTTP clients of this process read from their sockets. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';

const channel = 'undici:client:connected';

/**
 * Counts separately for each test of the file or block. The returned function waits until undici's sockets read no more, or
 * have read `enough` bytes; it resolves to the bytes read since the test began. A server's own count is larger, as it
 * includes the bytes in the kernel's buffers: many megabytes, and more on a busy machine.
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
