/**
 * Entry of the command line. Node caches the compiled modules of short commands in a folder of the installation, which
 * halves their time. If that folder cannot be written, each command compiles them again. The service's processes use no
 * cache: they start rarely, and each would need 50 MB more.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const isService = ['start', 'serve', 'work'].includes(process.argv[2] ?? '');
if (!isService) enableCompileCache(process.env['NODE_COMPILE_CACHE'] ?? fileURLToPath(new URL('../../.cache/node', import.meta.url)));
const [{ runProgram }, { endWithReader }] = await Promise.all([import('./program.ts'), import('./terminal.ts')]);
if (!isService) endWithReader();
await runProgram(process.argv.slice(2));
