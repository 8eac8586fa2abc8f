/**
 * A warm child that misbehaves when it is prepared. It speaks just enough of
 * src/media/wire.ts.
 */
import { Socket } from 'node:net';

const channel = new Socket({ fd: 3, readable: true, writable: true });
const eaten: Buffer[] = [];

function frame(message: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(5);
  header.writeUInt32LE(payload.length + 1, 0);
  header.writeUInt8(1, 4);
  return Buffer.concat([header, payload]);
}

function obey(how: string | undefined): void {
  if (how === 'die') process.exit(3);
  else if (how === 'babble') channel.write('this is no frame at all');
  else if (how === 'answer') channel.write(frame({ type: 'result', value: 'nobody asked' }));
  else if (how === 'eat') setInterval(() => eaten.push(Buffer.alloc(32 * 1024 * 1024, 1)), 20);
  else channel.write(frame({ type: 'ready' }));
}

let waiting = Buffer.alloc(0);
channel.on('data', (chunk: Buffer) => {
  waiting = Buffer.concat([waiting, chunk]);
  while (waiting.length >= 5 && waiting.length >= 4 + waiting.readUInt32LE(0)) {
    const end = 4 + waiting.readUInt32LE(0);
    const message = JSON.parse(waiting.subarray(5, end).toString('utf8')) as { expectation?: { model: string } };
    waiting = waiting.subarray(end);
    obey(message.expectation?.model);
  }
});
channel.on('end', () => process.exit(0));
