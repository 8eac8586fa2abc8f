/**
 * Entry of the command line. For short commands Node keeps the compiled modules in a folder of the installation, which halves
 * their time; where that folder cannot be written, each compiles them anew. The service's processes go without: they start
 * seldom, and each would hold 50 MB more.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const isService = ['start', 'serve', 'work'].includes(process.argv[2] ?? '');
if (!isService) enableCompileCache(process.env['NODE_COMPILE_CACHE'] ?? fileURLToPath(new URL('../../.cache/node', import.meta.url)));
const [{ runProgram }, { endWithReader }] = await Promise.all([import('./program.ts'), import('./terminal.ts')]);
if (!isService) endWithReader();
await runProgram(process.argv.slice(2));
