/**
 * A media child that computes nothing: it waits as long as a short piece takes, then sends a result. It implements only the
 * necessary part of src/media/wire.ts.
 */
import { Socket } from 'node:net';

const workMs = 150;

function frame(message: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(5);
  header.writeUInt32LE(payload.length + 1, 0);
  header.writeUInt8(1, 4);
  return Buffer.concat([header, payload]);
}

const channel = new Socket({ fd: 3, readable: true, writable: true });
channel.write(frame({ type: 'begun' }));
channel.resume();
channel.on('end', () => process.exit(0));
setTimeout(() => channel.write(frame({ type: 'result', value: null })), workMs);
