/** Entry of the command line. */
import { runProgram } from './program.ts';
import { endWithReader } from './terminal.ts';

// The service goes on when the reader of its output has exited.
const isService = ['start', 'serve', 'work'].includes(process.argv[2] ?? '');
if (!isService) endWithReader();
await runProgram(process.argv.slice(2));
