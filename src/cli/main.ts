/**
 * Entry of the command line. Node keeps the compiled modules in a folder of the installation, which halves the time that a
 * short command takes; where that folder cannot be written, every command compiles them anew.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache(process.env['NODE_COMPILE_CACHE'] ?? fileURLToPath(new URL('../../.cache/node', import.meta.url)));
await import('./program.ts');
