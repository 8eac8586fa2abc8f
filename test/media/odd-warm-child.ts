/** A warm child that misbehaves when it is prepared. */
import { Socket } from 'node:net';
import { channelFd, encodeMessage, FrameReader, maxMessageBytes } from '../../src/media/wire.ts';

const channel = new Socket({ fd: channelFd, readable: true, writable: true });
const eaten: Buffer[] = [];

function obey(how: string | undefined): void {
  if (how === 'hang') return;
  if (how === 'die') process.exit(3);
  else if (how === 'babble') channel.write('this is no frame at all');
  else if (how === 'answer') channel.write(encodeMessage({ type: 'result', value: 'unrequested' }));
  else if (how === 'eat') setInterval(() => eaten.push(Buffer.alloc(32 * 1024 * 1024, 1)), 20);
  else channel.write(encodeMessage({ type: 'ready' }));
}

const frames = new FrameReader(maxMessageBytes);
channel.on('data', (chunk: Buffer) => {
  for (const frame of frames.push(chunk)) {
    if (frame.kind === 'json') obey((frame.value as { expectation?: { model: string } }).expectation?.model);
  }
});
channel.on('end', () => process.exit(0));
