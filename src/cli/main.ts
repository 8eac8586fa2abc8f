/** Entry of the command line. */
import { ensureHome } from '../app/folders.ts';
import { ignoreHangup } from './hangup.ts';
import { runProgram } from './program.ts';
import { endWithReader, outliveReader } from './terminal.ts';

// The service goes on when the reader of its output has exited.
const isService = ['start', 'serve', 'work'].includes(process.argv[2] ?? '');
if (isService) outliveReader();
else endWithReader();
ensureHome();
ignoreHangup();
await runProgram(process.argv.slice(2));
