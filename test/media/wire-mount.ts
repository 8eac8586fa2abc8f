import { fileURLToPath } from 'node:url';
import type { Mount } from '../../src/media/isolation.ts';

/** Lets an isolated script of these tests import the protocol from ../../src/media/wire.ts, though the script itself is mounted elsewhere. */
export const wireMount: Mount = { from: fileURLToPath(new URL('../../src/media/wire.ts', import.meta.url)), to: '/src/media/wire.ts' };
