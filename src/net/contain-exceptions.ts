/** Keeps exceptions of the HTTP client from ending the process. */
import type { Socket } from 'node:net';
import type { NetLogger } from './types.ts';

/**
 * undici parses responses inside socket events. An exception there has no caller and would end the process. This ends
 * the connection instead, and its request fails.
 */
export function containExceptions(socket: Socket, logger: NetLogger | undefined): Socket {
  const emit = socket.emit.bind(socket) as (...event: unknown[]) => boolean;
  socket.emit = (...event: unknown[]) => {
    try {
      return emit(...event);
    } catch (error) {
      logger?.warn({ err: error }, 'the HTTP client failed; its connection was closed');
      socket.destroy(error as Error);
      return true;
    }
  };
  return socket;
}
