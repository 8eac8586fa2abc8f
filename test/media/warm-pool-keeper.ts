/** A process that keeps a warm child, prints its process id, and waits to be killed. */
import { createMedia } from '../../src/media/index.ts';

const media = await createMedia();
const pool = media.startWarmPool({ count: 1, folder: process.argv[2]!, options: { target: '1080p', device: 'cpu', threads: 1 } });
const poll = setInterval(() => {
  if (pool.ready === 0) return;
  clearInterval(poll);
  process.send!(pool.pids[0]);
}, 20);
