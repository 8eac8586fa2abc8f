/** A media child that computes nothing: it waits as long as a short piece takes, then sends a result. */
import { Socket } from 'node:net';
import { channelFd, encodeMessage } from '../../src/media/wire.ts';

const workMs = 150;

const channel = new Socket({ fd: channelFd, readable: true, writable: true });
channel.write(encodeMessage({ type: 'begun' }));
channel.resume();
channel.on('end', () => process.exit(0));
setTimeout(() => channel.write(encodeMessage({ type: 'result', value: null })), workMs);
