/** Entry of the command line. */
import { homedir } from 'node:os';
import { ignoreHangup } from './hangup.ts';
import { runProgram } from './program.ts';
import { endWithReader, outliveReader } from './terminal.ts';

// The service goes on when the reader of its output has exited.
const isService = ['start', 'serve', 'work'].includes(process.argv[2] ?? '');
if (isService) outliveReader();
else endWithReader();
/** Whether the user has a home folder. Without HOME and an entry in /etc/passwd, Node throws. */
function hasHome(): boolean {
  try {
    return homedir() !== '';
  } catch {
    return false;
  }
}

// As container runtimes do. This program and its libraries look for settings there.
if (!hasHome()) process.env['HOME'] = '/';
ignoreHangup();
await runProgram(process.argv.slice(2));
